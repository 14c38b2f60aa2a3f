import { readZip, type ZipEntry } from '../zip.ts'
import { type AttachmentLimits, isRefusal, type Refusal, refusal } from './upload.ts'
import { checkZipContents, readZipText } from './zip-contents.ts'

const vendor = 'application/vnd.openxmlformats-officedocument'

export const officeMimes = {
  docx: `${vendor}.wordprocessingml.document`,
  xlsx: `${vendor}.spreadsheetml.sheet`,
  pptx: `${vendor}.presentationml.presentation`,
} as const

export type OfficeKind = keyof typeof officeMimes

/** An archive is taken only when it is a document: every part of it is looked at, and it says itself what it is. */
export async function checkOffice(bytes: Uint8Array, limits: AttachmentLimits): Promise<{ readonly kind: OfficeKind } | Refusal> {
  const entries = readZip(bytes, limits)
  if (isRefusal(entries)) return entries
  const contents = readZipText(entries, '[Content_Types].xml')
  if (contents === undefined) return refusal('archive', 'is an archive, and archives are not opened. Send the files themselves')
  if (hasMacros(entries, contents)) return refusal('macros', 'has macros in it, and programs in documents are not taken. Save it without')
  const kind = officeKindOf(entries, contents)
  if (!kind) return refusal('unsupported_type', 'is not a document that is understood. Send it as DOCX, XLSX, PPTX or PDF')
  return (await checkZipContents(entries, limits)) ?? { kind }
}

function hasMacros(entries: readonly ZipEntry[], contents: string): boolean {
  return /macroEnabled|vbaProject|macrosheet/i.test(contents) || entries.some(({ name }) => /vbaProject|vbaData|macrosheets\//i.test(name))
}

/** By the part that the document begins with, which must be there. */
function officeKindOf(entries: readonly ZipEntry[], contents: string): OfficeKind | undefined {
  const names = new Set(entries.map(({ name }) => name.toLowerCase()))
  for (const [element] of contents.matchAll(/<Override\b[^<>]{1,2000}>/g)) {
    const type = /\bContentType\s*=\s*["']([^"']*)["']/.exec(element)?.[1]
    const part = /\bPartName\s*=\s*["']\/([^"']*)["']/.exec(element)?.[1]?.toLowerCase()
    const kind = officeKinds.find((each) => type === `${officeMimes[each]}.main+xml`)
    if (kind && part !== undefined && names.has(part)) return kind
  }
  return undefined
}

const officeKinds: readonly OfficeKind[] = ['docx', 'xlsx', 'pptx']
