import { type Block, callIdOf } from '../block/block.ts'
import { type Draft, turnHeaderBlock } from '../block/index.ts'
import { blockAt, blockIndex, type Timeline } from './timeline.ts'

/** In order of first occurrence. */
export function turnIdsOf(blocks: readonly Block[]): readonly string[] {
  return [...new Set(blocks.map(({ turn_id }) => turn_id))]
}

/** Turns that this conversation knows, whether visible or covered by a summary. A physical path may begin with any of them. */
export function knownTurns(timeline: Timeline): ReadonlySet<string> {
  const visible = [...blockIndex(timeline.buffer).byTurn].filter(([, positions]) => (positions[0] as number) < timeline.size)
  return new Set([...summarisedTurns(timeline), ...visible.map(([turnId]) => turnId)])
}

/** What the latest summary stands for, oldest first. */
export function summarisedTurns(timeline: Timeline): readonly string[] {
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block?.type === 'conv.range.summary') {
      const covered = block.meta?.covered_turn_ids
      return Array.isArray(covered) ? covered.filter((id): id is string => typeof id === 'string') : []
    }
  }
  return []
}

/** The header that opens a turn, unless the timeline already ends with it. */
export function missingTurnHeader(timeline: Timeline, turnId: string, ts: string): readonly Draft<'turn.header'>[] {
  const last = blockAt(timeline, timeline.size - 1)
  return last?.type === 'turn.header' && last.turn_id === turnId ? [] : [turnHeaderBlock(turnId, ts)]
}

/** One model call and everything it led to. `end` is the position of its last block. */
export interface Round {
  readonly key: string
  readonly turnId: string
  readonly start: number
  readonly end: number
}

const closingTypes: ReadonlySet<string> = new Set([
  'assistant.completion',
  'react.completion',
  'react.turn.finalize',
  'react.exit',
  'react.state',
  'stage.suggested_followups',
])

/**
 * The round a block belongs to: its turn and decision; for blocks from elsewhere that do not say, their call; for what closes
 * a turn, the turn's end. Undefined for what no decision made: headers, user input, summaries.
 */
export function roundKey(block: Block): string | undefined {
  const iteration = block.meta?.iteration
  if (typeof iteration === 'number') return `${block.turn_id}#${iteration}`
  const call = callIdOf(block)
  if (call !== undefined) return `${block.turn_id}@${call}`
  return closingTypes.has(block.type) ? `${block.turn_id}#end` : undefined
}

/** The same as a number, from 0, by order of the rounds' first blocks. What says its decision needs no key. */
export function createRoundNumbers(): (block: Block) => number | undefined {
  const turns = new Map<string, Map<number, number>>()
  const others = new Map<string, number>()
  let turnId: string | undefined
  let decisions = new Map<number, number>()
  let count = 0

  function numberOf<K>(known: Map<K, number>, key: K): number {
    const number = known.get(key) ?? count
    if (number === count) known.set(key, count++)
    return number
  }

  return (block) => {
    const decision = block.meta?.iteration
    if (typeof decision !== 'number') {
      const key = roundKey(block)
      return key === undefined ? undefined : numberOf(others, key)
    }
    if (block.turn_id !== turnId) {
      turnId = block.turn_id
      decisions = turns.get(turnId) ?? new Map()
      turns.set(turnId, decisions)
    }
    return numberOf(decisions, decision)
  }
}

/** In order of first occurrence. */
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
