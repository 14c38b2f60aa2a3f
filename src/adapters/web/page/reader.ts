import { Worker } from 'node:worker_threads'
import { Failure } from '../../../core/failure.ts'
import { createFairQueue } from '../../../core/fair-queue.ts'
import type { PageReader, PageText } from '../../../ports/web.ts'
import type { PageRequest, PageResponse } from './page-thread.ts'

/** A reader that works in threads of its own. `close` ends the threads, and pages that are not read yet fail. */
export interface ThreadedPageReader extends PageReader {
  close(): Promise<void>
}

/**
 * Reads HTML pages in worker threads, because a large page would stop the process for a second. If a hostile page takes too much time or
 * memory, only its thread is ended. If there are several threads, one user never has all of them. A thread starts with its first page and
 * ends after `idleMs` without a page.
 */
export function createPageReader({ timeoutMs = 5_000, idleMs = 30_000, threads = 2 } = {}): ThreadedPageReader {
  const readers = Array.from({ length: threads }, () => createThreadReader(timeoutMs, idleMs))
  const enqueue = createFairQueue(readers, Math.max(1, threads - 1))
  let closed = false
  const read = async (reader: ThreadReader, request: PageRequest): Promise<PageText> => {
    if (closed) throw unreadable('the reader was closed before')
    return reader.read({ ...request, bytes: Uint8Array.from(request.bytes) })
  }
  return {
    // `html` may be a part of a larger buffer. A message to the thread would copy the whole buffer, so the thread gets a copy of the part.
    read: (html, { url, charset, user = '' }) => enqueue(user, (reader) => read(reader, { bytes: html, url, charset })),
    async close() {
      closed = true
      await Promise.all(readers.map((reader) => reader.end()))
    },
  }
}

interface ThreadReader {
  read(request: PageRequest): Promise<PageText>
  end(): Promise<void>
}

/** One thread, which is started when it is needed. */
function createThreadReader(timeoutMs: number, idleMs: number): ThreadReader {
  let thread: Worker | undefined
  let idleTimer: NodeJS.Timeout | undefined

  async function end(): Promise<void> {
    const ending = thread
    thread = undefined
    clearTimeout(idleTimer)
    await ending?.terminate()
  }

  async function read(request: PageRequest): Promise<PageText> {
    clearTimeout(idleTimer)
    thread ??= startThread()
    const response = await sendRequest(thread, request, timeoutMs).catch(async (error: unknown) => {
      await end() // after a timeout the thread still reads this page, so the next page needs a new thread
      throw error
    })
    thread?.unref() // an idle thread does not keep the process alive
    idleTimer = setTimeout(() => void end(), idleMs).unref()
    if (!response.ok) throw unreadable(response.message)
    return response.page
  }

  return { read, end }
}

/** The file that runs in a thread. In the build, the code of this module may be in `adapters/web/page/` or in `chunks/`. */
const threadFile = (): URL =>
  new URL(
    import.meta.url.endsWith('.ts')
      ? import.meta.url.replace(/reader\.ts$/, 'page-thread.ts')
      : import.meta.url.replace(/\/(?:adapters\/web(?:\/page)?|chunks)\/[^/]+$/, '/adapters/web/page/page-thread.js'),
  )

/** Starts a thread. It gets no environment variables and no Node options of this process. */
function startThread(): Worker {
  const limits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
  const thread = new Worker(threadFile(), { env: {}, execArgv: [], stdout: true, stderr: true, resourceLimits: limits })
  thread.stdout.resume()
  thread.stderr.resume()
  return thread
}

function sendRequest(thread: Worker, request: PageRequest, timeoutMs: number): Promise<PageResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<PageResponse>()
  const onTimeout = () => reject(unreadable(`it was not read within ${timeoutMs} ms`))
  const onExit = () => reject(unreadable('it takes more memory than the reader has'))
  const timer = setTimeout(onTimeout, timeoutMs)
  thread.ref()
  thread.once('message', resolve).once('error', onExit).once('exit', onExit)
  thread.postMessage(request)
  return promise.finally(() => {
    clearTimeout(timer)
    thread.off('message', resolve).off('error', onExit).off('exit', onExit)
  })
}

const unreadable = (message: string) => new Failure('document.unreadable', `the page can not be read: ${message}`)
