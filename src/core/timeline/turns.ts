import { type Block, type BlockType, callIdOf } from '../block/block.ts'
import { type Draft, turnHeaderBlock } from '../block/index.ts'
import { blockAt, blockIndex, type Timeline } from './timeline.ts'

/** The ids of the turns of these blocks, in order of their first block. */
export function turnIdsOf(blocks: readonly Block[]): readonly string[] {
  return [...new Set(blocks.map(({ turn_id }) => turn_id))]
}

/** The ids of all turns of the conversation, visible or summarised. A physical path may begin with any of them. */
export function knownTurns(timeline: Timeline): ReadonlySet<string> {
  const visible = [...blockIndex(timeline.buffer).byTurn].filter(([, positions]) => (positions[0] as number) < timeline.size)
  return new Set([...summarisedTurns(timeline), ...visible.map(([turnId]) => turnId)])
}

/** The ids of the turns that the latest summary replaces, oldest first. */
export function summarisedTurns(timeline: Timeline): readonly string[] {
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block?.type === 'conv.range.summary') {
      const turnIds = block.meta?.covered_turn_ids
      return Array.isArray(turnIds) ? turnIds.filter((id): id is string => typeof id === 'string') : []
    }
  }
  return []
}

/** The header block that has to be appended for a turn. The list is empty when the timeline already ends with it. */
export function missingTurnHeader(timeline: Timeline, turnId: string, ts: string): readonly Draft<'turn.header'>[] {
  const last = blockAt(timeline, timeline.size - 1)
  return last?.type === 'turn.header' && last.turn_id === turnId ? [] : [turnHeaderBlock(turnId, ts)]
}

/** One decision of the model and all blocks that it led to. `start` and `end` are the positions of the first and the last block. */
export interface Round {
  readonly key: string
  readonly turnId: string
  readonly start: number
  readonly end: number
}

/** The types of blocks that close a turn. The three that are not a `BlockType` occur only in imported timelines. */
const closingTypes: ReadonlySet<BlockType | 'react.turn.finalize' | 'react.exit' | 'react.state'> = new Set([
  'assistant.completion',
  'react.completion',
  'react.turn.finalize',
  'react.exit',
  'react.state',
  'stage.suggested_followups',
])

/**
 * A key that is the same for all blocks of a round. It consists of turn and iteration. Imported blocks without an iteration have a key of
 * turn and call. Blocks that close a turn have a key of the turn alone. Undefined for blocks that no decision made: headers, user input,
 * summaries.
 */
export function roundKey(block: Block): string | undefined {
  const iteration = block.meta?.iteration
  if (typeof iteration === 'number') return `${block.turn_id}#${iteration}`
  const call = callIdOf(block)
  if (call !== undefined) return `${block.turn_id}@${call}`
  return closingTypes.has(block.type) ? `${block.turn_id}#end` : undefined
}

/** Makes a function that returns the number of a block's round, from 0. It has to be called with all blocks in order. */
export function createRoundNumbers(): (block: Block) => number | undefined {
  const numbers = new Map<string, number>()
  let [lastTurn, lastIteration, lastNumber] = ['', -1, -1]
  return (block) => {
    const iteration = block.meta?.iteration
    if (iteration === lastIteration && block.turn_id === lastTurn) return lastNumber // most blocks have the round of the block before
    const key = roundKey(block)
    if (key === undefined) return undefined
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    if (typeof iteration === 'number') [lastTurn, lastIteration, lastNumber] = [block.turn_id, iteration, number]
    return number
  }
}

/** The rounds of these blocks, in order of their first blocks. */
export function roundsOf(blocks: readonly Block[]): readonly Round[] {
  const rounds = new Map<string, { turnId: string; start: number; end: number }>()
  blocks.forEach((block, position) => {
    const key = roundKey(block)
    if (key === undefined) return
    const round = rounds.get(key)
    if (round) round.end = position
    else rounds.set(key, { turnId: block.turn_id, start: position, end: position })
  })
  return [...rounds].map(([key, round]) => ({ key, ...round }))
}
