import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, type Inflate, type InflateRaw, inflateRawSync } from 'node:zlib'

/** Looking into bytes without leaving them: every read beyond the end gives nothing. */

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Are these the characters at this place? */
export function hasBytesAt(bytes: Uint8Array, at: number, characters: string): boolean {
  if (at < 0 || at + characters.length > bytes.length) return false
  for (let index = 0; index < characters.length; index++) if (bytes[at + index] !== characters.charCodeAt(index)) return false
  return true
}

export type InflateResult =
  | { readonly ok: true; readonly size: number; readonly crc: number; readonly head: Uint8Array }
  | { readonly ok: false; readonly why: 'too_much' | 'damaged' }

class InflateLimitError extends Error {}

/** As much as is kept of what is counted: enough to tell what it is. */
const headBytes = 512

/** Unpacks without keeping, up to `most` bytes: what a bomb says of its own size does not matter. */
export async function measureInflated(inflate: Inflate | InflateRaw, packed: readonly Uint8Array[], most: number): Promise<InflateResult> {
  let size = 0
  let crc = 0
  const head: Uint8Array[] = []
  const given = packed.reduce((sum, { length }) => sum + length, 0)
  try {
    await pipeline(Readable.from(packed), inflate, async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        if (size < headBytes) head.push(chunk.subarray(0, headBytes - size))
        size += chunk.length
        if (size > most) throw new InflateLimitError()
        crc = crc32(chunk, crc)
      }
    })
  } catch (error) {
    return { ok: false, why: error instanceof InflateLimitError ? 'too_much' : 'damaged' }
  }
  if (inflate.bytesWritten !== given) return { ok: false, why: 'damaged' } // something hides behind the end
  return { ok: true, size, crc, head: Buffer.concat(head) }
}

/** The same for little, which is quicker at once than by and by; and kept. */
export function inflateSmall(packed: Uint8Array, most: number): Buffer | 'too_much' | 'damaged' {
  try {
    const { buffer, engine } = inflateRawSync(packed, { maxOutputLength: Math.max(1, most), info: true }) as unknown as {
      readonly buffer: Buffer
      readonly engine: InflateRaw
    } // what `info` gives, which its types do not say
    return engine.bytesWritten === packed.length ? buffer : 'damaged'
  } catch (error) {
    return error instanceof RangeError ? 'too_much' : 'damaged'
  }
}
