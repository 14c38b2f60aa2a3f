import { Worker } from 'node:worker_threads'
import { Failure } from '../../core/failure.ts'
import { createFairQueue } from '../../core/fair-queue.ts'
import type { DocumentReader, PdfText } from '../../ports/documents.ts'
import type { PdfRequest, PdfResponse } from './pdf-thread.ts'

/** A reader that works in threads of its own. `close` ends the threads, and documents that are not read yet fail with `reader_closed`. */
export interface PdfReader extends DocumentReader {
  close(): Promise<void>
}

/**
 * Reads PDF documents in worker threads, each of which reads one document at a time. If a hostile document takes too much time or memory,
 * only its thread is ended. If there are several threads, one user never has all of them. So the hostile documents of one user do not make
 * other users wait. A thread starts with its first document and ends after `idleMs` without a document. A failure has `encrypted`,
 * `damaged`, `too_slow`, `reader_missing` or `reader_closed` as `details.reason`.
 */
export function createPdfReader({ timeoutMs = 10_000, idleMs = 30_000, threads = 2 } = {}): PdfReader {
  const readers = Array.from({ length: threads }, () => createThreadReader(timeoutMs, idleMs))
  const enqueue = createFairQueue(readers, Math.max(1, threads - 1))
  let closed = false
  const read = async (reader: ThreadReader, bytes: Uint8Array, maxPages: number): Promise<PdfText> => {
    if (closed) throw unreadable('reader_closed', 'the reader was closed before')
    return reader.read({ bytes: Uint8Array.from(bytes), maxPages })
  }
  return {
    // `bytes` may be a part of a larger buffer. A message to the thread would copy the whole buffer, so the thread gets a copy of the part.
    pdf: (bytes, { maxPages = 500, user = '' } = {}) => enqueue(user, (reader) => read(reader, bytes, maxPages)),
    async close() {
      closed = true
      await Promise.all(readers.map((reader) => reader.end()))
    },
  }
}

type ThreadReader = ReturnType<typeof createThreadReader>

/** One thread, which is started when it is needed. */
function createThreadReader(timeoutMs: number, idleMs: number) {
  let thread: Worker | undefined
  let idleTimer: NodeJS.Timeout | undefined

  async function end(): Promise<void> {
    const ending = thread
    thread = undefined
    clearTimeout(idleTimer)
    await ending?.terminate()
  }

  async function read(request: PdfRequest): Promise<PdfText> {
    clearTimeout(idleTimer)
    thread ??= startThread()
    const response = await sendRequest(thread, request, timeoutMs).catch(async (error: unknown) => {
      await end() // after a timeout the thread still reads this document, so the next document needs a new thread
      throw error
    })
    thread?.unref() // an idle thread does not keep the process alive
    idleTimer = setTimeout(() => void end(), idleMs).unref()
    if (!response.ok) throw unreadable(response.reason, response.message)
    return { pages: response.pages, text: response.text }
  }

  return { read, end }
}

/** The file that runs in a thread. In the build, the code of this module may be in `adapters/documents/` or in `chunks/`. */
const threadFile = (): URL =>
  new URL(
    import.meta.url.endsWith('.ts')
      ? import.meta.url.replace(/pdf\.ts$/, 'pdf-thread.ts')
      : import.meta.url.replace(/\/(?:adapters\/documents|chunks)\/[^/]+$/, '/adapters/documents/pdf-thread.js'),
  )

/** Starts a thread. It gets no environment variables and no Node options of this process. */
function startThread(): Worker {
  const limits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
  const thread = new Worker(threadFile(), { env: {}, execArgv: [], stdout: true, stderr: true, resourceLimits: limits })
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
