import {
  type Block,
  type BlockOrigin,
  type BlockType,
  blockId,
  completionBlock,
  type Draft,
  toolCallBlock,
  toolResultBlock,
  turnHeaderBlock,
  userPromptBlock,
} from '../core/block/index.ts'

// Builders of blocks for tests. Most arguments have defaults. The package exports them as the object `blocks`, at the end of this file.

/** The timestamp `n` minutes after the start of 2026. */
export const minute = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()

/** Gives the drafts the ids `b_<first>`, `b_<first + 1>`, … */
export const withIds = (drafts: readonly Draft[], first = 1): readonly Block[] =>
  drafts.map((draft, index) => ({ id: blockId(first + index), ...draft }))

/** A draft with a type that Daybook does not know. An imported timeline may contain such blocks. */
export const ofUnknownType = (type: string, draft: Draft): Draft => ({ ...draft, type: type as BlockType })

/** The origin of a block: its turn, call, round and time. The time of round `n` is `n` minutes after the start of 2026. */
export const blockOrigin = (callId: string, turnId = 't1', iteration = 0): BlockOrigin => ({
  turnId,
  callId,
  iteration,
  ts: minute(iteration),
})

export const header = (turnId = 't1', at = 0): Draft => turnHeaderBlock(turnId, minute(at))
export const prompt = (text: string, turnId = 't1', at = 0): Draft => userPromptBlock(turnId, minute(at), text)
export const call = (callId: string, toolId = 'web_tools.web_search', turnId = 't1', iteration = 0): Draft =>
  toolCallBlock(blockOrigin(callId, turnId, iteration), { toolId, params: { query: callId } })
export const result = (callId: string, text: string, turnId = 't1', iteration = 0): Draft =>
  toolResultBlock(blockOrigin(callId, turnId, iteration), { mime: 'text/markdown', text })
export const completion = (text: string, turnId = 't1', at = 0): Draft => completionBlock(turnId, minute(at), { text })

/** A turn of `count` rounds: header, prompt, then a call and its result for each round. */
export const rounds = (count: number, turnId = 't1'): readonly Draft[] => [
  header(turnId),
  prompt(`do ${turnId}`, turnId),
  ...Array.from({ length: count }, (_, i) => [
    call(`${turnId}c${i}`, 'web_tools.web_search', turnId, i),
    result(`${turnId}c${i}`, `result ${i} of ${turnId}`, turnId, i),
  ]).flat(),
]

/** Builders of blocks, for tests of code that reads timelines. The argument `at` is a time in minutes after the start of 2026. */
export const blocks = {
  header,
  prompt,
  call,
  result,
  completion,
  /** A turn of `count` rounds: header, prompt, then a call and its result for each round. */
  rounds,
  /** Gives the drafts the ids `b_<first>`, `b_<first + 1>`, … */
  withIds,
  /** The origin of a block: its turn, call, round and time. The time of round `n` is `n` minutes after the start of 2026. */
  origin: blockOrigin,
  /** The timestamp `n` minutes after the start of 2026. */
  minute,
}
