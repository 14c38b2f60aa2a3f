import type { DocumentReader } from '../../ports/documents.ts'
import {
  claimedKinds,
  detectSignature,
  type FileKind,
  type FileSignature,
  kindNames,
  polyglotType,
  textCharset,
  textMime,
  unknownTypeRefusal,
} from './file-type.ts'
import type { ImageSize } from './images.ts'
import { checkGif, checkJpeg, checkPng, checkWebp } from './images.ts'
import { checkOffice, officeMimes } from './office.ts'
import { checkPages, checkPdf } from './pdf.ts'
import { type AttachmentLimits, isRefusal, type Refusal, refusal } from './upload.ts'

/** What a file is, by its bytes. */
export interface FileFacts extends Partial<ImageSize> {
  readonly mime: string
  readonly page_count?: number
  /** Of a text that is not in UTF-8. */
  readonly charset?: string
}

interface InspectInput {
  /** Safe already. */
  readonly name: string
  readonly mime?: string | undefined
  readonly bytes: Uint8Array
}

/** The file is whole, harmless as far as can be told, and what it says it is; otherwise why not. */
export async function inspect(
  file: InspectInput,
  limits: AttachmentLimits,
  documents: DocumentReader | undefined,
): Promise<FileFacts | Refusal> {
  const { name, bytes } = file
  const sniffed = detectSignature(bytes)
  const size = sizeRefusal(sniffed, bytes.length, limits)
  if (size) return size
  const found = await identify(sniffed, name, bytes, limits, documents)
  if (isRefusal(found)) return found
  const { kind, ...inspected } = found
  const broken = claimedKinds(name, file.mime).find((promised) => promised !== kind)
  if (broken === undefined) return inspected
  if (broken === 'other')
    return refusal('unsupported_type', 'is called something that is not taken. Send JPEG, PNG, PDF, DOCX, XLSX, PPTX or text')
  return refusal('type_mismatch', `says that it is ${kindNames[broken]}, but it is ${kindNames[kind]}. Give it its right name`)
}

function sizeRefusal(sniffed: FileSignature | undefined, size: number, limits: AttachmentLimits): Refusal | undefined {
  const [most, what] =
    sniffed === undefined
      ? [limits.textBytes, 'a text']
      : sniffed === 'pdf'
        ? [limits.pdfBytes, 'a PDF document']
        : sniffed === 'zip'
          ? [limits.messageBytes, 'a document']
          : [limits.imageBytes, 'a picture']
  if (size <= most) return undefined
  return { reason: 'size_limit', words: `has ${mebibytes(size)} MiB, and ${what} may have at most ${mebibytes(most)}. Send a smaller one` }
}

const mebibytes = (bytes: number): string => String(Math.ceil((bytes * 10) / 1024 / 1024) / 10)

type IdentifiedFile = FileFacts & { readonly kind: FileKind }

async function identify(
  sniffed: FileSignature | undefined,
  name: string,
  bytes: Uint8Array,
  limits: AttachmentLimits,
  documents: DocumentReader | undefined,
): Promise<IdentifiedFile | Refusal> {
  switch (sniffed) {
    case 'png':
      return inspectImage('png', bytes, await checkPng(bytes, limits))
    case 'jpeg':
      return inspectImage('jpeg', bytes, checkJpeg(bytes, limits))
    case 'gif':
      return inspectImage('gif', bytes, checkGif(bytes, limits))
    case 'webp':
      return inspectImage('webp', bytes, checkWebp(bytes, limits))
    case 'pdf':
      return inspectPdf(bytes, limits, documents)
    case 'zip': {
      const found = await checkOffice(bytes, limits)
      return isRefusal(found) ? found : { kind: found.kind, mime: officeMimes[found.kind] }
    }
    case undefined: {
      const charset = textCharset(bytes)
      if (charset === undefined) return refusal('unsupported_type', unknownTypeRefusal(bytes))
      return { kind: 'text', mime: textMime(name), ...(charset !== 'utf-8' && { charset }) }
    }
    default:
      return sniffed satisfies never
  }
}

function inspectImage(kind: 'png' | 'jpeg' | 'gif' | 'webp', bytes: Uint8Array, size: ImageSize | Refusal): IdentifiedFile | Refusal {
  const second = polyglotType(bytes, 'picture')
  if (second !== undefined) return polyglotRefusal(kind, second)
  return isRefusal(size) ? size : { kind, mime: `image/${kind}`, ...size }
}

async function inspectPdf(
  bytes: Uint8Array,
  limits: AttachmentLimits,
  documents: DocumentReader | undefined,
): Promise<IdentifiedFile | Refusal> {
  const second = polyglotType(bytes, 'pdf')
  if (second !== undefined) return polyglotRefusal('pdf', second)
  const refusal = checkPdf(bytes, limits)
  if (refusal) return refusal
  const about = { kind: 'pdf', mime: 'application/pdf' } as const
  if (!documents) return about
  const read = await checkPages(bytes, documents, limits)
  return isRefusal(read) ? read : { ...about, page_count: read.pages }
}

const polyglotRefusal = (kind: FileKind, second: string): Refusal =>
  refusal('polyglot', `is two things at once, ${kindNames[kind]} and ${second}. Send it as one of them`)
