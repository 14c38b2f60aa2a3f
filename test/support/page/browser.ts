import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { findBrowser } from '../../../src/adapters/documents/browser/find-browser.ts'

/** How a page of the browser is opened. */
export interface PageOptions {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
  readonly touch?: boolean
}

/** A browser for the tests of one file. */
export interface TestBrowser {
  /** Opens a tab with an empty profile. */
  open(url: string, options?: PageOptions): Promise<Page>
  /** Problems that pages reported: errors in the console, failed requests, and uncaught errors. Empties the list. */
  takeProblems(): readonly string[]
  /** Closes the tabs of a test. */
  closePages(): Promise<void>
  close(): Promise<void>
}

/** Starts Chromium. */
export async function startBrowser(): Promise<TestBrowser> {
  const executablePath = findBrowser()
  if (executablePath === undefined) throw new Error('these tests need Chromium (on Debian: apt-get install chromium)')
  const browser: Browser = await chromium.launch({
    executablePath,
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--disable-dev-shm-usage', '--disable-gpu', '--force-color-profile=srgb', '--font-render-hinting=none'],
  })
  let contexts: BrowserContext[] = []
  const problems: string[] = []
  return {
    async open(url, { width = 1100, height = 800, dark = false, touch = false } = {}) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: dark ? 'dark' : 'light',
        hasTouch: touch,
        permissions: ['clipboard-read', 'clipboard-write'],
        acceptDownloads: true,
      })
      contexts.push(context)
      const page = await context.newPage()
      page.setDefaultTimeout(20_000)
      watch(page, problems)
      await page.goto(url)
      return page
    },
    takeProblems: () => problems.splice(0),
    async closePages() {
      await Promise.all(contexts.map((context) => context.close()))
      contexts = []
    },
    close: () => browser.close(),
  }
}

/** Collects what a page reports. A request that the page itself aborted, such as a stream that it closed, is not a problem. */
function watch(page: Page, problems: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`uncaught: ${error.message}`))
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? ''
    if (reason !== 'net::ERR_ABORTED') problems.push(`request: ${request.url()} ${reason}`)
  })
}
