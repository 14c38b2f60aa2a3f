import type { DocumentReader } from '../../ports/documents.ts'
import { secondType } from './foreign.ts'
import { checkGif } from './gif.ts'
import { checkJpeg } from './jpeg.ts'
import { checkOffice, officeMimes } from './office.ts'
import { checkPages, checkPdf } from './pdf.ts'
import type { Size } from './picture.ts'
import { checkPng } from './png.ts'
import { type Kind, kindNames, promisedBy } from './promise.ts'
import { type Sniffed, sniff, unknownWords } from './sniff.ts'
import { charsetOf, textMime } from './text.ts'
import { type AttachmentLimits, isRefusal, type Refusal, refused } from './upload.ts'
import { checkWebp } from './webp.ts'

/** What a file is, by its bytes. */
export interface Inspected extends Partial<Size> {
  readonly mime: string
  readonly page_count?: number
  /** Of a text that is not in UTF-8. */
  readonly charset?: string
}

interface Named {
  /** Safe already. */
  readonly name: string
  readonly mime?: string | undefined
  readonly bytes: Uint8Array
}

/** The file is whole, harmless as far as can be told, and what it says it is; otherwise why not. */
export async function inspect(file: Named, limits: AttachmentLimits, documents: DocumentReader | undefined): Promise<Inspected | Refusal> {
  const { name, bytes } = file
  const sniffed = sniff(bytes)
  const size = oversize(sniffed, bytes.length, limits)
  if (size) return size
  const found = await look(sniffed, name, bytes, limits, documents)
  if (isRefusal(found)) return found
  const { kind, ...inspected } = found
  const broken = promisedBy(name, file.mime).find((promised) => promised !== kind)
  if (broken === undefined) return inspected
  if (broken === 'other')
    return refused('unsupported_type', 'is called something that is not taken. Send JPEG, PNG, PDF, DOCX, XLSX, PPTX or text')
  return refused('type_mismatch', `says that it is ${kindNames[broken]}, but it is ${kindNames[kind]}. Give it its right name`)
}

function oversize(sniffed: Sniffed | undefined, size: number, limits: AttachmentLimits): Refusal | undefined {
  const [most, what] =
    sniffed === undefined
      ? [limits.textBytes, 'a text']
      : sniffed === 'pdf'
        ? [limits.pdfBytes, 'a PDF document']
        : sniffed === 'zip'
          ? [limits.messageBytes, 'a document']
          : [limits.imageBytes, 'a picture']
  if (size <= most) return undefined
  return { reason: 'size_limit', words: `has ${megabytes(size)} MiB, and ${what} may have at most ${megabytes(most)}. Send a smaller one` }
}

const megabytes = (bytes: number): string => String(Math.ceil((bytes * 10) / 1024 / 1024) / 10)

type Found = Inspected & { readonly kind: Kind }

async function look(
  sniffed: Sniffed | undefined,
  name: string,
  bytes: Uint8Array,
  limits: AttachmentLimits,
  documents: DocumentReader | undefined,
): Promise<Found | Refusal> {
  switch (sniffed) {
    case 'png':
      return picture('png', bytes, await checkPng(bytes, limits))
    case 'jpeg':
      return picture('jpeg', bytes, checkJpeg(bytes, limits))
    case 'gif':
      return picture('gif', bytes, checkGif(bytes, limits))
    case 'webp':
      return picture('webp', bytes, checkWebp(bytes, limits))
    case 'pdf':
      return pdf(bytes, limits, documents)
    case 'zip': {
      const found = await checkOffice(bytes, limits)
      return isRefusal(found) ? found : { kind: found.kind, mime: officeMimes[found.kind] }
    }
    case undefined: {
      const charset = charsetOf(bytes)
      if (charset === undefined) return refused('unsupported_type', unknownWords(bytes))
      return { kind: 'text', mime: textMime(name), ...(charset !== 'utf-8' && { charset }) }
    }
    default:
      return sniffed satisfies never
  }
}

function picture(kind: 'png' | 'jpeg' | 'gif' | 'webp', bytes: Uint8Array, size: Size | Refusal): Found | Refusal {
  const second = secondType(bytes, 'picture')
  if (second !== undefined) return twoTypes(kind, second)
  return isRefusal(size) ? size : { kind, mime: `image/${kind}`, ...size }
}

async function pdf(bytes: Uint8Array, limits: AttachmentLimits, documents: DocumentReader | undefined): Promise<Found | Refusal> {
  const second = secondType(bytes, 'pdf')
  if (second !== undefined) return twoTypes('pdf', second)
  const refusal = checkPdf(bytes, limits)
  if (refusal) return refusal
  const about = { kind: 'pdf', mime: 'application/pdf' } as const
  if (!documents) return about
  const read = await checkPages(bytes, documents, limits)
  return isRefusal(read) ? read : { ...about, page_count: read.pages }
}

const twoTypes = (kind: Kind, second: string): Refusal =>
  refused('polyglot', `is two things at once, ${kindNames[kind]} and ${second}. Send it as one of them`)
