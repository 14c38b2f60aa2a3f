import { crc32, createInflateRaw } from 'node:zlib'
import { says } from './bytes.ts'
import { countInflated, type Inflated, inflateLittle } from './inflate.ts'
import { type AttachmentLimits, type Refusal, refused } from './upload.ts'
import type { ZipEntry } from './zip-directory.ts'

const damaged = refused('damaged', 'is damaged: what is in it is not what it says. Save it again and send that')
const bomb = refused('too_much_inside', 'unpacks to far more than its size, and is not opened')
const nested = refused('archive', 'has an archive in it, and archives are not opened. Send the files themselves')

/** Below it a ratio says nothing: a short file of blanks is no bomb. */
const harmlessSize = 1024 * 1024

/** Everything is unpacked once, to nowhere: sizes that an archive declares prove nothing. Undefined when all is well. */
export async function checkContents(entries: readonly ZipEntry[], limits: AttachmentLimits): Promise<Refusal | undefined> {
  if (entries.some(({ name }) => archiveName.test(name))) return nested
  const declared = entries.reduce((sum, { size }) => sum + size, 0)
  if (declared > limits.zipBytes) return bomb
  let left = limits.zipBytes
  let packed = 0
  for (const entry of entries) {
    const found = await unpack(entry, Math.min(left, entry.size))
    if (!found.ok) return found.why === 'too_much' ? bomb : damaged
    if (found.size !== entry.size || found.crc !== entry.crc) return damaged
    if (found.size > harmlessSize && found.size > limits.zipRatio * entry.packed.length) return bomb
    if (isArchive(found.head)) return nested
    left -= found.size
    packed += entry.packed.length
  }
  const size = limits.zipBytes - left
  return size > harmlessSize && size > limits.zipRatio * packed ? bomb : undefined
}

/** The text of one file of an archive; undefined when it is not there, damaged, or long. */
export function textOf(entries: readonly ZipEntry[], name: string): string | undefined {
  const entry = entries.find((each) => each.name === name)
  if (!entry || entry.size > little) return undefined
  if (entry.method === 0) return Buffer.from(entry.packed).toString('utf8')
  const text = inflateLittle(entry.packed, entry.size)
  return typeof text === 'string' ? undefined : text.toString('utf8')
}

/** No event loop notices this much. */
const little = 512 * 1024

async function unpack({ method, packed }: ZipEntry, most: number): Promise<Inflated> {
  if (method === 0) return packed.length > most ? { ok: false, why: 'too_much' } : unpacked(packed)
  if (most > little) return countInflated(createInflateRaw(), [packed], most)
  const found = inflateLittle(packed, most)
  return typeof found === 'string' ? { ok: false, why: found } : unpacked(found)
}

const unpacked = (bytes: Uint8Array): Inflated => ({ ok: true, size: bytes.length, crc: crc32(bytes), head: bytes.subarray(0, 512) })

const archiveName = /\.(?:zip|jar|war|apk|rar|7z|gz|tgz|bz2|xz|zst|tar|cab|iso|docx|xlsx|pptx|docm|xlsm|pptm|odt|ods|odp|epub)$/i

const signatures = [
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

const isArchive = (head: Uint8Array): boolean => signatures.some((signature) => says(head, 0, signature)) || says(head, 257, 'ustar')
