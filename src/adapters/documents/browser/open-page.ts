import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { MermaidOptions } from '../../../ports/documents.ts'
import { type DiagramError, drawDiagrams } from './diagrams.ts'
import type { DocumentPage, PageRequest } from './page-html.ts'
import { createVirtualOrigin, origin, type RequestLog, type VirtualOrigin } from './virtual-origin.ts'

/** A page that shows a document, ready to be printed or photographed. */
export interface OpenPage {
  readonly page: Page
  readonly document: DocumentPage
  readonly requests: RequestLog
  readonly diagramErrors: readonly DiagramError[]
}

/** How the page is shown. */
export interface PageView {
  readonly width: number
  readonly height: number
  readonly scale: number
  readonly delayMs: number
  readonly baseFolder: string
  readonly mermaid: MermaidOptions
}

/** An empty page in a context of its own. It can show one document. */
export interface BlankPage {
  readonly context: BrowserContext
  readonly page: Page
  readonly virtualOrigin: VirtualOrigin
}

/** Opens an empty page in a fresh context. Nothing of another document is in it. */
export async function openBlankPage(browser: Browser, { width, height, scale }: PageView): Promise<BlankPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    serviceWorkers: 'block',
    acceptDownloads: false,
    locale: 'en-US',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    colorScheme: 'light',
    permissions: [],
  })
  const page = await context.newPage()
  const [virtualOrigin] = await Promise.all([createVirtualOrigin(context, page), page.addInitScript(prepareWindow)])
  return { context, page, virtualOrigin }
}

/** Shows a document in an empty page, and waits until it is loaded, its diagrams are drawn and its scripts have run for a while. */
export async function showDocument({ page, virtualOrigin }: BlankPage, request: PageRequest, view: PageView): Promise<OpenPage> {
  const { document } = request
  virtualOrigin.serve({ html: document.html, readAsset: request.readAsset })
  const usesTimers = document.hasScripts
  const now = new Date(request.now)
  if (usesTimers) {
    await page.clock.install({ time: new Date(now.getTime() - 1_000) })
    await page.clock.pauseAt(now)
  } else if (document.hasDiagrams) await page.clock.setFixedTime(now) // without scripts, only diagrams can depend on the time
  await page.goto(`${origin}/${folderPath(view.baseFolder)}`, { waitUntil: 'load', timeout: 0 })
  await page.evaluate(settle)
  if (usesTimers && view.delayMs > 0) {
    await runClock(page, view.delayMs)
    await page.evaluate(settle)
  }
  const diagramErrors = document.hasDiagrams ? await drawDiagrams(page, view.mermaid, usesTimers) : []
  return { page, document, requests: virtualOrigin.requests, diagramErrors }
}

/**
 * Advances the clock of the page. Playwright advances it in all pages of the context, and fails if one of them is closed meanwhile. This
 * happens if a script opens a page, because Daybook closes such a page immediately. After such a failure, this function tries again.
 */
async function runClock(page: Page, ms: number, attempts = 5): Promise<void> {
  try {
    await page.clock.runFor(ms)
  } catch (error) {
    if (page.isClosed() || attempts === 1) throw error
    await runClock(page, ms, attempts - 1)
  }
}

/**
 * The folder as the path of a URL, with a slash at the end. The result is empty for the folder that contains the folders of all turns
 * (OUT_DIR).
 */
function folderPath(folder: string): string {
  const parts = folder.split('/').filter((part) => part !== '' && part !== '.' && part !== '..')
  return parts.map((part) => `${encodeURIComponent(part)}/`).join('')
}

/**
 * Runs in the page before its scripts. It removes functions that could use the network without a request that `virtual-origin.ts` can
 * refuse. It also makes random numbers repeatable, prevents navigation, and makes `print` and `open` do nothing.
 */
function prepareWindow(): void {
  const scope = globalThis as unknown as Record<string, unknown>
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel', 'WebTransport', 'EventSource']) delete scope[name]
  scope.print = () => {}
  scope.open = () => null
  const { navigation } = scope as { navigation?: { addEventListener(type: string, listener: (event: NavigateEvent) => void): void } }
  // If a script navigated away from the document, the browser would stop loading the images and fonts of the document.
  navigation?.addEventListener('navigate', (event) => {
    if (event.cancelable && !event.hashChange) event.preventDefault()
  })
  let state = 0x9e3779b9
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface NavigateEvent {
  readonly cancelable: boolean
  readonly hashChange: boolean
  preventDefault(): void
}

/** Runs in the page: waits for fonts and images. */
async function settle(): Promise<void> {
  const page = (globalThis as unknown as { document: PageDocument }).document
  await page.fonts.ready
  await Promise.all([...page.images].map((image) => image.decode().catch(() => undefined))) // missing images are reported elsewhere
}

/** The parts of `Document` in a browser that are used. The types of browsers are not available here. */
interface PageDocument {
  readonly fonts: { readonly ready: Promise<unknown> }
  readonly images: Iterable<{ decode(): Promise<void> }>
}
