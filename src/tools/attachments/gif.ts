import { viewOf } from '../bytes.ts'
import { damagedImage, type ImageSize, tooManyFrames, tooManyPixels, trailingData, truncatedImage } from './images.ts'
import type { AttachmentLimits, Refusal } from './upload.ts'

const damagedGif = damagedImage('GIF')

const [extension, image, trailer] = [0x21, 0x2c, 0x3b]

/** Block after block to the trailer, which ends the file. */
export function checkGif(bytes: Uint8Array, limits: AttachmentLimits): ImageSize | Refusal {
  if (bytes.length < 13) return truncatedImage
  const view = viewOf(bytes)
  const size: ImageSize = { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (size.width === 0 || size.height === 0) return damagedGif
  if (size.width * size.height > limits.pixels) return tooManyPixels(size)
  let frames = 0
  for (let at = 13 + colourTableSize(bytes[10] ?? 0); ; ) {
    const kind = bytes[at]
    if (kind === undefined) return truncatedImage
    if (kind === trailer) {
      if (at + 1 !== bytes.length) return trailingData
      return frames > 0 ? size : damagedGif
    }
    if (kind === extension) at += 2
    else if (kind === image) {
      frames += 1
      if (frames > limits.frames) return tooManyFrames(limits.frames)
      if (at + 11 > bytes.length) return truncatedImage
      const codeSize = bytes[at + 10 + colourTableSize(bytes[at + 9] ?? 0)] ?? 0
      if (codeSize < 2 || codeSize > 8) return damagedGif
      at += 11 + colourTableSize(bytes[at + 9] ?? 0)
    } else return damagedGif
    for (;;) {
      const length = bytes[at]
      if (length === undefined) return truncatedImage
      at += 1 + length
      if (length === 0) break
    }
  }
}

/** Bytes of the colour table that these flags announce. */
const colourTableSize = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1))
