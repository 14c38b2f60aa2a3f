import { type Block, callIdOf } from '../block/block.ts'

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
