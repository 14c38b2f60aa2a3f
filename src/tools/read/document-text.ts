import { Failure } from '../../core/failure.ts'
import { caps } from '../../core/render/caps.ts'
import type { DocumentReader, PdfText } from '../../ports/documents.ts'
import { fetchBlob } from '../artifacts/history.ts'
import type { Call } from '../tool.ts'
import type { PathContent } from './find.ts'
import type { ReadLimits } from './window.ts'

type BinaryContent = Extract<PathContent, { kind: 'binary' }>

/**
 * A PDF as text, page by page, for a model that can not be shown one; or why it has none. Anything else stays what it is, and so does a
 * PDF beyond what may be shown.
 */
export async function extractDocumentText(
  found: PathContent,
  documents: DocumentReader,
  limits: ReadLimits,
  { blobs }: Call,
): Promise<PathContent> {
  if (found.kind !== 'binary' || !isDocument(found.mime) || found.blob.size > Math.min(limits.bytes, caps.documentBytes)) return found
  const bytes = await fetchBlob(found.blob.sha256, blobs)
  if (!bytes) return found
  const { path, mime, digest, blob } = found
  const text = await documentText(bytes, documents, found)
  return { kind: 'text', path, mime, ...(digest !== undefined && { digest }), label: 'extracted_text', text, capped: true, from: blob }
}

export const isDocument = (mime: string | undefined): boolean => mime === 'application/pdf'

async function documentText(bytes: Uint8Array, documents: DocumentReader, found: BinaryContent): Promise<string> {
  try {
    const read = await documents.pdf(bytes)
    return read.text.every((page) => page.trim() === '')
      ? noTextNotice('its pages hold no text, perhaps pictures of it', found)
      : formatPages(read, found)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'document.unreadable') throw error
    return noTextNotice(reasons[String(error.details.reason)] ?? 'it can not be read', found)
  }
}

const reasons: Readonly<Record<string, string>> = {
  encrypted: 'it is protected by a password',
  damaged: 'it is damaged',
  too_slow: 'it takes too long to read',
  reader_missing: 'nothing that reads PDF is installed',
}

function formatPages({ pages, text }: PdfText, { path, mime, blob }: BinaryContent): string {
  const said = text.map((page, index) => `[page ${index + 1}]\n${printable(page) || '(no text)'}`)
  return [
    `[EXTRACTED TEXT] ${mime}, ${pages === 1 ? '1 page' : `${pages} pages`}, ${blob.size} bytes`,
    `path: ${path}`,
    'These are the words of the file. Pictures, drawings and the layout of tables are not in them.',
    '',
    said.join('\n\n'),
    ...(text.length < pages ? ['', `[pages ${text.length + 1}-${pages} were not read]`] : []),
  ].join('\n')
}

const noTextNotice = (reason: string, { path, mime, blob }: BinaryContent) =>
  [
    `[NO TEXT] ${mime}, ${blob.size} bytes`,
    `path: ${path}`,
    `This model is not shown such files, and the text of this one can not be had: ${reason}. Say so if the user asks about it.`,
  ].join('\n')

/** What is in a file is anybody's: half letters and control characters are no words. */
const printable = (page: string) =>
  page
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
    .trimEnd()
