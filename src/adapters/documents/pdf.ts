import { Worker } from 'node:worker_threads'
import { Failure } from '../../core/failure.ts'
import type { DocumentReader, PdfText } from '../../ports/documents.ts'
import type { PdfRequest, PdfResponse } from './pdf-thread.ts'

/** A reader that works in a thread of its own. `close` ends the thread. */
export interface PdfReader extends DocumentReader {
  close(): Promise<void>
}

/**
 * Reads PDF documents in a worker thread, one at a time. If a hostile document takes too much time or memory, only this thread is ended.
 * The thread starts with the first document and ends after `idleMs` without a document. A failure has `encrypted`, `damaged`, `too_slow` or
 * `reader_missing` as `details.reason`.
 */
export function createPdfReader({ timeoutMs = 10_000, idleMs = 30_000 } = {}): PdfReader {
  let thread: Worker | undefined
  let idleTimer: NodeJS.Timeout | undefined
  let last: Promise<unknown> = Promise.resolve()

  async function end(): Promise<void> {
    const ending = thread
    thread = undefined
    clearTimeout(idleTimer)
    await ending?.terminate()
  }

  async function readPdf(request: PdfRequest): Promise<PdfText> {
    clearTimeout(idleTimer)
    thread ??= startThread()
    const response = await sendRequest(thread, request, timeoutMs).catch(async (error: unknown) => {
      await end() // the thread is still busy, or it is dead
      throw error
    })
    thread.unref() // an idle thread does not keep the process alive
    idleTimer = setTimeout(() => void end(), idleMs).unref()
    if (!response.ok) throw unreadable(response.reason, response.message)
    return { pages: response.pages, text: response.text }
  }

  return {
    pdf(bytes, { maxPages = 500 } = {}) {
      const reading = last.then(() => readPdf({ bytes: Uint8Array.from(bytes), maxPages }))
      last = reading.catch(() => {}) // if this document fails, the next one is read anyway
      return reading
    },
    close: end,
  }
}

/** Starts pdf-thread.ts (or .js in the build) as a thread. The thread gets no environment variables and no Node options of this process. */
function startThread(): Worker {
  const file = new URL(import.meta.url.replace(/pdf\.(ts|js)$/, 'pdf-thread.$1'))
  const limits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
  const thread = new Worker(file, { env: {}, execArgv: [], stdout: true, stderr: true, resourceLimits: limits })
  thread.stdout.resume()
  thread.stderr.resume()
  return thread
}

function sendRequest(thread: Worker, request: PdfRequest, timeoutMs: number): Promise<PdfResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<PdfResponse>()
  const onTimeout = () => reject(unreadable('too_slow', `it was not read within ${timeoutMs} ms`))
  const onExit = (reason: unknown) => reject(unreadable('too_slow', `reading it took more than the reader has: ${reason}`))
  const timer = setTimeout(onTimeout, timeoutMs)
  thread.ref()
  thread.once('message', resolve).once('error', onExit).once('exit', onExit)
  thread.postMessage(request)
  return promise.finally(() => {
    clearTimeout(timer)
    thread.off('message', resolve).off('error', onExit).off('exit', onExit)
  })
}

const unreadable = (reason: string, message: string) =>
  new Failure('document.unreadable', `the PDF can not be read: ${message}`, { details: { reason } })
