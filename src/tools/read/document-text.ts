import { Failure } from '../../core/failure.ts'
import { caps } from '../../core/render/caps.ts'
import type { DocumentReader, PdfText } from '../../ports/documents.ts'
import { fetched } from '../artifacts/history.ts'
import type { Call } from '../tool.ts'
import type { Found } from './found.ts'
import type { ReadLimits } from './window.ts'

type Binary = Extract<Found, { kind: 'binary' }>

/**
 * A PDF as text, page by page, for a model that can not be shown one; or why it has none. Anything else stays what it is, and so does a
 * PDF beyond what may be shown.
 */
export async function textOfDocument(found: Found, documents: DocumentReader, limits: ReadLimits, { blobs }: Call): Promise<Found> {
  if (found.kind !== 'binary' || !isDocument(found.mime) || found.blob.size > Math.min(limits.bytes, caps.documentBytes)) return found
  const bytes = await fetched(found.blob.sha256, blobs)
  if (!bytes) return found
  const { path, mime, digest, blob } = found
  const text = await wordsOf(bytes, documents, found)
  return { kind: 'text', path, mime, ...(digest !== undefined && { digest }), label: 'extracted_text', text, capped: true, from: blob }
}

export const isDocument = (mime: string | undefined): boolean => mime === 'application/pdf'

async function wordsOf(bytes: Uint8Array, documents: DocumentReader, found: Binary): Promise<string> {
  try {
    const read = await documents.pdf(bytes)
    return read.text.every((page) => page.trim() === '')
      ? withoutText('its pages hold no text, perhaps pictures of it', found)
      : pagesOf(read, found)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'document.unreadable') throw error
    return withoutText(reasons[String(error.details.reason)] ?? 'it can not be read', found)
  }
}

const reasons: Readonly<Record<string, string>> = {
  encrypted: 'it is protected by a password',
  damaged: 'it is damaged',
  too_slow: 'it takes too long to read',
  reader_missing: 'nothing that reads PDF is installed',
}

function pagesOf({ pages, text }: PdfText, { path, mime, blob }: Binary): string {
  const said = text.map((page, index) => `[page ${index + 1}]\n${presentable(page) || '(no text)'}`)
  return [
    `[EXTRACTED TEXT] ${mime}, ${pages === 1 ? '1 page' : `${pages} pages`}, ${blob.size} bytes`,
    `path: ${path}`,
    'These are the words of the file. Pictures, drawings and the layout of tables are not in them.',
    '',
    said.join('\n\n'),
    ...(text.length < pages ? ['', `[pages ${text.length + 1}-${pages} were not read]`] : []),
  ].join('\n')
}

const withoutText = (reason: string, { path, mime, blob }: Binary) =>
  [
    `[NO TEXT] ${mime}, ${blob.size} bytes`,
    `path: ${path}`,
    `This model is not shown such files, and the text of this one can not be had: ${reason}. Say so if the user asks about it.`,
  ].join('\n')

/** What is in a file is anybody's: half letters and control characters are no words. */
const presentable = (page: string) =>
  page
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
    .trimEnd()
