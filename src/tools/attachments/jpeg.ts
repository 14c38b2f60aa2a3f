import { type Size, viewOf } from './bytes.ts'
import { tooLarge } from './png.ts'
import { type AttachmentLimits, type Refusal, refused } from './upload.ts'

const cut = refused('damaged', 'is cut off: the file ends before the picture does. Send it again')
const broken = refused('damaged', 'is damaged: it is not a whole JPEG picture. Save it again and send that')

const startOfScan = 0xda
const endOfImage = 0xd9

/** Segment after segment to the end of the image. What cameras put behind it is not looked at here. */
export function checkJpeg(bytes: Uint8Array, limits: AttachmentLimits): Size | Refusal {
  const view = viewOf(bytes)
  let size: Size | undefined
  let scanned = false
  for (let at = 2; ; ) {
    if (at + 2 > bytes.length) return cut
    if (bytes[at] !== 0xff) return broken
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1 // filled up
      continue
    }
    if (marker === endOfImage) return size && scanned ? size : broken
    if (at + 4 > bytes.length) return cut
    const length = view.getUint16(at + 2)
    if (length < 2 || marker === 0 || marker === 0xd8) return broken
    if (at + 2 + length > bytes.length) return cut
    if (isFrame(marker)) {
      if (size !== undefined || length < 8) return broken
      size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) }
      if (size.width === 0 || size.height === 0) return broken
      if (size.width * size.height > limits.pixels) return tooLarge(size)
    }
    at += 2 + length
    if (marker !== startOfScan) continue
    if (size === undefined) return broken
    scanned = true
    at = endOfScan(bytes, at)
  }
}

/** Start of frame: how large the picture is, and how it is coded. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

/** In coded data 0xFF is followed by 0, or by the number of a restart. */
function endOfScan(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(0xff, start); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1]
    if (next !== undefined && next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at
  }
  return bytes.length
}
