import type { Block } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import type { BinaryPart, Part } from '../render/types.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { TokenCounter } from './tokens.ts'

/** The raw estimate, never calibrated. Each block and each part is counted once in its life: neither ever changes. */
export interface Estimator {
  readonly text: TokenCounter
  /** What the block holds, whether it is hidden or not. */
  readonly content: (block: Block) => number
  /** What the model reads. */
  readonly parts: (parts: readonly Part[]) => number
  /** Whether the text has at least so many tokens; a text too short for that is not counted. */
  readonly reaches: (text: string, tokens: number) => boolean
}

export function createEstimator(count: TokenCounter): Estimator {
  const part = oncePerBlock((shown: Part) => (shown.type === 'text' ? count(shown.text) : partTokens(shown)))
  const content = oncePerBlock((block: Block) => contentTokens(block, count))
  return {
    text: count,
    content,
    parts: (parts) => parts.reduce((sum, each) => sum + part(each), 0),
    reaches: (text, tokens) => tokenUpperBound(text) >= tokens && count(text) >= tokens,
  }
}

/** What a block holds, for whoever counts it only once: remembering it would cost more. */
export function contentTokens(block: Block, count: TokenCounter): number {
  const picture = binaryContentOf(block)
  return (block.text ? count(block.text) : 0) + (picture ? binaryTokens(picture) : 0)
}

/** Every token holds at least one byte, and UTF-8 makes at most three bytes of one UTF-16 unit. */
export const tokenUpperBound = (text: string): number => text.length * 3

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

const LOWEST = 0.8
const HIGHEST = 1.5

/**
 * How far off the tokenizer was in the previous call: what the provider billed over what we had estimated. Only the trigger of a
 * compaction is scaled by it; hiding and caps use the raw estimate, so that what they do can be repeated.
 */
export function calibrationOf({ lastResponse }: Pick<Timeline, 'lastResponse'>): number {
  const { usage, prompt } = lastResponse ?? {}
  if (!usage || !prompt?.estimated_tokens) return 1
  return calibrate(usage.uncached + usage.cache_read + usage.cache_write, prompt.estimated_tokens)
}

export function calibrate(reported: number, estimated: number): number {
  const ratio = reported / estimated
  return reported > 0 && Number.isFinite(ratio) ? Math.min(HIGHEST, Math.max(LOWEST, ratio)) : 1
}
