import { crc32, createInflateRaw } from 'node:zlib'
import { hasBytesAt, type InflateResult, inflateSmall, measureInflated } from '../bytes.ts'
import { readZip, type ZipEntry } from '../zip.ts'
import { type AttachmentLimits, isRefusal, type Refusal, refusal } from './upload.ts'

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

const damagedContents = refusal('damaged', 'is damaged: what is in it is not what it says. Save it again and send that')
const zipBomb = refusal('too_much_inside', 'unpacks to far more than its size, and is not opened')
const nestedArchive = refusal('archive', 'has an archive in it, and archives are not opened. Send the files themselves')

/** Below it a ratio says nothing: a short file of blanks is no bomb. */
const minBombBytes = 1024 * 1024

/** Everything is unpacked once, to nowhere: sizes that an archive declares prove nothing. Undefined when all is well. */
export async function checkZipContents(entries: readonly ZipEntry[], limits: AttachmentLimits): Promise<Refusal | undefined> {
  if (entries.some(({ name }) => archiveNames.test(name))) return nestedArchive
  const declared = entries.reduce((sum, { size }) => sum + size, 0)
  if (declared > limits.zipBytes) return zipBomb
  let left = limits.zipBytes
  let packed = 0
  for (const entry of entries) {
    const found = await inflateEntry(entry, Math.min(left, entry.size))
    if (!found.ok) return found.why === 'too_much' ? zipBomb : damagedContents
    if (found.size !== entry.size || found.crc !== entry.crc) return damagedContents
    if (found.size > minBombBytes && found.size > limits.zipRatio * entry.packed.length) return zipBomb
    if (isArchive(found.head)) return nestedArchive
    left -= found.size
    packed += entry.packed.length
  }
  const size = limits.zipBytes - left
  return size > minBombBytes && size > limits.zipRatio * packed ? zipBomb : undefined
}

/** The text of one file of an archive; undefined when it is not there, damaged, or long. */
export function readZipText(entries: readonly ZipEntry[], name: string): string | undefined {
  const entry = entries.find((each) => each.name === name)
  if (!entry || entry.size > maxSyncBytes) return undefined
  if (entry.method === 0) return Buffer.from(entry.packed).toString('utf8')
  const text = inflateSmall(entry.packed, entry.size)
  return typeof text === 'string' ? undefined : text.toString('utf8')
}

/** No event loop notices this much. */
const maxSyncBytes = 512 * 1024

async function inflateEntry({ method, packed }: ZipEntry, most: number): Promise<InflateResult> {
  if (method === 0) return packed.length > most ? { ok: false, why: 'too_much' } : inflatedFacts(packed)
  if (most > maxSyncBytes) return measureInflated(createInflateRaw(), [packed], most)
  const found = inflateSmall(packed, most)
  return typeof found === 'string' ? { ok: false, why: found } : inflatedFacts(found)
}

const inflatedFacts = (bytes: Uint8Array): InflateResult => ({
  ok: true,
  size: bytes.length,
  crc: crc32(bytes),
  head: bytes.subarray(0, 512),
})

const archiveNames = /\.(?:zip|jar|war|apk|rar|7z|gz|tgz|bz2|xz|zst|tar|cab|iso|docx|xlsx|pptx|docm|xlsm|pptm|odt|ods|odp|epub)$/i

const archiveSignatures = [
  'PK\x03\x04',
  'PK\x05\x06',
  'Rar!\x1a\x07',
  '7z\xbc\xaf\x27\x1c',
  '\x1f\x8b',
  'BZh',
  '\xfd7zXZ',
  '\x28\xb5\x2f\xfd',
  'MSCF',
]

const isArchive = (head: Uint8Array): boolean =>
  archiveSignatures.some((signature) => hasBytesAt(head, 0, signature)) || hasBytesAt(head, 257, 'ustar')
