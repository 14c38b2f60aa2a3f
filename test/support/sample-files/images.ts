import { crc32, deflateSync } from 'node:zlib'

// Functions that create small valid images.

export interface PngOptions {
  readonly width?: number
  readonly height?: number
  readonly interlaced?: boolean
  /** Chunks that are added before the end of the image. */
  readonly extra?: readonly Uint8Array[]
}

export function png({ width = 2, height = 2, interlaced = false, extra = [] }: PngOptions = {}): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, interlaced ? 1 : 0], 8) // eight bits per pixel, grey
  const pixels = deflateSync(Buffer.alloc(interlaced ? interlacedSize(width, height) : height * (width + 1)))
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header), chunk('IDAT', pixels), ...extra, chunk('IEND')])
}

/** The size of the pixel data of an interlaced image: the rows of each Adam7 pass, with one filter byte per row. */
function interlacedSize(width: number, height: number): number {
  const pattern = ['16462646', '77777777', '56565656', '77777777', '36463646', '77777777', '56565656', '77777777']
  let size = 0
  for (let pass = 1; pass <= 7; pass++) {
    for (let y = 0; y < height; y++) {
      let inRow = 0
      for (let x = 0; x < width; x++) if (pattern[y % 8]?.[x % 8] === String(pass)) inRow += 1
      if (inRow > 0) size += 1 + inRow
    }
  }
  return size
}

export function chunk(type: string, body: Uint8Array = Buffer.alloc(0)): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), body])
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(body.length)
  crc.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, crc])
}

/** A JPEG with one grey block of eight by eight pixels. If `width` or `height` is larger, only the header says so. */
export function jpeg({ width = 8, height = 8, comment = '' }: { width?: number; height?: number; comment?: string } = {}): Buffer {
  const size = [height >> 8, height & 255, width >> 8, width & 255]
  const oneCode = (id: number) => segment(0xc4, [id, 1, ...new Array(15).fill(0), 0])
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, [...Buffer.from('JFIF\0'), 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    ...(comment === '' ? [] : [segment(0xfe, [...Buffer.from(comment)])]),
    segment(0xdb, [0, ...new Array(64).fill(1)]),
    segment(0xc0, [8, ...size, 1, 1, 0x11, 0]),
    oneCode(0x00),
    oneCode(0x10),
    segment(0xda, [1, 1, 0, 0, 63, 0]),
    Buffer.from([0x3f, 0xff, 0xd9]),
  ])
}

function segment(marker: number, body: readonly number[]): Buffer {
  const length = body.length + 2
  return Buffer.from([0xff, marker, length >> 8, length & 255, ...body])
}

/** A GIF with one pixel per frame, on a screen of the given size. */
export function gif({ width = 1, height = 1, frames = 1, comment = '' } = {}): Buffer {
  const screen = Buffer.from([width & 255, width >> 8, height & 255, height >> 8, 0x80, 0, 0, 0, 0, 0, 255, 255, 255])
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 0x01, 0])
  const said = comment === '' ? Buffer.alloc(0) : Buffer.from([0x21, 0xfe, comment.length, ...Buffer.from(comment), 0])
  return Buffer.concat([Buffer.from('GIF89a'), screen, said, ...new Array(frames).fill(frame), Buffer.from([0x3b])])
}

/** A lossless WebP with one colour. Each colour channel has a code with one symbol, so pixels take no bits. */
export function webp({ width = 3, height = 5, extended = false } = {}): Buffer {
  const lossless = Buffer.alloc(8)
  lossless[0] = 0x2f
  lossless.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 1)
  lossless.set([0b10001000, 0b10001000, 0b00001000], 5)
  const canvas = Buffer.alloc(10)
  canvas.writeUIntLE(width - 1, 4, 3)
  canvas.writeUIntLE(height - 1, 7, 3)
  const chunks = [...(extended ? [riff('VP8X', canvas)] : []), riff('VP8L', lossless)]
  return riff('RIFF', Buffer.concat([Buffer.from('WEBP'), ...chunks]))
}

export function riff(type: string, body: Uint8Array): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(body.length)
  return Buffer.concat([Buffer.from(type), length, body, Buffer.alloc(body.length % 2)])
}
