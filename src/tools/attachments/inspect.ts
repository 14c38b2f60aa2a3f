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
import { type AttachmentLimits, isRefusal, type Refusal, refusal } from './upload.ts'

/** Properties of a file, read from its bytes. */
export interface FileFacts extends Partial<ImageSize> {
  readonly mime: string
  readonly page_count?: number
  /** The charset of a text file. Undefined for UTF-8. */
  readonly charset?: string
}

interface InspectInput {
  /** The file name, made safe for use in a path. */
  readonly name: string
  readonly mime?: string | undefined
  readonly bytes: Uint8Array
}

/** Checks that a file is complete, is not dangerous as far as this can be detected, and has the type that its name and sender claim. */
export async function inspect(
  file: InspectInput,
  limits: AttachmentLimits,
  documents: DocumentReader | undefined,
): Promise<FileFacts | Refusal> {
  const { name, bytes } = file
  const signature = detectSignature(bytes)
  const tooLarge = sizeRefusal(signature, bytes.length, limits)
  if (tooLarge) return tooLarge
  const identified = await identify(signature, name, bytes, limits, documents)
  if (isRefusal(identified)) return identified
  const { kind, ...facts } = identified
  const wrongClaim = claimedKinds(name, file.mime).find((claimed) => claimed !== kind)
  if (wrongClaim === undefined) return facts
  if (wrongClaim === 'other')
    return refusal('unsupported_type', 'has a name or type that is not accepted. Send JPEG, PNG, PDF, DOCX, XLSX, PPTX or text')
  return refusal('type_mismatch', `claims to be ${kindNames[wrongClaim]}, but it is ${kindNames[kind]}. Correct its name`)
}

function sizeRefusal(signature: FileSignature | undefined, size: number, limits: AttachmentLimits): Refusal | undefined {
  const [limit, what] = sizeLimit(signature, limits)
  if (size <= limit) return undefined
  return { reason: 'size_limit', words: `has ${mebibytes(size)} MiB, and ${what} may have at most ${mebibytes(limit)}. Send a smaller one` }
}

function sizeLimit(signature: FileSignature | undefined, limits: AttachmentLimits): readonly [bytes: number, what: string] {
  if (signature === undefined) return [limits.textBytes, 'a text']
  if (signature === 'pdf') return [limits.pdfBytes, 'a PDF document']
  return signature === 'zip' ? [limits.messageBytes, 'a document'] : [limits.imageBytes, 'a picture']
}

const mebibytes = (bytes: number): string => String(Math.ceil((bytes * 10) / 1024 / 1024) / 10)

type IdentifiedFile = FileFacts & { readonly kind: FileKind }

/**
 * Determines the type of a file and checks it. The checks of each format are imported on demand, because most turns have no attachments.
 */
async function identify(
  signature: FileSignature | undefined,
  name: string,
  bytes: Uint8Array,
  limits: AttachmentLimits,
  documents: DocumentReader | undefined,
): Promise<IdentifiedFile | Refusal> {
  switch (signature) {
    case 'png':
    case 'jpeg':
    case 'gif':
    case 'webp': {
      const { imageChecks } = await import('./images.ts')
      return inspectImage(signature, bytes, await imageChecks[signature](bytes, limits))
    }
    case 'pdf':
      return inspectPdf(bytes, limits, documents)
    case 'zip': {
      const { checkOffice, officeMimes } = await import('./office.ts')
      const document = await checkOffice(bytes, limits)
      return isRefusal(document) ? document : { kind: document.kind, mime: officeMimes[document.kind] }
    }
    case undefined: {
      const charset = textCharset(bytes)
      if (charset === undefined) return refusal('unsupported_type', unknownTypeRefusal(bytes))
      return { kind: 'text', mime: textMime(name), ...(charset !== 'utf-8' && { charset }) }
    }
    default:
      return signature satisfies never
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
  const { checkPages, checkPdf } = await import('./pdf.ts')
  const problem = checkPdf(bytes, limits)
  if (problem) return problem
  const facts = { kind: 'pdf', mime: 'application/pdf' } as const
  if (!documents) return facts
  const counted = await checkPages(bytes, documents, limits)
  return isRefusal(counted) ? counted : { ...facts, page_count: counted.pages }
}

const polyglotRefusal = (kind: FileKind, second: string): Refusal =>
  refusal('polyglot', `can be opened as ${kindNames[kind]} and as ${second}. Save it again as one of them`)
