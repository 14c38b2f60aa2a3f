import { Failure } from '../../core/failure.ts'
import { caps } from '../../core/render/caps.ts'
import { userKey } from '../../core/scope.ts'
import type { DocumentReader, PdfText } from '../../ports/documents.ts'
import { fetchBlob } from '../artifacts/history.ts'
import type { Call } from '../tool.ts'
import type { PathContent } from './find.ts'
import type { ReadLimits } from './window.ts'

type BinaryContent = Extract<PathContent, { kind: 'binary' }>

/**
 * Replaces a PDF by its text, page by page, for a model that can not read PDFs. If no text can be extracted, the result says why. A PDF
 * above the size limits is returned unchanged, and so is content that is not a PDF.
 */
export async function extractDocumentText(
  content: PathContent,
  documents: DocumentReader,
  limits: ReadLimits,
  { blobs, scope }: Call,
): Promise<PathContent> {
  if (content.kind !== 'binary' || !isDocument(content.mime) || content.blob.size > Math.min(limits.bytes, caps.documentBytes))
    return content
  const bytes = await fetchBlob(content.blob.sha256, blobs)
  if (!bytes) return content
  const { path, mime, digest, hosting, blob } = content
  const text = await documentText(bytes, documents, content, userKey(scope))
  return {
    kind: 'text',
    path,
    mime,
    ...(digest !== undefined && { digest }),
    ...(hosting && { hosting }),
    label: 'extracted_text',
    text,
    from: blob,
  }
}

/** Whether a model may need the extracted text of a file of this type. */
const isDocument = (mime: string | undefined): boolean => mime === 'application/pdf'

async function documentText(bytes: Uint8Array, documents: DocumentReader, content: BinaryContent, user: string): Promise<string> {
  try {
    const extracted = await documents.pdf(bytes, { user })
    return extracted.text.every((page) => page.trim() === '')
      ? noTextNotice('its pages hold no text, perhaps pictures of it', content)
      : formatPages(extracted, content)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'document.unreadable') throw error
    return noTextNotice(reasons[String(error.details.reason)] ?? 'it can not be read', content)
  }
}

const reasons: Readonly<Record<string, string>> = {
  encrypted: 'it is protected by a password',
  damaged: 'it is damaged',
  too_slow: 'it takes too long to read',
  reader_missing: 'nothing that reads PDF is installed',
  reader_closed: 'the runtime shuts down',
}

function formatPages({ pages, text }: PdfText, { path, mime, blob }: BinaryContent): string {
  const body = text.map((page, index) => `[page ${index + 1}]\n${printable(page) || '(no text)'}`)
  return [
    `[EXTRACTED TEXT] ${mime}, ${pages === 1 ? '1 page' : `${pages} pages`}, ${blob.size} bytes`,
    `path: ${path}`,
    'These are the words of the file. Pictures, drawings and the layout of tables are not in them.',
    '',
    body.join('\n\n'),
    ...(text.length < pages ? ['', `[pages ${text.length + 1}-${pages} were not read]`] : []),
  ].join('\n')
}

const noTextNotice = (reason: string, { path, mime, blob }: BinaryContent) =>
  [
    `[NO TEXT] ${mime}, ${blob.size} bytes`,
    `path: ${path}`,
    `This model is not shown such files, and the text of this one can not be had: ${reason}. Say so if the user asks about it.`,
  ].join('\n')

/** Replaces control characters and halves of surrogate pairs, which extracted text may contain. */
const printable = (page: string) =>
  page
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
    .trimEnd()
