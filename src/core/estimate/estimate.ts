import type { Block } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import type { Part } from '../render/types.ts'
import { binaryContentOf, binaryTokens, partTokens } from './binary.ts'
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
