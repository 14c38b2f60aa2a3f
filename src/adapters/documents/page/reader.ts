import { Failure } from '../../../core/failure.ts'
import type { PageReader } from '../../../ports/web.ts'
import { createReaderThreads, threadFile } from '../reader-threads.ts'
import type { PageRequest, PageResponse } from './page-thread.ts'

/** A reader that works in threads of its own. `close` ends the threads, and pages that are not read yet fail. */
export interface ThreadedPageReader extends PageReader {
  close(): Promise<void>
}

/**
 * Reads HTML pages in worker threads, because a large page would stop the process for a second. If a hostile page takes too much time or
 * memory, only its thread is ended. If there are several threads, the pages of one user never occupy all of them. A thread starts with its
 * first page and ends after `idleMs` without a page.
 */
export function createPageReader({ timeoutMs = 5_000, idleMs = 30_000, threads = 2 } = {}): ThreadedPageReader {
  const readers = createReaderThreads<PageRequest, PageResponse>({
    file: threadFile(import.meta.url, 'page/page-thread'),
    timeoutMs,
    idleMs,
    threads,
    failure: (reason, message) => unreadable(message, { details: { reason } }),
  })
  return {
    async read(html, { url, charset, user = '', maxText }) {
      // `html` may be a part of a larger buffer, and a message to the thread would copy the whole buffer. So the thread gets a copy of the
      // part.
      const response = await readers.read(user, { bytes: Uint8Array.from(html), url, charset, maxText })
      if (!response.ok) throw unreadable(response.message)
      return response.page
    },
    close: readers.close,
  }
}

const unreadable = (message: string, options?: ConstructorParameters<typeof Failure>[2]) =>
  new Failure('document.unreadable', `the page can not be read: ${message}`, options)
