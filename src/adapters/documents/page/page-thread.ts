import { parentPort } from 'node:worker_threads'
import { missingPackageText } from '../../../core/failure.ts'
import type { PageText } from '../../../ports/web.ts'
import { readPage } from './read-page.ts'

/* The worker thread of `reader.ts`. It reads one page at a time with the package htmlparser2. */

export interface PageRequest {
  readonly bytes: Uint8Array
  readonly url: string
  readonly charset: string | undefined
  readonly maxText: number | undefined
}

export type PageResponse = { readonly ok: true; readonly page: PageText } | { readonly ok: false; readonly message: string }

async function read({ bytes, url, charset, maxText }: PageRequest): Promise<PageResponse> {
  const loaded = await import('htmlparser2').catch((error: NodeJS.ErrnoException) => ({ error }))
  if ('error' in loaded) {
    const { code, message } = loaded.error
    return { ok: false, message: code === 'ERR_MODULE_NOT_FOUND' ? missingPackageText('htmlparser2') : message }
  }
  return { ok: true, page: readPage(bytes, url, charset, loaded.Tokenizer, maxText) }
}

parentPort?.on('message', (request: PageRequest) => {
  void read(request).then(
    (response) => parentPort?.postMessage(response),
    (error: unknown) => parentPort?.postMessage({ ok: false, message: String(error) } satisfies PageResponse),
  )
})
