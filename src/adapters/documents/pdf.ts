import { Worker } from 'node:worker_threads'
import { Failure } from '../../core/failure.ts'
import type { DocumentReader, PdfText } from '../../ports/documents.ts'
import type { PdfRequest, PdfResponse } from './pdf-thread.ts'

export interface PdfReader extends DocumentReader {
  close(): Promise<void>
}

/**
 * Reads PDF on a thread of its own: a document that is made to take for ever, or all memory, ends the thread and nothing else. The
 * thread is started for the first document, goes from one to the next, and is let go when there is none for a while. `details.reason`
 * of a failure is `encrypted`, `damaged`, `too_slow` or `reader_missing`.
 */
export function createPdfReader({ timeoutMs = 10_000, idleMs = 30_000 } = {}): PdfReader {
  let thread: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let last: Promise<unknown> = Promise.resolve()

  async function end(): Promise<void> {
    const ending = thread
    thread = undefined
    clearTimeout(idle)
    await ending?.terminate()
  }

  async function ask(question: PdfRequest): Promise<PdfText> {
    clearTimeout(idle)
    thread ??= startThread()
    const answer = await sendRequest(thread, question, timeoutMs).catch(async (error: unknown) => {
      await end() // it is still at it, or gone
      throw error
    })
    thread.unref() // a process that has nothing else to do may end
    idle = setTimeout(() => void end(), idleMs).unref()
    if (!answer.ok) throw unreadable(answer.reason, answer.message)
    return { pages: answer.pages, text: answer.text }
  }

  return {
    pdf(bytes, { maxPages = 500 } = {}) {
      const asked = last.then(() => ask({ bytes: Uint8Array.from(bytes), maxPages }))
      last = asked.catch(() => {}) // the next in line does not inherit it
      return asked
    },
    close: end,
  }
}

/** The thread is a file beside this one, in the sources and when built. It is given nothing of this process: no environment, no options. */
function startThread(): Worker {
  const file = new URL(import.meta.url.replace(/pdf\.(ts|js)$/, 'pdf-thread.$1'))
  const limits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 }
  const thread = new Worker(file, { env: {}, execArgv: [], stdout: true, stderr: true, resourceLimits: limits })
  thread.stdout.resume()
  thread.stderr.resume()
  return thread
}

function sendRequest(thread: Worker, question: PdfRequest, timeoutMs: number): Promise<PdfResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<PdfResponse>()
  const slow = () => reject(unreadable('too_slow', `it was not read within ${timeoutMs} ms`))
  const gone = (why: unknown) => reject(unreadable('too_slow', `reading it took more than the reader has: ${why}`))
  const timer = setTimeout(slow, timeoutMs)
  thread.ref()
  thread.once('message', resolve).once('error', gone).once('exit', gone)
  thread.postMessage(question)
  return promise.finally(() => {
    clearTimeout(timer)
    thread.off('message', resolve).off('error', gone).off('exit', gone)
  })
}

const unreadable = (reason: string, message: string) =>
  new Failure('document.unreadable', `the PDF can not be read: ${message}`, { details: { reason } })
