import { type AttachmentLimits, type Refusal, refusal } from './attachments/upload.ts'
import { bufferOf, viewOf } from './bytes.ts'

/**
 * An archive is a row of files, each behind a header of its own, then the directory, then the end record that points to the directory:
 *
 *   header file  header file  …  directory  end
 *
 * Here they must follow each other without a gap before, between overlapping or behind, and headers and directory must agree: whatever
 * program opens the archive later sees the very files that were checked.
 */
export interface ZipEntry {
  readonly name: string
  readonly method: number
  readonly crc: number
  /** As the directory says; checked when it is unpacked. */
  readonly size: number
  readonly packed: Uint8Array
}

const damagedZip = refusal('damaged', 'is damaged: its parts can not be told apart. Save it again and send that')
const [localHeader, directoryHeader] = [0x04034b50, 0x02014b50]
const endRecord = 'PK\x05\x06'
const longestComment = 0xffff

/** Where the end record is; undefined when the file does not end as an archive. */
export function endOfZip(bytes: Uint8Array): number | undefined {
  const view = viewOf(bytes)
  const buffer = bufferOf(bytes)
  const first = Math.max(0, bytes.length - 22 - longestComment)
  for (let at = buffer.lastIndexOf(endRecord); at >= first; at = at === 0 ? -1 : buffer.lastIndexOf(endRecord, at - 1)) {
    if (at + 22 <= bytes.length && at + 22 + view.getUint16(at + 20, true) <= bytes.length) return at
  }
  return undefined
}

export function readZip(bytes: Uint8Array, limits: AttachmentLimits): readonly ZipEntry[] | Refusal {
  const end = endOfZip(bytes)
  if (end === undefined) return refusal('damaged', 'is cut off: the end of the file is missing. Send it again')
  const view = viewOf(bytes)
  const count = view.getUint16(end + 10, true)
  const start = view.getUint32(end + 16, true)
  if (count > limits.zipEntries) {
    return refusal('too_much_inside', `has ${count} files in it, and at most ${limits.zipEntries} are taken`)
  }
  const whole = end + 22 + view.getUint16(end + 20, true) === bytes.length
  const oneDisk = view.getUint32(end + 4, true) === 0 && view.getUint16(end + 8, true) === count
  if (!whole || !oneDisk || start + view.getUint32(end + 12, true) !== end) return damagedZip
  const entries: LocatedEntry[] = []
  let at = start
  for (let number = 0; number < count; number++) {
    const entry = readEntry(bytes, view, at, start)
    if (entry === undefined) return damagedZip
    if ('words' in entry) return entry
    entries.push(entry)
    at = entry.next
  }
  return at === end && !hasOverlap(entries) ? entries : damagedZip
}

interface LocatedEntry extends ZipEntry {
  readonly from: number
  readonly to: number
  /** Of the directory. */
  readonly next: number
}

function readEntry(bytes: Uint8Array, view: DataView, at: number, filesEnd: number): LocatedEntry | Refusal | undefined {
  if (at + 46 > bytes.length || view.getUint32(at, true) !== directoryHeader) return undefined
  const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)]
  const [crc, packedSize, size] = [view.getUint32(at + 16, true), view.getUint32(at + 20, true), view.getUint32(at + 24, true)]
  const nameEnd = at + 46 + view.getUint16(at + 28, true)
  const next = nameEnd + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  const from = view.getUint32(at + 42, true)
  if (next > bytes.length || from + 30 > filesEnd || view.getUint32(from, true) !== localHeader) return undefined
  if ((flags & 0x2041) !== 0) return refusal('encrypted', 'is protected with a password. Remove it and send the file again')
  if (method !== 0 && method !== 8) return refusal('unsupported_type', 'is packed in a way that is not understood. Save it again')
  const name = bufferOf(bytes.subarray(at + 46, nameEnd))
  const ownName = from + 30 + view.getUint16(from + 26, true)
  const data = ownName + view.getUint16(from + 28, true)
  const to = data + packedSize
  if (to > filesEnd || view.getUint16(from + 8, true) !== method || !name.equals(bytes.subarray(from + 30, ownName))) return undefined
  const text = name.toString('utf8')
  if (escapesArchive(text)) return refusal('damaged', 'has files in it whose names lead out of it')
  return { name: text, method, crc, size, packed: bytes.subarray(data, to), from, to, next }
}

const escapesArchive = (name: string): boolean =>
  name === '' || /[\\\0:]/.test(name) || name.startsWith('/') || name.split('/').some((part) => part === '..' || part === '.')

/** Files that share bytes are how a small archive unpacks to a large one. Two of one name are two meanings of one archive. */
function hasOverlap(entries: readonly LocatedEntry[]): boolean {
  const inOrder = entries.toSorted((a, b) => a.from - b.from)
  if (inOrder.length > 0 && inOrder[0]?.from !== 0) return true // something stands before the first
  if (new Set(entries.map(({ name }) => name.toLowerCase())).size !== entries.length) return true
  return inOrder.some(({ from }, index) => index > 0 && from < (inOrder[index - 1]?.to ?? 0))
}
