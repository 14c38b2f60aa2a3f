import { hasBytesAt, type InflateResult, inflateSmall, measureBytes, measureInflated, zlib } from '../bytes.ts'

import { deflated, findZipEnd, locateData, readSmallEntry, stored, type ZipEntry, zipEntries } from '../zip.ts'
import { type AttachmentLimits, isRefusal, type Refusal, refusal } from './upload.ts'

const vendor = 'application/vnd.openxmlformats-officedocument'

/** The accepted Office formats and their media types. */
export const officeMimes = {
  docx: `${vendor}.wordprocessingml.document`,
  xlsx: `${vendor}.spreadsheetml.sheet`,
  pptx: `${vendor}.presentationml.presentation`,
} as const

export type OfficeKind = keyof typeof officeMimes

const officeKinds: readonly OfficeKind[] = ['docx', 'xlsx', 'pptx']

const contentTypes = '[Content_Types].xml'

/**
 * Accepts a ZIP archive only if it is an Office document without macros. Each local header must agree with the ZIP directory, and every
 * entry is inflated once to check it. Therefore every program that opens the document later reads the same content that was checked here.
 */
export async function checkOffice(bytes: Uint8Array, limits: AttachmentLimits): Promise<{ readonly kind: OfficeKind } | Refusal> {
  const entries = readEntries(bytes, limits)
  if (isRefusal(entries)) return entries
  const manifest = entries.find(({ name, size }) => name === contentTypes && size <= maxSyncBytes)
  const types = manifest && readSmallEntry(bytes, manifest, manifest.size)?.toString('utf8')
  if (types === undefined) return refusal('archive', 'is an archive, and archives are not opened. Send the files themselves')
  if (hasMacros(entries, types))
    return refusal('macros', 'contains macros, and documents with macros are not accepted. Save it without them')
  const kind = officeKindOf(entries, types)
  if (!kind) return refusal('unsupported_type', 'is not a known kind of document. Send it as DOCX, XLSX, PPTX or PDF')
  return (await checkContents(entries, limits)) ?? { kind }
}

