import { parentPort } from 'node:worker_threads'
import { cutAt } from '../../core/cut.ts'
import { missingPackageText } from '../../core/failure.ts'

/* The worker thread of `pdf.ts`. It reads one PDF document at a time with the package pdfjs-dist. */

export interface PdfRequest {
  readonly bytes: Uint8Array
  readonly maxPages: number
}

export type PdfResponse =
  | { readonly ok: true; readonly pages: number; readonly text: readonly string[] }
  | { readonly ok: false; readonly reason: 'encrypted' | 'damaged' | 'reader_missing'; readonly message: string }

/** The maximum number of characters that are read from all pages of a document together. The rest of the text is left out. */
const maxTextLength = 10_000_000

async function read({ bytes, maxPages }: PdfRequest): Promise<PdfResponse> {
  const pdfjs = await import('pdfjs-dist/legacy/build/pdf.mjs').catch((error: NodeJS.ErrnoException) => error)
  if (pdfjs instanceof Error) {
    const message = pdfjs.code === 'ERR_MODULE_NOT_FOUND' ? missingPackageText('pdfjs-dist') : pdfjs.message
    return { ok: false, reason: 'reader_missing', message }
  }
  const task = pdfjs.getDocument({
    data: bytes,
    verbosity: 0,
    useWorkerFetch: false,
    useSystemFonts: false,
    disableFontFace: true,
    isOffscreenCanvasSupported: false,
    enableXfa: false,
    stopAtErrors: true,
  })
  try {
    const document = await task.promise
    const text: string[] = []
    for (let left = maxTextLength; text.length < Math.min(maxPages, document.numPages) && left > 0; ) {
      const page = await document.getPage(text.length + 1)
      const { items } = await page.getTextContent()
      const words = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('')
      text.push(cutAt(words, left))
      left -= words.length
      page.cleanup()
    }
    return { ok: true, pages: document.numPages, text }
  } catch (error) {
    const encrypted = error instanceof Error && error.name === 'PasswordException'
    return { ok: false, reason: encrypted ? 'encrypted' : 'damaged', message: error instanceof Error ? error.message : String(error) }
  } finally {
    await task.destroy()
  }
}

parentPort?.on('message', (request: PdfRequest) => {
  void read(request).then((response) => parentPort?.postMessage(response))
})
