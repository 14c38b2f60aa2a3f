import { says, viewOf } from './bytes.ts'
import { broken, cutOff, hasTail, type Size, tooLarge, tooManyFrames } from './picture.ts'
import type { AttachmentLimits, Refusal } from './upload.ts'

const damaged = broken('WebP')

/** Chunk after chunk; together they are as long as the file says it is, and the file is no longer. */
export function checkWebp(bytes: Uint8Array, limits: AttachmentLimits): Size | Refusal {
  if (bytes.length < 20) return cutOff
  const view = viewOf(bytes)
  const length = 8 + view.getUint32(4, true)
  if (length > bytes.length) return cutOff
  if (length < bytes.length) return hasTail
  let canvas: Size | undefined
  let picture: Size | undefined
  let frames = 0
  for (let at = 12; at < length; ) {
    if (at + 8 > length) return damaged
    const end = at + 8 + view.getUint32(at + 4, true)
    if (end > length) return cutOff
    const body = bytes.subarray(at + 8, end)
    if (says(bytes, at, 'VP8X')) canvas = canvasOf(body)
    else if (says(bytes, at, 'VP8 ')) picture ??= lossyOf(body)
    else if (says(bytes, at, 'VP8L')) picture ??= losslessOf(body)
    else if (says(bytes, at, 'ANMF')) frames += 1
    at = end + (end % 2)
  }
  const size = canvas ?? picture
  if (!size || (!picture && frames === 0)) return damaged
  if (picture && (picture.width > size.width || picture.height > size.height)) return damaged
  if (frames > limits.frames) return tooManyFrames(limits.frames)
  return size.width * size.height > limits.pixels ? tooLarge(size) : size
}

function canvasOf(body: Uint8Array): Size | undefined {
  if (body.length < 10) return undefined
  const view = viewOf(body)
  return { width: (view.getUint32(3, true) >>> 8) + 1, height: (view.getUint32(6, true) >>> 8) + 1 }
}

function lossyOf(body: Uint8Array): Size | undefined {
  if (body.length < 10 || body[3] !== 0x9d || body[4] !== 0x01 || body[5] !== 0x2a) return undefined
  const view = viewOf(body)
  const size = { width: view.getUint16(6, true) & 0x3fff, height: view.getUint16(8, true) & 0x3fff }
  return size.width > 0 && size.height > 0 ? size : undefined
}

function losslessOf(body: Uint8Array): Size | undefined {
  if (body.length < 5 || body[0] !== 0x2f) return undefined
  const bits = viewOf(body).getUint32(1, true)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}