function hasMacros(entries: readonly Entry[], types: string): boolean {
  return /macroEnabled|vbaProject|macrosheet/i.test(types) || entries.some(({ name }) => /vbaProject|vbaData|macrosheets\//i.test(name))
}

/**
 * The format of a document. The manifest `[Content_Types].xml` declares it as the type of the main part. Undefined when this part does not
 * exist.
 */
function officeKindOf(entries: readonly Entry[], types: string): OfficeKind | undefined {
  const names = new Set(entries.map(({ name }) => name.toLowerCase()))
  for (const [element] of types.matchAll(/<Override\b[^<>]{1,2000}>/g)) {
    const type = /\bContentType\s*=\s*["']([^"']*)["']/.exec(element)?.[1]
    const part = /\bPartName\s*=\s*["']\/([^"']*)["']/.exec(element)?.[1]?.toLowerCase()
    const kind = officeKinds.find((each) => type === `${officeMimes[each]}.main+xml`)
    if (kind && part !== undefined && names.has(part)) return kind
  }
  return undefined
}

/** An entry of the archive whose local header has the same name and compression method as its row in the ZIP directory. */
interface Entry extends ZipEntry {
  readonly packed: Uint8Array
  readonly end: number
}

const damagedArchive = refusal('damaged', 'is damaged: its parts can not be separated. Save it again and send that')

/**
 * The entries of an archive. Rejects a split archive. Also rejects data before the first entry, between the directory and the end record,
 * or after the end record.
 */
function readEntries(bytes: Uint8Array, limits: AttachmentLimits): readonly Entry[] | Refusal {
  const end = findZipEnd(bytes)
  if (!end) return refusal('damaged', 'is cut off: the end of the file is missing. Send it again')
  if (end.entryCount > limits.zipEntries) {
    return refusal('too_much_inside', `contains ${end.entryCount} files, and at most ${limits.zipEntries} are accepted`)
  }
  if (end.next !== bytes.length || end.split || end.directoryOffset + end.directorySize !== end.offset) return damagedArchive
  const entries: Entry[] = []
  let directoryEnd = end.directoryOffset
  for (const entry of zipEntries(bytes, end)) {
    const checked = checkEntry(bytes, entry, end.directoryOffset)
    if (isRefusal(checked)) return checked
    entries.push(checked)
    directoryEnd = entry.next
  }
  return entries.length === end.entryCount && directoryEnd === end.offset && !isAmbiguous(entries) ? entries : damagedArchive
}

function checkEntry(bytes: Uint8Array, entry: ZipEntry, dataEnd: number): Entry | Refusal {
  const data = locateData(bytes, entry)
  if (!data) return damagedArchive
  if (entry.encrypted) return refusal('encrypted', 'is protected with a password. Remove it and send the file again')
  if (entry.method !== stored && entry.method !== deflated) {
    return refusal('unsupported_type', 'is compressed with an unknown method. Save it again')
  }
  if (data.end > dataEnd || data.method !== entry.method || !data.nameBytes.equals(entry.nameBytes)) return damagedArchive
  if (isUnsafeName(entry.name)) return refusal('damaged', 'contains files whose names lead outside of it')
  return { ...entry, packed: data.packed, end: data.end }
}

const isUnsafeName = (name: string): boolean =>
  name === '' || /[\\\0:]/.test(name) || name.startsWith('/') || name.split('/').some((part) => part === '..' || part === '.')

/**
 * Whether two programs could read different content from the archive. This is possible if two entries have the same name, or if there is
 * data before the first entry. The result is also true for overlapping entries, because they can unpack to far more data than the archive
 * contains.
 */
function isAmbiguous(entries: readonly Entry[]): boolean {
  const inOrder = entries.toSorted((a, b) => a.offset - b.offset)
  if (inOrder.length > 0 && inOrder[0]?.offset !== 0) return true
  if (new Set(entries.map(({ name }) => name.toLowerCase())).size !== entries.length) return true
  return inOrder.some(({ offset }, index) => index > 0 && offset < (inOrder[index - 1]?.end ?? 0))
}

const damagedContents = refusal('damaged', 'is damaged: its content does not match its directory. Save it again and send that')
const zipBomb = refusal('too_much_inside', 'unpacks to far more than its size, and is not opened')
const nestedArchive = refusal('archive', 'contains an archive, and archives are not opened. Send the files themselves')

/**
 * The compression ratio is checked only for entries that inflate to more bytes than this. Even a short, harmless file of spaces has a high
 * ratio.
 */
const minBombBytes = 1024 * 1024

/** Inflates every entry once and discards the data. Returns the first problem, or undefined. */
async function checkContents(entries: readonly Entry[], limits: AttachmentLimits): Promise<Refusal | undefined> {
  if (entries.some(({ name }) => archiveNames.test(name))) return nestedArchive
  const declaredSize = entries.reduce((sum, { size }) => sum + size, 0)
  if (declaredSize > limits.zipBytes) return zipBomb
  let remaining = limits.zipBytes
  let packedSize = 0
  for (const entry of entries) {
    const content = await measureEntry(entry, Math.min(remaining, entry.size))
    if (!content.ok) return content.reason === 'too_much' ? zipBomb : damagedContents
    if (content.size !== entry.size || content.crc !== entry.crc) return damagedContents
    if (content.size > minBombBytes && content.size > limits.zipRatio * entry.packed.length) return zipBomb
    if (isArchive(content.head)) return nestedArchive
    remaining -= content.size
    packedSize += entry.packed.length
  }
  const size = limits.zipBytes - remaining
  return size > minBombBytes && size > limits.zipRatio * packedSize ? zipBomb : undefined
}

/**
 * Up to this size, data is inflated synchronously. This is faster than a stream, and the event loop is blocked for a few milliseconds only.
 */
const maxSyncBytes = 512 * 1024

async function measureEntry({ method, packed }: Entry, maxBytes: number): Promise<InflateResult> {
  if (method === stored) return packed.length > maxBytes ? { ok: false, reason: 'too_much' } : measureBytes(packed)
  if (maxBytes > maxSyncBytes) return measureInflated(zlib().createInflateRaw(), [packed], maxBytes)
  const inflated = inflateSmall(packed, maxBytes)
  return typeof inflated === 'string' ? { ok: false, reason: inflated } : measureBytes(inflated)
}

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
