import { parentPort } from 'node:worker_threads'
import { missingPackageText } from '../../../core/failure.ts'
import type { PageText } from '../../../ports/web.ts'
import { readPage } from './read-page.ts'

/* The worker thread of `reader.ts`. It reads one page at a time with the package htmlparser2. */

export interface PageRequest {
  readonly bytes: Uint8Array
  readonly url: string
  readonly charset: string | undefined
}

export type PageResponse = { readonly ok: true; readonly page: PageText } | { readonly ok: false; readonly message: string }

async function read({ bytes, url, charset }: PageRequest): Promise<PageResponse> {
  const htmlparser = await import('htmlparser2').catch((error: NodeJS.ErrnoException) => error)
  if (htmlparser instanceof Error) {
    const isMissing = htmlparser.code === 'ERR_MODULE_NOT_FOUND'
    return { ok: false, message: isMissing ? missingPackageText('htmlparser2') : htmlparser.message }
  }
  return { ok: true, page: readPage(bytes, url, charset, htmlparser.Tokenizer) }
}

parentPort?.on('message', (request: PageRequest) => {
  void read(request).then(
    (response) => parentPort?.postMessage(response),
    (error: unknown) => parentPort?.postMessage({ ok: false, message: String(error) } satisfies PageResponse),
  )
})
