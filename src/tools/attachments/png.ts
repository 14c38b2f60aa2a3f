import { crc32, createInflate } from 'node:zlib'
import { hasBytesAt, viewOf } from '../bytes.ts'
import { damagedImage, type ImageSize, tooManyPixels, trailingData, truncatedImage } from './images.ts'
import { measureInflated } from './inflate.ts'
import type { AttachmentLimits, Refusal } from './upload.ts'

const damagedPng = damagedImage('PNG')

interface PngHeader extends ImageSize {
  readonly bitsPerPixel: number
  readonly interlaced: boolean
}

/** Every chunk is in its place and unharmed, the pixels are all there, and nothing follows them. */
export async function checkPng(bytes: Uint8Array, limits: AttachmentLimits): Promise<ImageSize | Refusal> {
  const view = viewOf(bytes)
  const packed: Uint8Array[] = []
  let header: PngHeader | undefined
  for (let at = 8; ; ) {
    if (at + 12 > bytes.length) return truncatedImage
    const length = view.getUint32(at)
    const end = at + 12 + length
    if (end > bytes.length) return truncatedImage
    if (view.getUint32(end - 4) !== crc32(bytes.subarray(at + 4, end - 4))) return damagedPng
    const body = bytes.subarray(at + 8, end - 4)
    if ((header === undefined) !== hasBytesAt(bytes, at + 4, 'IHDR')) return damagedPng
    if (header === undefined) {
      header = parsePngHeader(body)
      if (header === undefined) return damagedPng
      if (header.width * header.height > limits.pixels) return tooManyPixels(header)
    } else if (hasBytesAt(bytes, at + 4, 'IDAT')) packed.push(body)
    else if (hasBytesAt(bytes, at + 4, 'IEND')) {
      if (end !== bytes.length) return trailingData
      return (await inflatesTo(packed, pixelDataSize(header))) ? { width: header.width, height: header.height } : damagedPng
    }
    at = end
  }
}

const colourTypes: ReadonlyMap<number, { readonly count: number; readonly depths: readonly number[] }> = new Map([
  [0, { count: 1, depths: [1, 2, 4, 8, 16] }],
  [2, { count: 3, depths: [8, 16] }],
  [3, { count: 1, depths: [1, 2, 4, 8] }],
  [4, { count: 2, depths: [8, 16] }],
  [6, { count: 4, depths: [8, 16] }],
])

function parsePngHeader(body: Uint8Array): PngHeader | undefined {
  if (body.length !== 13) return undefined
  const view = viewOf(body)
  const [width, height] = [view.getUint32(0), view.getUint32(4)]
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = body.subarray(8)
  const sample = colourTypes.get(colour)
  if (!sample?.depths.includes(depth) || compression !== 0 || filter !== 0 || interlace > 1) return undefined
  if (width === 0 || height === 0) return undefined
  return { width, height, bitsPerPixel: sample.count * depth, interlaced: interlace === 1 }
}

/** First column and row of each pass of an interlaced picture, and how far apart its pixels are. */
const interlacePasses = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** Each row has a byte before it that says how it is filtered. */
function pixelDataSize({ width, height, bitsPerPixel, interlaced }: PngHeader): number {
  const rows = (columns: number, lines: number) => (columns === 0 ? 0 : lines * (1 + Math.ceil((columns * bitsPerPixel) / 8)))
  if (!interlaced) return rows(width, height)
  return interlacePasses.reduce(
    (sum, [x, y, across, down]) => sum + rows(Math.max(0, Math.ceil((width - x) / across)), Math.max(0, Math.ceil((height - y) / down))),
    0,
  )
}

async function inflatesTo(packed: readonly Uint8Array[], size: number): Promise<boolean> {
  const unpacked = await measureInflated(createInflate(), packed, size)
  return unpacked.ok && unpacked.size === size
}
