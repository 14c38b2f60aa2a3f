import { Failure } from '../../core/failure.ts'
import type { DocumentReader } from '../../ports/documents.ts'
import { bufferOf } from '../bytes.ts'
import { type AttachmentLimits, type Refusal, refusal } from './upload.ts'

const tooMuchInside = (what: string) => refusal('too_much_inside', `contains more ${what} than a document needs, and is not opened`)
const protectedPdf = refusal('encrypted', 'is protected. Remove the protection and send the document again')
const unreadablePdf = refusal('damaged', 'is damaged: it can not be read as a PDF document. Save it again and send that')

/**
 * Searches the bytes of a PDF for problems, without parsing the PDF. The search can miss a problem, because a PDF can write names in an
 * encoded form. The parser that reads the PDF later has limits of its own.
 */
export function checkPdf(bytes: Uint8Array, limits: AttachmentLimits): Refusal | undefined {
  const text = bufferOf(bytes).toString('latin1')
  const end = text.lastIndexOf('%%EOF')
  if (end === -1) return refusal('damaged', 'is cut off: the end of the document is missing. Send it again')
  if (/[^\s\0]/.test(text.slice(end + 5))) return refusal('polyglot', 'contains more than a document: data follows its end')
  const versions = countMatches(text, /%%EOF/g, limits.pdfUpdates + 2) - (/\/Linearized/.test(text.slice(0, 1024)) ? 1 : 0)
  if (versions > limits.pdfUpdates + 1)
    return refusal('too_much_inside', 'contains too many older versions of itself. Save it as a new document and send that')
  if (/\/Encrypt\s{0,8}(?:\d|<<)/.test(text)) return protectedPdf
  if (countMatches(text, /\/ObjStm\b/g, limits.pdfObjectStreams) > limits.pdfObjectStreams) return tooMuchInside('packed objects')
  if (countObjects(text, limits.pdfObjects) > limits.pdfObjects) return tooMuchInside('objects')
  if (declaredStreamBytes(text) > limits.pdfStreamBytes) return tooMuchInside('data')
  return text.includes('startxref') && /\bobj\b/.test(text) ? undefined : unreadablePdf
}

/** Counts the pages with the PDF parser. Rejects a document with too many pages. */
export async function checkPages(
  bytes: Uint8Array,
  reader: DocumentReader,
  limits: AttachmentLimits,
): Promise<{ readonly pages: number } | Refusal> {
  try {
    const { pages } = await reader.pdf(bytes, { maxPages: 0 })
    if (pages < 1) return refusal('damaged', 'has no pages')
    return pages > limits.pdfPages
      ? refusal('too_much_inside', `has ${pages} pages, and at most ${limits.pdfPages} are accepted`)
      : { pages }
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'document.unreadable') throw error
    const { reason } = error.details
    if (reason === 'reader_missing' || reason === 'reader_closed')
      return { reason: 'preflight_error', words: `could not be checked: ${error.message}` }
    if (reason === 'encrypted') return protectedPdf
    if (reason === 'too_slow') return refusal('too_much_inside', 'takes too long to read, and is not opened')
    return unreadablePdf
  }
}

/** Counts matches. Stops counting when there are more than `limit`. */
function countMatches(text: string, pattern: RegExp, limit: number): number {
  let count = 0
  for (const _ of text.matchAll(pattern)) if (++count > limit) break
  return count
}

/** Counts the objects of a PDF: the objects in its text, and the objects that object streams declare. */
function countObjects(text: string, limit: number): number {
  let count = countMatches(text, /\bobj\b/g, limit)
  for (const { index } of text.matchAll(/\/ObjStm\b/g)) {
    const around = text.slice(Math.max(0, index - 256), index + 256)
    count += Number(/\/N\s{1,4}(\d{1,9})/.exec(around)?.[1] ?? 0)
    if (count > limit) break
  }
  return count
}

function declaredStreamBytes(text: string): number {
  let sum = 0
  for (const [, length] of text.matchAll(/\/Length\s{1,4}(\d{1,15})(?!\d|\s{1,4}\d{1,5}\s{1,4}R)/g)) sum += Number(length)
  return sum
}
