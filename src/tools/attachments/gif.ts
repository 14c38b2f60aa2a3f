import { viewOf } from './bytes.ts'
import { broken, cutOff, hasTail, type Size, tooLarge, tooManyFrames } from './picture.ts'
import type { AttachmentLimits, Refusal } from './upload.ts'

const damaged = broken('GIF')

const [extension, image, trailer] = [0x21, 0x2c, 0x3b]

/** Block after block to the trailer, which ends the file. */
export function checkGif(bytes: Uint8Array, limits: AttachmentLimits): Size | Refusal {
  if (bytes.length < 13) return cutOff
  const view = viewOf(bytes)
  const size: Size = { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (size.width === 0 || size.height === 0) return damaged
  if (size.width * size.height > limits.pixels) return tooLarge(size)
  let frames = 0
  for (let at = 13 + colours(bytes[10] ?? 0); ; ) {
    const kind = bytes[at]
    if (kind === undefined) return cutOff
    if (kind === trailer) {
      if (at + 1 !== bytes.length) return hasTail
      return frames > 0 ? size : damaged
    }
    if (kind === extension) at += 2
    else if (kind === image) {
      frames += 1
      if (frames > limits.frames) return tooManyFrames(limits.frames)
      if (at + 11 > bytes.length) return cutOff
      const codeSize = bytes[at + 10 + colours(bytes[at + 9] ?? 0)] ?? 0
      if (codeSize < 2 || codeSize > 8) return damaged
      at += 11 + colours(bytes[at + 9] ?? 0)
    } else return damaged
    for (;;) {
      const length = bytes[at]
      if (length === undefined) return cutOff
      at += 1 + length
      if (length === 0) break
    }
  }
}

/** Bytes of the colour table that these flags announce. */
const colours = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1))
