import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Inflate, InflateRaw } from 'node:zlib'

/** The module `node:zlib`. It is loaded at its first use, because loading takes milliseconds and few agents need it. */
export const zlib = () => process.getBuiltinModule('node:zlib')

/** A `DataView` on the same memory, not a copy. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** A `Buffer` on the same memory, not a copy. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Decodes the beginning of a UTF-8 text: as many whole characters as fit into `maxBytes`. */
export function cutUtf8(bytes: Uint8Array, maxBytes: number): string {
  let end = Math.min(bytes.length, maxBytes)
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bufferOf(bytes.subarray(0, end)).toString('utf8')
}

/**
 * Whether the signature is at offset `at`. Each character of the signature is one byte. False when the bytes end before the signature does.
 */
export function hasBytesAt(bytes: Uint8Array, at: number, signature: string): boolean {
  if (at < 0 || at + signature.length > bytes.length) return false
  for (let index = 0; index < signature.length; index++) if (bytes[at + index] !== signature.charCodeAt(index)) return false
  return true
}

/** The size, checksum and first bytes of inflated data, or why it could not be inflated. */
export type InflateResult =
  | { readonly ok: true; readonly size: number; readonly crc: number; readonly head: Uint8Array }
  | { readonly ok: false; readonly reason: InflateProblem }

type InflateProblem = 'too_much' | 'damaged'

class InflateLimitError extends Error {}

const headBytes = 512

/**
 * Inflates data and returns its size, checksum and first bytes. Only the first bytes are kept in memory. Fails with `too_much` when there
 * are more than `maxBytes` bytes. The sizes that an archive declares are not used, because they may be false.
 */
export async function measureInflated(
  inflate: Inflate | InflateRaw,
  packed: readonly Uint8Array[],
  maxBytes: number,
): Promise<InflateResult> {
  let size = 0
  let crc = 0
  const head: Uint8Array[] = []
  const packedSize = packed.reduce((sum, { length }) => sum + length, 0)
  try {
    await pipeline(Readable.from(packed), inflate, async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        if (size < headBytes) head.push(chunk.subarray(0, headBytes - size))
        size += chunk.length
        if (size > maxBytes) throw new InflateLimitError()
        crc = zlib().crc32(chunk, crc)
      }
    })
  } catch (error) {
    return { ok: false, reason: error instanceof InflateLimitError ? 'too_much' : 'damaged' }
  }
  // There is more data after the end of the compressed stream.
  if (inflate.bytesWritten !== packedSize) return { ok: false, reason: 'damaged' }
  return { ok: true, size, crc, head: Buffer.concat(head) }
}

export const measureBytes = (bytes: Uint8Array): InflateResult => ({
  ok: true,
  size: bytes.length,
  crc: zlib().crc32(bytes),
  head: bytes.subarray(0, headBytes),
})

/** Inflates raw deflate data. It blocks the event loop, so use it only for small data. */
export function inflateSmall(packed: Uint8Array, maxBytes: number): Buffer | InflateProblem {
  try {
    const { buffer, engine } = zlib().inflateRawSync(packed, { maxOutputLength: Math.max(1, maxBytes), info: true }) as unknown as {
      readonly buffer: Buffer
      readonly engine: InflateRaw
    } // the types of node:zlib lack the result of the option `info`
    return engine.bytesWritten === packed.length ? buffer : 'damaged'
  } catch (error) {
    return error instanceof RangeError ? 'too_much' : 'damaged'
  }
}
