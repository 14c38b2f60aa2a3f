import type { Worker } from 'node:worker_threads'
import { createFairQueue } from '../../core/collections/fair-queue.ts'

/** Threads that read documents, each of which reads one document at a time. */
export interface ReaderThreads<Request, Response> {
  /**
   * Reads a document of a user. The threads serve the users in turn. If there are several threads, the documents of one user never occupy
   * all of them. If `signal` fires, the thread is ended, and reading the document fails with `cancelled`.
   */
  read(user: string, request: Request, signal?: AbortSignal): Promise<Response>
  /** Ends the threads. Documents that are not read yet fail. */
  close(): Promise<void>
}

export interface ReaderThreadsOptions {
  /** The file that runs in a thread. */
  readonly file: URL
  /** How long one document may take. After this time its thread is ended. The other threads keep running. */
  readonly timeoutMs: number
  /** How long a thread may wait for a document before it ends. */
  readonly idleMs: number
  readonly threads: number
  /** Makes the error of a document that can not be read. */
  failure(reason: ThreadProblem, message: string): Error
}

/** Why a thread gave no response. */
export type ThreadProblem = 'too_slow' | 'out_of_memory' | 'cancelled' | 'reader_closed'

/** Creates the threads. Each thread starts when it gets its first document. */
export function createReaderThreads<Request, Response>(options: ReaderThreadsOptions): ReaderThreads<Request, Response> {
  const { threads, failure } = options
  const readers = Array.from({ length: threads }, () => createReaderThread<Request, Response>(options))
  const enqueue = createFairQueue(readers, Math.max(1, threads - 1))
  let closed = false
  return {
    read: (user, request, signal) =>
      enqueue(user, async (reader) => {
        if (closed) throw failure('reader_closed', 'the reader was closed before')
        if (signal?.aborted) throw failure('cancelled', 'the call was cancelled')
        return reader.read(request, signal)
      }),
    async close() {
      closed = true
      await Promise.all(readers.map((reader) => reader.end()))
    },
  }
}

/** One thread, which is started when it is needed. */
function createReaderThread<Request, Response>(options: ReaderThreadsOptions) {
  let thread: Worker | undefined
  let idleTimer: NodeJS.Timeout | undefined

  async function end(): Promise<void> {
    const ending = thread
    thread = undefined
    clearTimeout(idleTimer)
    await ending?.terminate()
  }

  async function read(request: Request, signal: AbortSignal | undefined): Promise<Response> {
    clearTimeout(idleTimer)
    thread ??= startThread(options.file)
    const response = await sendRequest<Request, Response>(thread, request, options, signal).catch(async (error: unknown) => {
      await end() // after a timeout the thread still reads this document, so the next document needs a new thread
      throw error
    })
    thread?.unref() // an idle thread does not keep the process alive
    idleTimer = setTimeout(() => void end(), options.idleMs).unref()
    return response
  }

  return { read, end }
}

/** Starts a thread. It gets no environment variables and no Node options of this process. */
function startThread(file: URL): Worker {
  const limits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
  // loaded with the first document, because the module takes milliseconds to load
  const { Worker: Thread } = process.getBuiltinModule('node:worker_threads')
  const thread = new Thread(file, { env: {}, execArgv: [], stdout: true, stderr: true, resourceLimits: limits })
  thread.stdout.resume()
  thread.stderr.resume()
  return thread
}

function sendRequest<Request, Response>(
  thread: Worker,
  request: Request,
  { timeoutMs, failure }: ReaderThreadsOptions,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const onTimeout = () => reject(failure('too_slow', `it was not read within ${timeoutMs} ms`))
  const onExit = (reason: unknown) => {
    const isMemory = (reason as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
    reject(failure(isMemory ? 'out_of_memory' : 'too_slow', `reading it took too much memory or time: ${reason}`))
  }
  const onAbort = () => reject(failure('cancelled', 'the call was cancelled'))
  const timer = setTimeout(onTimeout, timeoutMs)
  thread.ref()
  thread.once('message', resolve).once('error', onExit).once('exit', onExit)
  signal?.addEventListener('abort', onAbort, { once: true })
  thread.postMessage(request)
  return promise.finally(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    thread.off('message', resolve).off('error', onExit).off('exit', onExit)
  })
}

/**
 * The address of the file that a thread runs. `path` is its path below `adapters/documents/`, without an ending. In the sources, the file
 * is in the same folder as the module at `moduleUrl`. In the build, that module may be in `adapters/documents/`, in a folder below it, or
 * in `chunks/`.
 */
export function threadFile(moduleUrl: string, path: string): URL {
  if (moduleUrl.endsWith('.ts')) return new URL(`./${path.slice(path.lastIndexOf('/') + 1)}.ts`, moduleUrl)
  return new URL(moduleUrl.replace(/\/(?:adapters\/documents(?:\/[a-z]{1,20})?|chunks)\/[^/]+$/, `/adapters/documents/${path}.js`))
}
