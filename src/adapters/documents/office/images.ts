import type { DocumentImage } from '../structure/document.ts'

/** An image for an office document, with its size in pixels. */
export interface OfficeImage {
  readonly type: 'png' | 'jpg' | 'gif' | 'svg'
  readonly bytes: Uint8Array
  readonly width: number
  readonly height: number
}

/** Reads the images of a document. Each image is read once. */
export interface ImageReader {
  /** Undefined when the file is missing or not an image that office programs show. */
  read(image: DocumentImage): Promise<OfficeImage | undefined>
  /** The addresses for which `read` gave undefined. */
  readonly missing: readonly string[]
}

export function createImageReader(readAsset: (path: string) => Promise<Uint8Array | undefined>): ImageReader {
  const known = new Map<string, Promise<OfficeImage | undefined>>()
  const missing = new Set<string>()
  async function load(address: string): Promise<OfficeImage | undefined> {
    const bytes = address.startsWith('data:')
      ? embeddedBytes(address)
      : /^[a-z][a-z0-9+.-]*:/i.test(address)
        ? undefined
        : await readAsset(address)
    const image = bytes && parseImage(bytes)
    if (!image) missing.add(address.slice(0, 200))
    return image
  }
  return {
    async read({ address, width, height }) {
      const loading = known.get(address) ?? load(address)
      known.set(address, loading)
      const image = await loading
      return image && { ...image, ...scaled(image, width, height) }
    },
    get missing() {
      return [...missing]
    },
  }
}

/**
 * Scales an image to the size that the document gives. If the document gives only one side, the other side is computed so that the
 * proportions stay.
 */
function scaled(image: OfficeImage, width: number | undefined, height: number | undefined) {
  if (width !== undefined) return { width, height: height ?? (image.height * width) / image.width }
  return height === undefined ? {} : { width: (image.width * height) / image.height, height }
}

function embeddedBytes(address: string): Uint8Array | undefined {
  const comma = address.indexOf(',')
  const head = address.slice(0, comma)
  if (comma === -1 || comma > 200) return undefined
  const data = address.slice(comma + 1)
  return head.endsWith(';base64') ? Buffer.from(data, 'base64') : Buffer.from(decodeSafely(data))
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // the text is not percent-encoded
  }
}

/** Reads the type and the size of an image from its first bytes. Undefined when office programs do not show such an image. */
export function parseImage(bytes: Uint8Array): OfficeImage | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const found = pngSize(buffer) ?? gifSize(buffer) ?? jpegSize(buffer) ?? svgSize(buffer)
  return found && found.width > 0 && found.height > 0 ? { ...found, bytes } : undefined
}

type Size = Omit<OfficeImage, 'bytes'>

function pngSize(buffer: Buffer): Size | undefined {
  if (buffer.length < 24 || buffer.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return undefined
  return { type: 'png', width: buffer.readUInt32BE(16), height: buffer.readUInt32BE(20) }
}

function gifSize(buffer: Buffer): Size | undefined {
  if (buffer.length < 10 || buffer.toString('latin1', 0, 4) !== 'GIF8') return undefined
  return { type: 'gif', width: buffer.readUInt16LE(6), height: buffer.readUInt16LE(8) }
}

/** The frame header of a JPEG has the size. The segments before it are skipped by their lengths. */
function jpegSize(buffer: Buffer): Size | undefined {
  if (buffer.length < 4 || buffer.readUInt16BE(0) !== 0xffd8) return undefined
  for (let at = 2; at + 9 < buffer.length; ) {
    if (buffer[at] !== 0xff) return undefined
    const marker = buffer[at + 1] as number // `at + 1` is inside of the buffer
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { type: 'jpg', width: buffer.readUInt16BE(at + 7), height: buffer.readUInt16BE(at + 5) }
    at += 2 + buffer.readUInt16BE(at + 2)
  }
  return undefined
}

function svgSize(buffer: Buffer): Size | undefined {
  const head = buffer.toString('utf8', 0, 4_000)
  const tag = /<svg\s[^<>]{0,3000}>/i.exec(head)?.[0]
  if (tag === undefined) return undefined
  const side = (pattern: RegExp) => Number(pattern.exec(tag)?.[1] ?? Number.NaN)
  const [, , boxWidth = Number.NaN, boxHeight = Number.NaN] =
    /\sviewBox=["']([\d\s.,+-]{0,99})["']/i
      .exec(tag)?.[1]
      ?.trim()
      .split(/[\s,]{1,9}/)
      .map(Number) ?? []
  const [width, height] = [
    side(/\swidth=["'](\d{1,5}(?:\.\d{1,5})?)(?:px)?["']/i) || boxWidth,
    side(/\sheight=["'](\d{1,5}(?:\.\d{1,5})?)(?:px)?["']/i) || boxHeight,
  ]
  return { type: 'svg', width: width > 0 ? width : 300, height: height > 0 ? height : 150 }
}
