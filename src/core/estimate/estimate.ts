import type { Block } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import type { BinaryPart, Part, ShownBlock, Slice } from '../render/types.ts'
import type { BlockBuffer, Timeline } from '../timeline/timeline.ts'
import type { TokenCounter } from './tokens.ts'

/** Estimates tokens, without calibration. It remembers the tokens of each block and part, which never change. */
export interface Estimator {
  readonly text: TokenCounter
  /** Tokens of the whole content of a block, also of a hidden one. */
  readonly content: (block: Block) => number
  /** Tokens of the parts that the model reads. */
  readonly parts: (parts: readonly Part[]) => number
  /** Whether the text has at least `tokens` tokens. A text that is too short for that is not counted. */
  readonly reaches: (text: string, tokens: number) => boolean
}

export function createEstimator(count: TokenCounter): Estimator {
  const partTokensOnce = oncePerBlock((part: Part) => partTokens(part, count))
  return {
    text: count,
    content: oncePerBlock((block: Block) => contentTokens(block, count)),
    parts: (parts) => parts.reduce((sum, part) => sum + partTokensOnce(part), 0),
    reaches: (text, tokens) => tokenUpperBound(text) >= tokens && count(text) >= tokens,
  }
}

/** Like `Estimator.content`, but does not remember the result. */
export function contentTokens(block: Block, count: TokenCounter): number {
  const binary = binaryContentOf(block)
  return (block.text ? count(block.text) : 0) + (binary ? binaryTokens(binary) : 0)
}

/** Like `Estimator.parts`, but does not remember the results. */
export const partsTokens = (parts: readonly Part[], count: TokenCounter): number =>
  parts.reduce((sum, part) => sum + partTokens(part, count), 0)

const partTokens = (part: Part, count: TokenCounter) => (part.type === 'text' ? count(part.text) : binaryPartTokens(part))

/** The most tokens that a text can have. A token has at least one byte, and a UTF-16 unit has at most three bytes in UTF-8. */
export const tokenUpperBound = (text: string): number => text.length * 3

/** The facts by which providers bill an image or a document. */
interface BinaryContent {
  readonly media_type: string
  readonly size: number
  readonly width?: number
  readonly height?: number
  readonly pages?: number
}

/** Type, size and dimensions of the bytes in `base64` or `blob` of a block; undefined when it has no bytes. */
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

export const isImageOrPdf = (block: Block): boolean =>
  binaryContentOf(block) !== undefined && (block.mime === 'application/pdf' || block.mime?.startsWith('image/') === true)

const TOKENS_PER_PAGE = 4100
const BYTES_PER_PAGE = 75_000
const MAX_TOKENS_PER_IMAGE = 1600
const PIXELS_PER_TOKEN = 750

/** Tokens of an image or document part. */
export const binaryPartTokens = ({ blob, ...facts }: BinaryPart): number => binaryTokens({ ...facts, size: blob.size })

/** The tokens that providers bill for an image or a PDF. Bytes of other types are never sent and cost nothing. */
function binaryTokens(binary: BinaryContent): number {
  const { media_type, pages, size } = binary
  if (media_type.startsWith('image/')) return imageTokens(binary)
  if (media_type === 'application/pdf') return TOKENS_PER_PAGE * (pages ?? Math.max(1, Math.ceil(size / BYTES_PER_PAGE)))
  return 0
}

function imageTokens({ width, height, size }: BinaryContent): number {
  if (width !== undefined && height !== undefined) {
    return Math.min(MAX_TOKENS_PER_IMAGE, Math.max(1, Math.ceil((width * height) / PIXELS_PER_TOKEN)))
  }
  return size < 200_000 ? 150 : size < 500_000 ? 400 : MAX_TOKENS_PER_IMAGE
}

const MAX_CALIBRATION = 4

/**
 * The ratio of the input tokens that the provider billed for the previous call to our estimate, from 1 to 4; 1 when no usage was reported.
 * A lower ratio is not used: it says nothing about the text that was added since, which could then exceed the limit. Only compaction
 * multiplies estimates by it. Hiding and caps use the raw estimate, so that they give the same result when a conversation is replayed.
 */
