import { inflateRawSync } from 'node:zlib'

export interface ZipEntry {
  readonly name: string
  /** What the directory says it unpacks to. */
  readonly size: number
  /** Undefined when it is damaged, encrypted, packed in another way or larger than asked for. */
  read(maxBytes: number): Buffer | undefined
}

const endMark = 0x06054b50
const entryMark = 0x02014b50
const localMark = 0x04034b50
const endSize = 22
const longestComment = 65_535

/** The entries that an archive's central directory names; undefined when it has none that can be read. Nothing is unpacked. */
export function zipEntries(bytes: Uint8Array): readonly ZipEntry[] | undefined {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = findEnd(archive)
  if (end === undefined) return undefined
  const count = archive.readUInt16LE(end + 10)
  const entries: ZipEntry[] = []
  let at = archive.readUInt32LE(end + 16)
  for (let n = 0; n < count; n++) {
    if (at + 46 > archive.length || archive.readUInt32LE(at) !== entryMark) return undefined
    const nameLength = archive.readUInt16LE(at + 28)
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength)
    const header = at
    entries.push({ name, size: archive.readUInt32LE(at + 24), read: (maxBytes) => readEntry(archive, header, maxBytes) })
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  return entries
}

function findEnd(archive: Buffer): number | undefined {
  const lowest = Math.max(0, archive.length - endSize - longestComment)
  for (let at = archive.length - endSize; at >= lowest; at--) if (archive.readUInt32LE(at) === endMark) return at
  return undefined
}

function readEntry(archive: Buffer, header: number, maxBytes: number): Buffer | undefined {
  const [method, packed, local] = [archive.readUInt16LE(header + 10), archive.readUInt32LE(header + 20), archive.readUInt32LE(header + 42)]
  if (local + 30 > archive.length || archive.readUInt32LE(local) !== localMark) return undefined
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
  const data = archive.subarray(start, start + packed)
  if (method === 0) return data.length <= maxBytes ? data : undefined
  if (method !== 8) return undefined
  try {
    return inflateRawSync(data, { maxOutputLength: maxBytes })
  } catch {
    return undefined // damaged, or larger than anyone should unpack
  }
}
