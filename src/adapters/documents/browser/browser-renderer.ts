import type { Browser } from 'playwright-core'
import { createFairQueue } from '../../../core/collections/fair-queue.ts'
import { Failure } from '../../../core/failure.ts'
import type { RenderedDocument } from '../../../ports/documents.ts'
import { unrenderable } from '../structure/packages.ts'
import { watchMemory } from './memory-limit.ts'
import { type BlankPage, openBlankPage } from './open-page.ts'
import type { PageRequest } from './page-html.ts'
import { printView, renderPdf } from './pdf.ts'
import { defaultPicture, pictureView, renderPng } from './png.ts'
import { createWarmBrowser, type WarmBrowser } from './warm-browser.ts'

/** Limits of the browser. */
export interface BrowserLimits {
  /** How long one document may take. After this time, making it fails. */
  readonly timeoutMs: number
  /** How long a browser without work keeps running. */
  readonly idleMs: number
  /** How much memory one page may take. Above this limit, making the document fails. */
  readonly maxMemoryBytes: number
}

export const defaultBrowserLimits: BrowserLimits = { timeoutMs: 60_000, idleMs: 60_000, maxMemoryBytes: 1024 * 1024 * 1024 }

/** Makes PDF and PNG files with a browser. */
export interface BrowserRenderer {
  render(request: PageRequest): Promise<RenderedDocument>
  close(): Promise<void>
}

/**
 * Makes documents with a browser that keeps running, so that the next document need not wait until a browser has started. Each document
 * gets a fresh context. A second browser is started only while documents of two users are made, so that a slow document of one user does
 * not make other users wait. If a document exceeds its time or memory, its browser is ended.
 */
export function createBrowserRenderer(executable: string, limits: BrowserLimits): BrowserRenderer {
  const browsers = [1, 2].map(() => ({ warm: createWarmBrowser(executable, limits), sparePage: createSparePage() }))
  const enqueue = createFairQueue(browsers, 1)
  let closed = false
  return {
    render: (request) =>
      enqueue(request.user ?? '', async ({ warm, sparePage }) => {
        if (closed) throw unrenderable('unavailable', 'the renderer is closed')
        if (request.signal?.aborted) throw cancelled() // the browser keeps running for the next document
        return renderWithin(warm, sparePage, request, limits)
      }),
    async close() {
      closed = true
      await Promise.all(browsers.map(({ warm }) => warm.close()))
    },
  }
}

/** Renders within the limits. After a failure of the browser itself, the browser is ended, so that the next document starts a new one. */
async function renderWithin(
  warm: WarmBrowser,
  sparePage: SparePage,
  request: PageRequest,
  limits: BrowserLimits,
): Promise<RenderedDocument> {
  const browser = await warm.get()
  const stop = createStop(browser, request.signal, limits)
  const rendering = renderIn(browser, request, sparePage)
  try {
    const rendered = await Promise.race([rendering, stop.stopped])
    if (request.kind === 'pdf') sparePage.prepare(browser)
    return rendered
  } catch (error) {
    rendering.catch(() => {}) // `rendering` also fails when the browser is ended. This failure is ignored, because `error` has the reason
    const known = error instanceof Failure && ['content', 'too_large'].includes(String(error.details.reason))
    if (!known) await warm.end()
    if (error instanceof Failure) throw error
    throw stop.reason() ?? unrenderable('failed', `The browser could not make the document: ${firstLine(error)}`, error)
  } finally {
    stop.end()
    warm.rest()
  }
}

const cancelled = () => unrenderable('cancelled', 'The call was cancelled.')

const firstLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''

/**
 * Watches the limits of one document. `stopped` rejects when the time is over, when the page needs too much memory, or when the signal
 * fires.
 */
function createStop(browser: Browser, signal: AbortSignal | undefined, { timeoutMs, maxMemoryBytes }: BrowserLimits) {
  let reason: Failure | undefined
  let reject: (error: Failure) => void = () => {}
  const stopped = new Promise<never>((_, rejectStopped) => {
    reject = rejectStopped
  })
  stopped.catch(() => {}) // once the document is made, nothing awaits `stopped`: a rejection must not end the process
  const stopWith = (failure: Failure) => {
    reason ??= failure
    reject(reason)
  }
  const seconds = Math.round(timeoutMs / 1_000)
  const timer = setTimeout(
    () =>
      stopWith(
        unrenderable(
          'timeout',
          `The document was not ready after ${seconds} seconds. Make it shorter, and remove scripts that do not end.`,
        ),
      ),
    timeoutMs,
  )
  const endWatch = watchMemory(browser, maxMemoryBytes, () =>
    stopWith(unrenderable('memory', 'The document needs too much memory. Make it shorter, and use smaller pictures.')),
  )
  const onAbort = () => stopWith(cancelled())
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  return {
    stopped,
    reason: () => reason,
    end() {
      clearTimeout(timer)
      endWatch()
      signal?.removeEventListener('abort', onAbort)
    },
  }
}

async function renderIn(browser: Browser, request: PageRequest, sparePage: SparePage): Promise<RenderedDocument> {
  if (request.kind !== 'png') return renderAndClose(await sparePage.take(browser), (blank) => renderPdf(blank, request))
  const blank = await openBlankPage(browser, pictureView(request.picture ?? defaultPicture))
  return renderAndClose(blank, () => renderPng(blank, request))
}

async function renderAndClose(blank: BlankPage, render: (blank: BlankPage) => Promise<RenderedDocument>): Promise<RenderedDocument> {
  try {
    return await render(blank)
  } finally {
    await blank.context.close()
  }
}

/** An empty page that was opened ahead, so that the next PDF need not wait for it. */
interface SparePage {
  /** An empty page of this browser for a PDF. */
  take(browser: Browser): Promise<BlankPage>
  /** Opens the page for the next PDF. */
  prepare(browser: Browser): void
}

function createSparePage(): SparePage {
  let spare: { readonly browser: Browser; readonly opening: Promise<BlankPage | undefined> } | undefined
  return {
    async take(browser) {
      const prepared = spare
      spare = undefined
      const blank = prepared?.browser === browser ? await prepared.opening : undefined
      return blank ?? openBlankPage(browser, printView)
    },
    prepare(browser) {
      if (spare?.browser === browser) return
      spare = { browser, opening: openBlankPage(browser, printView).catch(() => undefined) } // after a failure, `take` opens another page
    },
  }
}