export function calibrationOf({ lastResponse }: Pick<Timeline, 'lastResponse'>): number {
  const { usage, prompt } = lastResponse ?? {}
  if (!usage || !prompt?.estimated_tokens) return 1
  const ratio = (usage.uncached + usage.cache_read + usage.cache_write) / prompt.estimated_tokens
  return Number.isFinite(ratio) ? Math.min(MAX_CALIBRATION, Math.max(1, ratio)) : 1
}

/** The most tokens of a model's output: a quarter of its context window. The rest is for the prompt. */
export const outputLimit = (window: number): number => Math.max(1, Math.floor(window / 4))

/** The settings that limit a prompt. */
export interface ContextSettings {
  readonly contextTokens: number
  readonly decision: { readonly maxTokens: number }
}

/** The most tokens of system text and prompt together: the setting, or what the output leaves of the model's context window. */
export function contextLimit({ contextTokens, decision }: ContextSettings, window: number): number {
  return Math.min(contextTokens, window - Math.min(decision.maxTokens, outputLimit(window)))
}

/** What decides how many tokens the timeline may have. */
export interface ContextSizes {
  /** The most tokens that may be sent to the model. */
  readonly limit: number
  /** The ratio of billed to estimated tokens of the previous call. The estimates are multiplied by it. */
  readonly calibration: number
  readonly systemTokens: number
  /** Tokens of the sources and ANNOUNCE. */
  readonly tailTokens: number
}

/** The timeline may have as many tokens as this, even if system text and tails leave less. Otherwise every round would compact in vain. */
const MIN_ROOM = 500

/** How many tokens, by our estimate, the timeline may have beside the system text and the tails. */
export function timelineRoom({ limit, calibration, systemTokens, tailTokens }: ContextSizes): number {
  return Math.max(MIN_ROOM, Math.floor(limit / calibration) - systemTokens - tailTokens)
}

/** The tokens of the blank line after a block or a tail. */
export const LINE_BREAK_TOKENS = 1

/**
 * Measures how full the context is. Each call looks at the new blocks only. Tokens are counted only when an upper bound, which is derived
 * from the length of the texts, exceeds the limit:
 *
 *   upper bound │▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓        │ limit     below the limit, nothing is counted
 *   exact       │▓▓▓▓▓▓▓│···             │           the blocks up to here were counted at an earlier call
 */
export interface Meter {
  /** Whether the shown blocks, with the blank lines between them, have more than `limit` tokens. */
  exceeds(timeline: Timeline, slice: Slice, limit: number): boolean
  /** Tokens of all shown blocks. */
  tokens(timeline: Timeline, slice: Slice): number
  /** Tokens of all shown blocks if they were counted already, otherwise undefined. */
  known(timeline: Timeline, slice: Slice): number | undefined
}

export function createMeter(estimator: Estimator): Meter {
  let buffer: BlockBuffer | undefined
  let size = 0
  let boundedBlocks = 0 // how many blocks are in `upperBound`
  let upperBound = 0
  let countedBlocks = 0 // how many blocks are in `exact`
  let exact = 0

  /** Clears the sums after an edit of earlier blocks. They stay valid while blocks are only appended. */
  function resetIfEdited(timeline: Timeline) {
    if (timeline.buffer !== buffer || timeline.size < size) boundedBlocks = upperBound = countedBlocks = exact = 0
    buffer = timeline.buffer
    size = timeline.size
  }

  function count(timeline: Timeline, { shown }: Slice): number {
    resetIfEdited(timeline)
    for (; countedBlocks < shown.length; countedBlocks++) {
      exact += estimator.parts((shown[countedBlocks] as ShownBlock).parts) + LINE_BREAK_TOKENS
    }
    return exact
  }

  return {
    exceeds(timeline, slice, limit) {
      resetIfEdited(timeline)
      const { shown } = slice
      for (; boundedBlocks < shown.length; boundedBlocks++) {
        upperBound += LINE_BREAK_TOKENS
        for (const part of (shown[boundedBlocks] as ShownBlock).parts) upperBound += partUpperBound(part)
      }
      return upperBound > limit && count(timeline, slice) > limit
    },
    tokens: count,
    known: (timeline, { shown }) => {
      const isCounted = timeline.buffer === buffer && timeline.size === size && countedBlocks === shown.length
      return isCounted ? exact : undefined
    },
  }
}

const partUpperBound = (part: Part) => (part.type === 'text' ? tokenUpperBound(part.text) : binaryPartTokens(part))
