import { bufferOf, hasBytesAt, inflateSmall, viewOf } from './bytes.ts'

// Reads ZIP archives from memory. An archive has this form:
//
//   local header, data   local header, data   …   directory   end record
//
// If the directory and a local header differ, the values in the directory are used, as in most programs. This file does not check whether
// an archive is dangerous. `attachments/office.ts` does.

export interface ZipEntry {
  readonly name: string
  readonly nameBytes: Buffer
  readonly encrypted: boolean
  readonly method: number
  readonly crc: number
  readonly packedSize: number
  /** The size after decompression, as the directory declares it. It may be false. */
  readonly size: number
  /** The type and permissions of the file, as on Unix. 0 if the program that made the archive did not store them. */
  readonly unixMode: number
  /** The offset of the local header. */
  readonly offset: number
  /** The offset of the next entry in the directory. */
  readonly next: number
}

/** The numbers of the two compression methods that this reader supports. */
export const stored = 0
export const deflated = 8

const endRecord = 'PK\x05\x06'
const directoryHeader = 'PK\x01\x02'
const localHeader = 'PK\x03\x04'
const [endRecordSize, directoryHeaderSize, localHeaderSize] = [22, 46, 30]
const maxCommentLength = 0xffff

/** The end record of an archive: its offset and its fields. */
interface ZipEnd {
  readonly offset: number
  /** The offset of the first byte after the comment of the archive. */
  readonly next: number
  readonly entryCount: number
  readonly directoryOffset: number
  readonly directorySize: number
  /** Whether the archive is split into several files. */
  readonly split: boolean
}

/** Finds the last end record. Undefined when there is no end record at the end of the bytes. */
export function findZipEnd(bytes: Uint8Array): ZipEnd | undefined {
  const view = viewOf(bytes)
  const buffer = bufferOf(bytes)
  const first = Math.max(0, bytes.length - endRecordSize - maxCommentLength)
  for (let at = buffer.lastIndexOf(endRecord); at >= first; at = at === 0 ? -1 : buffer.lastIndexOf(endRecord, at - 1)) {
    if (at + endRecordSize > bytes.length) continue
    const next = at + endRecordSize + view.getUint16(at + 20, true)
    if (next > bytes.length) continue
    const entryCount = view.getUint16(at + 10, true)
    return {
      offset: at,
      next,
      entryCount,
      directorySize: view.getUint32(at + 12, true),
      directoryOffset: view.getUint32(at + 16, true),
      split: view.getUint32(at + 4, true) !== 0 || view.getUint16(at + 8, true) !== entryCount,
    }
  }
  return undefined
}

/** The entries of an archive. Undefined when the directory is damaged. */
export function readZip(bytes: Uint8Array): readonly ZipEntry[] | undefined {
  const end = findZipEnd(bytes)
  if (!end) return undefined
  const entries = [...zipEntries(bytes, end)]
  return entries.length === end.entryCount ? entries : undefined
}

/** Reads the directory, entry by entry. It stops at the first damaged entry, so it may yield fewer entries than the end record declares. */
export function* zipEntries(bytes: Uint8Array, end: ZipEnd): Generator<ZipEntry> {
  const view = viewOf(bytes)
  for (let at = end.directoryOffset, count = 0; count < end.entryCount; count++) {
    const entry = readEntry(bytes, view, at)
    if (!entry) return
    yield entry
    at = entry.next
  }
}

/** Whether an entry of the central directory, the list of files at the end of a zip, begins at this offset. */
export const isDirectoryHeader = (bytes: Uint8Array, at: number): boolean => hasBytesAt(bytes, at, directoryHeader)

function readEntry(bytes: Uint8Array, view: DataView, at: number): ZipEntry | undefined {
  if (at + directoryHeaderSize > bytes.length || !isDirectoryHeader(bytes, at)) return undefined
  const nameEnd = at + directoryHeaderSize + view.getUint16(at + 28, true)
  const next = nameEnd + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  if (next > bytes.length) return undefined
  const nameBytes = bufferOf(bytes.subarray(at + directoryHeaderSize, nameEnd))
  return {
    name: nameBytes.toString('utf8'),
    nameBytes,
    encrypted: (view.getUint16(at + 8, true) & 0x2041) !== 0,
    method: view.getUint16(at + 10, true),
    crc: view.getUint32(at + 16, true),
    packedSize: view.getUint32(at + 20, true),
    size: view.getUint32(at + 24, true),
    unixMode: view.getUint16(at + 40, true),
    offset: view.getUint32(at + 42, true),
    next,
  }
}

/** The local header of an entry, and the compressed data after it. */
interface ZipData {
  readonly nameBytes: Buffer
  readonly method: number
  readonly packed: Uint8Array
  /** The offset of the first byte after the data. */
  readonly end: number
}

/** Finds the local header and the data of an entry. Undefined when there is no local header at the offset in the directory. */
export function locateData(bytes: Uint8Array, { offset, packedSize }: ZipEntry): ZipData | undefined {
  if (offset + localHeaderSize > bytes.length || !hasBytesAt(bytes, offset, localHeader)) return undefined
  const view = viewOf(bytes)
  const nameEnd = offset + localHeaderSize + view.getUint16(offset + 26, true)
  const start = nameEnd + view.getUint16(offset + 28, true)
  return {
    nameBytes: bufferOf(bytes.subarray(offset + localHeaderSize, nameEnd)),
    method: view.getUint16(offset + 8, true),
    packed: bytes.subarray(start, start + packedSize),
    end: start + packedSize,
  }
}

/** The content of a small entry. Undefined when it is damaged, compressed with another method, or larger than `maxBytes`. */
export function readSmallEntry(bytes: Uint8Array, entry: ZipEntry, maxBytes: number): Buffer | undefined {
  const data = locateData(bytes, entry)
  if (!data) return undefined
  if (entry.method === stored) return data.packed.length <= maxBytes ? bufferOf(data.packed) : undefined
  const inflated = entry.method === deflated ? inflateSmall(data.packed, maxBytes) : 'damaged'
  return typeof inflated === 'string' ? undefined : inflated
}
