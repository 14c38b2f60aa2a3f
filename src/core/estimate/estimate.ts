import type { Block } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import type { BinaryPart, Part, ShownBlock, Slice } from '../render/types.ts'
import { type BlockBuffer, commonContentLength } from '../timeline/block-buffer.ts'
import { blockAt, startOfTurn, type Timeline } from '../timeline/timeline.ts'
import type { TokenCounter } from './tokens.ts'

/**
 * Estimates numbers of tokens. The estimates are not corrected by `calibrationOf`. The tokens of each block and part are remembered,
 * because blocks and parts never change.
 */
export interface Estimator {
  readonly text: TokenCounter
  /** The tokens of the whole content of a block, even if the block is hidden. */
  readonly content: (block: Block) => number
  /** The tokens of rendered parts of a prompt. */
  readonly parts: (parts: readonly Part[]) => number
  /** True when the text has at least `tokens` tokens. The tokens are not counted if the text is too short to have this many. */
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

/** The tokens of the whole content of a block. Unlike `Estimator.content`, it does not remember the result. */
export function contentTokens(block: Block, count: TokenCounter): number {
  const binary = binaryContentOf(block)
  return (block.text ? count(block.text) : 0) + (binary ? binaryTokens(binary) : 0)
}

/** The tokens of rendered parts of a prompt. Unlike `Estimator.parts`, it does not remember the results. */
export const partsTokens = (parts: readonly Part[], count: TokenCounter): number =>
  parts.reduce((sum, part) => sum + partTokens(part, count), 0)

const partTokens = (part: Part, count: TokenCounter) => (part.type === 'text' ? count(part.text) : binaryPartTokens(part))

/**
 * The greatest number of tokens that a text can have. A token has at least one byte, and one UTF-16 unit has at most three bytes in UTF-8.
 */
export const tokenUpperBound = (text: string): number => text.length * 3

/** The properties by which providers bill an image or a document. */
interface BinaryContent {
  readonly media_type: string
  readonly size: number
  readonly width?: number
  readonly height?: number
  readonly pages?: number
}

/** The type, size and dimensions of the bytes of a block. Undefined when the block has no bytes. */
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

// `isSafeInteger` has checked that the value is a number.
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

export const isImageOrPdf = (block: Block): boolean =>
  binaryContentOf(block) !== undefined && (block.mime === 'application/pdf' || block.mime?.startsWith('image/') === true)

const TOKENS_PER_PAGE = 4100
const BYTES_PER_PAGE = 75_000
const MAX_TOKENS_PER_IMAGE = 1600
const PIXELS_PER_TOKEN = 750

/** The estimated tokens of an image or a document in a prompt. */
export const binaryPartTokens = ({ blob, ...facts }: BinaryPart): number => binaryTokens({ ...facts, size: blob.size })

/** The tokens that providers bill for an image or a PDF. Bytes of other types are never sent to a model, so they have 0 tokens. */
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
 * The number of input tokens that the provider billed for the previous call, divided by the number that was estimated for it. The result is
 * between 1 and 4. It is 1 when no usage was reported.
 *
 * A ratio below 1 is raised to 1. Text that was added after the previous call may have a higher ratio, and with a ratio below 1 the next
 * prompt could exceed the limit. Compaction, the limit of the tail and the reservations of budgets use the ratio. Hiding uses the
 * uncorrected estimates, so that a replay gives the same result.
 */
export function calibrationOf({ lastResponse }: Pick<Timeline, 'lastResponse'>): number {
  const { usage, prompt } = lastResponse ?? {}
  if (!usage || !prompt?.estimated_tokens) return 1
  const ratio = (usage.uncached + usage.cache_read + usage.cache_write) / prompt.estimated_tokens
  return Number.isFinite(ratio) ? Math.min(MAX_CALIBRATION, Math.max(1, ratio)) : 1
}

/** The greatest number of output tokens of a model: a quarter of its context window. The other three quarters are for the prompt. */
export const outputLimit = (window: number): number => Math.max(1, Math.floor(window / 4))

/** The settings that limit a prompt. */
export interface ContextSettings {
  readonly contextTokens: number
  readonly decision: { readonly maxTokens: number }
}

/**
 * The greatest number of tokens of the whole prompt, including the system text. It is the setting `contextTokens`, but never more than the
 * context window of the model minus the tokens for the output.
 */
export function contextLimit({ contextTokens, decision }: ContextSettings, window: number): number {
  return Math.min(contextTokens, window - Math.min(decision.maxTokens, outputLimit(window)))
}

/** The numbers that determine how many tokens the timeline may have. */
export interface ContextSizes {
  /** The greatest number of tokens that may be sent to the model. */
  readonly limit: number
  /** The ratio of billed tokens to estimated tokens in the previous call. Estimates are multiplied by it. */
  readonly calibration: number
  readonly systemTokens: number
  /** The tokens of the source pool and the announce. */
  readonly tailTokens: number
}

/**
 * The timeline may always have this many tokens, even if the system text and the tail leave fewer. Without this minimum, every round would
 * try a compaction, and the prompt would still be too long.
 */
const MIN_ROOM = 500

/** The greatest number of estimated tokens that the timeline may have, beside the system text and the tail. */
export function timelineRoom({ limit, calibration, systemTokens, tailTokens }: ContextSizes): number {
  return Math.max(MIN_ROOM, Math.floor(limit / calibration) - systemTokens - tailTokens)
}

/** The tokens of the blank line after a block. */
export const LINE_BREAK_TOKENS = 1

/**
 * Measures how many tokens the rendered blocks have. Each call looks only at blocks that are new since the previous call. Counting tokens is
 * slow, so for `exceeds` they are counted only when an upper bound exceeds the limit. The upper bound is computed from the lengths of the
 * texts:
 *
 *   upper bound │▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓        │ limit     below the limit, nothing is counted
 *   exact       │▓▓▓▓▓▓▓│···             │           the blocks up to │ were counted by an earlier call
 */
export interface Meter {
  /** True when the rendered blocks, with the blank lines between them, have more than `limit` tokens. */
  exceeds(timeline: Timeline, slice: Slice, limit: number): boolean
  /** The tokens of all rendered blocks. */
  tokens(timeline: Timeline, slice: Slice): number
  /** The tokens of all rendered blocks. Undefined when an earlier call has not counted them. */
  known(timeline: Timeline, slice: Slice): number | undefined
  /** The tokens of the whole content of all blocks of a turn. It is called in every round, so that the end of a turn counts few blocks. */
  turnTokens(timeline: Timeline, turnId: string): number
}

export function createMeter(estimator: Estimator): Meter {
  let buffer: BlockBuffer | undefined
  let size = 0
  let boundedBlocks = 0 // the number of blocks in `upperBound`
  let upperBound = 0
  let countedBlocks = 0 // the number of blocks in `exact`
  let exact = 0

  /** Clears the sums if earlier blocks were edited. While blocks are only appended, the sums stay valid. */
  function resetIfEdited(timeline: Timeline) {
    if (timeline.buffer !== buffer || timeline.size < size) boundedBlocks = upperBound = countedBlocks = exact = 0
    buffer = timeline.buffer
    size = timeline.size
  }

  let turn = { id: '', buffer, countedBlocks: 0, tokens: 0 }

  function turnTokens(timeline: Timeline, turnId: string): number {
    const same = turn.buffer && Math.min(timeline.size, commonContentLength(turn.buffer, timeline.buffer) ?? 0)
    if (turn.id !== turnId || same === undefined || same < turn.countedBlocks)
      turn = { id: turnId, buffer: timeline.buffer, countedBlocks: startOfTurn(timeline, turnId), tokens: 0 }
    turn.buffer = timeline.buffer
    for (; turn.countedBlocks < timeline.size; turn.countedBlocks++) {
      const block = blockAt(timeline, turn.countedBlocks) as Block
      if (block.turn_id === turnId) turn.tokens += contentTokens(block, estimator.text)
    }
    return turn.tokens
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
    turnTokens,
  }
}

const partUpperBound = (part: Part) => (part.type === 'text' ? tokenUpperBound(part.text) : binaryPartTokens(part))
