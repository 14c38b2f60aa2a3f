import type { Block } from '../block/block.ts'
import type { BinaryPart } from '../render/types.ts'

/** What is known of bytes that a model may be shown. */
export interface BinaryContent {
  readonly media_type: string
  readonly size: number
  readonly width?: number
  readonly height?: number
  readonly pages?: number
}

const TOKENS_PER_PAGE = 4100
const BYTES_PER_PAGE = 75_000
const MOST_PER_IMAGE = 1600
const PIXELS_PER_TOKEN = 750

/** What providers bill for an image or a PDF. Other bytes are never attached, so they cost nothing. */
export function binaryTokens(picture: BinaryContent): number {
  if (picture.media_type.startsWith('image/')) return imageTokens(picture)
  if (picture.media_type === 'application/pdf')
    return TOKENS_PER_PAGE * (picture.pages ?? Math.max(1, Math.ceil(picture.size / BYTES_PER_PAGE)))
  return 0
}

/** The same for what is shown. */
export const partTokens = ({ blob, ...about }: BinaryPart): number => binaryTokens({ ...about, size: blob.size })

function imageTokens({ width, height, size }: BinaryContent): number {
  if (width !== undefined && height !== undefined) {
    return Math.min(MOST_PER_IMAGE, Math.max(1, Math.ceil((width * height) / PIXELS_PER_TOKEN)))
  }
  return size < 200_000 ? 150 : size < 500_000 ? 400 : MOST_PER_IMAGE
}

/** The bytes a block stands for, whether they are still inline or already a reference; undefined when it has none. */
export function binaryContentOf(block: Block): BinaryContent | undefined {
  const size = block.blob?.size ?? (block.base64 === undefined ? undefined : Math.floor((block.base64.length * 3) / 4))
  if (size === undefined) return undefined
  const { width, height, page_count: pages } = block.meta ?? {}
  return {
    media_type: block.mime ?? 'application/octet-stream',
    size,
    ...(isCount(width) && { width }),
    ...(isCount(height) && { height }),
    ...(isCount(pages) && { pages }),
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0 // safe integers are numbers
