import { type Size, viewOf } from './bytes.ts'
import { tooLarge } from './png.ts'
import { type AttachmentLimits, type Refusal, refused } from './upload.ts'

const cut = refused('damaged', 'is cut off: the file ends before the picture does. Send it again')
const broken = refused('damaged', 'is damaged: it is not a whole GIF picture. Save it again and send that')

const [extension, image, trailer] = [0x21, 0x2c, 0x3b]

/** Block after block to the trailer, which ends the file. */
export function checkGif(bytes: Uint8Array, limits: AttachmentLimits): Size | Refusal {
  if (bytes.length < 13) return cut
  const view = viewOf(bytes)
  const size: Size = { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (size.width === 0 || size.height === 0) return broken
  if (size.width * size.height > limits.pixels) return tooLarge(size)
  let frames = 0
  for (let at = 13 + colours(bytes[10] ?? 0); ; ) {
    const kind = bytes[at]
    if (kind === undefined) return cut
    if (kind === trailer) {
      if (at + 1 !== bytes.length) return refused('polyglot', 'has more in it than a picture: something follows its end')
      return frames > 0 ? size : broken
    }
    if (kind === extension) at += 2
    else if (kind === image) {
      frames += 1
      if (frames > limits.frames) return refused('too_much_inside', `has more than ${limits.frames} frames. Send a shorter one`)
      if (at + 11 > bytes.length) return cut
      const codeSize = bytes[at + 10 + colours(bytes[at + 9] ?? 0)] ?? 0
      if (codeSize < 2 || codeSize > 8) return broken
      at += 11 + colours(bytes[at + 9] ?? 0)
    } else return broken
    for (;;) {
      const length = bytes[at]
      if (length === undefined) return cut
      at += 1 + length
      if (length === 0) break
    }
  }
}

/** Bytes of the colour table that these flags announce. */
const colours = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1))
