import { Failure } from '../../core/failure.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import type { PdfRequest, PdfResponse } from './pdf-thread.ts'
import { createReaderThreads, threadFile } from './reader-threads.ts'

/** A reader that works in threads of its own. `close` ends the threads, and documents that are not read yet fail with `reader_closed`. */
export interface PdfReader extends DocumentReader {
  close(): Promise<void>
}

/**
 * Reads PDF documents in worker threads. If a hostile document takes too much time or memory, only its thread is ended. If there are
 * several threads, the documents of one user never occupy all of them. So the hostile documents of one user do not make other users wait. A
 * thread starts with its first document and ends after `idleMs` without a document. A failure has `encrypted`, `damaged`, `too_slow`,
 * `out_of_memory`, `reader_missing` or `reader_closed` as `details.reason`.
 */
export function createPdfReader({ timeoutMs = 10_000, idleMs = 30_000, threads = 2 } = {}): PdfReader {
  const readers = createReaderThreads<PdfRequest, PdfResponse>({
    file: threadFile(import.meta.url, 'pdf-thread'),
    timeoutMs,
    idleMs,
    threads,
    failure: unreadable,
  })
  return {
    async pdf(bytes, { maxPages = 500, user = '' } = {}) {
      // `bytes` may be a part of a larger buffer, and a message to the thread would copy the whole buffer. So the thread gets a copy of the
      // part.
      const response = await readers.read(user, { bytes: Uint8Array.from(bytes), maxPages })
      if (!response.ok) throw unreadable(response.reason, response.message)
      return { pages: response.pages, text: response.text }
    },
    close: readers.close,
  }
}

const unreadable = (reason: string, message: string) =>
  new Failure('document.unreadable', `the PDF can not be read: ${message}`, { details: { reason } })
