import { viewOf } from '../bytes.ts'
import { damagedImage, type ImageSize, tooManyPixels, truncatedImage } from './images.ts'
import type { AttachmentLimits, Refusal } from './upload.ts'

const damagedJpeg = damagedImage('JPEG')

const startOfScan = 0xda
const endOfImage = 0xd9

/** Segment after segment to the end of the image. What cameras put behind it is not looked at here. */
export function checkJpeg(bytes: Uint8Array, limits: AttachmentLimits): ImageSize | Refusal {
  const view = viewOf(bytes)
  let size: ImageSize | undefined
  let scanned = false
  for (let at = 2; ; ) {
    if (at + 2 > bytes.length) return truncatedImage
    if (bytes[at] !== 0xff) return damagedJpeg
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1 // filled up
      continue
    }
    if (marker === endOfImage) return size && scanned ? size : damagedJpeg
    if (at + 4 > bytes.length) return truncatedImage
    const length = view.getUint16(at + 2)
    if (length < 2 || marker === 0 || marker === 0xd8) return damagedJpeg
    if (at + 2 + length > bytes.length) return truncatedImage
    if (isStartOfFrame(marker)) {
      if (size !== undefined || length < 8) return damagedJpeg
      size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
      if (size.width === 0 || size.height === 0) return damagedJpeg
      if (size.width * size.height > limits.pixels) return tooManyPixels(size)
    }
    at += 2 + length
    if (marker !== startOfScan) continue
    if (size === undefined) return damagedJpeg
    scanned = true
    at = endOfScan(bytes, at)
  }
}

/** Start of frame: how large the picture is, and how it is coded. */
const isStartOfFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

/** In coded data 0xFF is followed by 0, or by the number of a restart. */
function endOfScan(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(0xff, start); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1]
    if (next !== undefined && next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at
  }
  return bytes.length
}
