import { hasBytesAt, measureInflated, viewOf, zlib } from '../bytes.ts'

import { type AttachmentLimits, type Refusal, refusal } from './upload.ts'

/** The size in pixels that the header of an image declares. */
export interface ImageSize {
  readonly width: number
  readonly height: number
}

const truncatedImage = refusal('damaged', 'is cut off: the file ends before the picture does. Send it again')
const trailingData = refusal('polyglot', 'contains more than a picture: data follows its end')

const damagedImage = (kind: string): Refusal =>
  refusal('damaged', `is damaged: it is not a complete ${kind} picture. Save it again and send that`)

const tooManyFrames = (limit: number): Refusal => refusal('too_much_inside', `has more than ${limit} frames. Send a shorter one`)

const tooManyPixels = ({ width, height }: ImageSize): Refusal =>
  refusal('too_much_inside', `is a picture of ${width} × ${height} pixels, which is more than can be shown. Make it smaller`)

const damagedPng = damagedImage('PNG')

interface PngHeader extends ImageSize {
  readonly bitsPerPixel: number
  readonly interlaced: boolean
}

/** Checks a PNG. Every chunk must have the right checksum, the pixel data must be complete, and no data may follow after the end. */
async function checkPng(bytes: Uint8Array, limits: AttachmentLimits): Promise<ImageSize | Refusal> {
  const view = viewOf(bytes)
  const packed: Uint8Array[] = []
  let header: PngHeader | undefined
  for (let at = 8; ; ) {
    if (at + 12 > bytes.length) return truncatedImage
    const length = view.getUint32(at)
    const end = at + 12 + length
    if (end > bytes.length) return truncatedImage
    if (view.getUint32(end - 4) !== zlib().crc32(bytes.subarray(at + 4, end - 4))) return damagedPng
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

/** For each PNG colour type, the number of samples per pixel and the allowed bit depths. */
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
  const colourType = colourTypes.get(colour)
  if (!colourType?.depths.includes(depth) || compression !== 0 || filter !== 0 || interlace > 1) return undefined
  if (width === 0 || height === 0) return undefined
  return { width, height, bitsPerPixel: colourType.count * depth, interlaced: interlace === 1 }
}

/** The first column, first row, column step and row step of each pass of an interlaced PNG. */
const interlacePasses = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

/** The size in bytes of the inflated pixel data. Each row begins with one byte for its filter. */
function pixelDataSize({ width, height, bitsPerPixel, interlaced }: PngHeader): number {
  const rows = (columns: number, lines: number) => (columns === 0 ? 0 : lines * (1 + Math.ceil((columns * bitsPerPixel) / 8)))
  if (!interlaced) return rows(width, height)
  return interlacePasses.reduce(
    (sum, [x, y, across, down]) => sum + rows(Math.max(0, Math.ceil((width - x) / across)), Math.max(0, Math.ceil((height - y) / down))),
    0,
  )
}

async function inflatesTo(packed: readonly Uint8Array[], size: number): Promise<boolean> {
  const inflated = await measureInflated(zlib().createInflate(), packed, size)
  return inflated.ok && inflated.size === size
}

const damagedJpeg = damagedImage('JPEG')

const startOfScan = 0xda
const endOfImage = 0xd9

/** Checks a JPEG, segment by segment, up to the end of the image. Data after the end is allowed, because cameras append previews. */
function checkJpeg(bytes: Uint8Array, limits: AttachmentLimits): ImageSize | Refusal {
  const view = viewOf(bytes)
  let size: ImageSize | undefined
  let scanned = false
  for (let at = 2; ; ) {
    if (at + 2 > bytes.length) return truncatedImage
    if (bytes[at] !== 0xff) return damagedJpeg
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at += 1 // several 0xFF bytes may come before a marker
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

/** Whether a marker begins the segment that declares the size and coding of the image. */
const isStartOfFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

/** The index of the marker that ends the scan data. Inside the data, 0 or a restart marker follows after each 0xFF. */
function endOfScan(bytes: Uint8Array, start: number): number {
  for (let at = bytes.indexOf(0xff, start); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1]
    if (next !== undefined && next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at
  }
  return bytes.length
}

const damagedGif = damagedImage('GIF')

const [gifExtension, gifImage, gifTrailer] = [0x21, 0x2c, 0x3b]

/** Checks a GIF, block by block, up to the trailer. The trailer must be the last byte of the file. */
function checkGif(bytes: Uint8Array, limits: AttachmentLimits): ImageSize | Refusal {
  if (bytes.length < 13) return truncatedImage
  const view = viewOf(bytes)
  const size: ImageSize = { width: view.getUint16(6, true), height: view.getUint16(8, true) }
  if (size.width === 0 || size.height === 0) return damagedGif
  if (size.width * size.height > limits.pixels) return tooManyPixels(size)
  let frames = 0
  for (let at = 13 + colourTableSize(bytes[10] ?? 0); ; ) {
    const kind = bytes[at]
    if (kind === undefined) return truncatedImage
    if (kind === gifTrailer) {
      if (at + 1 !== bytes.length) return trailingData
      return frames > 0 ? size : damagedGif
    }
    if (kind === gifExtension) at += 2
    else if (kind === gifImage) {
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

/** The size in bytes of the colour table that the flags declare. */
const colourTableSize = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1))

const damagedWebp = damagedImage('WebP')

/** Checks a WebP, chunk by chunk. The chunks must fill the file exactly. */
function checkWebp(bytes: Uint8Array, limits: AttachmentLimits): ImageSize | Refusal {
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

/** Checks an image of each format, and returns its size. */
export const imageChecks = { png: checkPng, jpeg: checkJpeg, gif: checkGif, webp: checkWebp }
