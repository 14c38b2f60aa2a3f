import { hasBytesAt, viewOf } from '../bytes.ts'
import { damagedImage, type ImageSize, tooManyFrames, tooManyPixels, trailingData, truncatedImage } from './images.ts'
import type { AttachmentLimits, Refusal } from './upload.ts'

const damagedWebp = damagedImage('WebP')

/** Chunk after chunk; together they are as long as the file says it is, and the file is no longer. */
export function checkWebp(bytes: Uint8Array, limits: AttachmentLimits): ImageSize | Refusal {
  if (bytes.length < 20) return truncatedImage
  const view = viewOf(bytes)
  const length = 8 + view.getUint32(4, true)
  if (length > bytes.length) return truncatedImage
  if (length < bytes.length) return trailingData
  let canvas: ImageSize | undefined
  let picture: ImageSize | undefined
  let frames = 0
  for (let at = 12; at < length; ) {
    if (at + 8 > length) return damagedWebp
    const end = at + 8 + view.getUint32(at + 4, true)
    if (end > length) return truncatedImage
    const body = bytes.subarray(at + 8, end)
    if (hasBytesAt(bytes, at, 'VP8X')) canvas = canvasSize(body)
    else if (hasBytesAt(bytes, at, 'VP8 ')) picture ??= lossySize(body)
    else if (hasBytesAt(bytes, at, 'VP8L')) picture ??= losslessSize(body)
    else if (hasBytesAt(bytes, at, 'ANMF')) frames += 1
    at = end + (end % 2)
  }
  const size = canvas ?? picture
  if (!size || (!picture && frames === 0)) return damagedWebp
  if (picture && (picture.width > size.width || picture.height > size.height)) return damagedWebp
  if (frames > limits.frames) return tooManyFrames(limits.frames)
  return size.width * size.height > limits.pixels ? tooManyPixels(size) : size
}

function canvasSize(body: Uint8Array): ImageSize | undefined {
  if (body.length < 10) return undefined
  const view = viewOf(body)
  return { width: (view.getUint32(3, true) >>> 8) + 1, height: (view.getUint32(6, true) >>> 8) + 1 }
}

function lossySize(body: Uint8Array): ImageSize | undefined {
  if (body.length < 10 || body[3] !== 0x9d || body[4] !== 0x01 || body[5] !== 0x2a) return undefined
  const view = viewOf(body)
  const size = { width: view.getUint16(6, true) & 0x3fff, height: view.getUint16(8, true) & 0x3fff }
  return size.width > 0 && size.height > 0 ? size : undefined
}

function losslessSize(body: Uint8Array): ImageSize | undefined {
  if (body.length < 5 || body[0] !== 0x2f) return undefined
  const bits = viewOf(body).getUint32(1, true)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}
