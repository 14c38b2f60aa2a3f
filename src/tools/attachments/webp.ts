import { type Size, says, viewOf } from './bytes.ts'
import { tooLarge } from './png.ts'
import { type AttachmentLimits, type Refusal, refused } from './upload.ts'

const cut = refused('damaged', 'is cut off: the file ends before the picture does. Send it again')
const broken = refused('damaged', 'is damaged: it is not a whole WebP picture. Save it again and send that')

/** Chunk after chunk; together they are as long as the file says it is, and the file is no longer. */
export function checkWebp(bytes: Uint8Array, limits: AttachmentLimits): Size | Refusal {
  if (bytes.length < 20) return cut
  const view = viewOf(bytes)
  const length = 8 + view.getUint32(4, true)
  if (length > bytes.length) return cut
  if (length < bytes.length) return refused('polyglot', 'has more in it than a picture: something follows its end')
  let canvas: Size | undefined
  let picture: Size | undefined
  let frames = 0
  for (let at = 12; at < length; ) {
    if (at + 8 > length) return broken
    const end = at + 8 + view.getUint32(at + 4, true)
    if (end > length) return cut
    const body = bytes.subarray(at + 8, end)
    if (says(bytes, at, 'VP8X')) canvas = canvasOf(body)
    else if (says(bytes, at, 'VP8 ')) picture ??= lossyOf(body)
    else if (says(bytes, at, 'VP8L')) picture ??= losslessOf(body)
    else if (says(bytes, at, 'ANMF')) frames += 1
    at = end + (end % 2)
  }
  const size = canvas ?? picture
  if (!size || (!picture && frames === 0)) return broken
  if (picture && (picture.width > size.width || picture.height > size.height)) return broken
  if (frames > limits.frames) return refused('too_much_inside', `has more than ${limits.frames} frames. Send a shorter one`)
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
