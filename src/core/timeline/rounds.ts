import { type Block, callOf } from '../block/envelope.ts'

/** One model call and everything it led to. `end` is the position of its last block. */
export interface Round {
  readonly key: string
  readonly turnId: string
  readonly start: number
  readonly end: number
}

const closing: ReadonlySet<string> = new Set([
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
  const call = callOf(block)
  if (call !== undefined) return `${block.turn_id}@${call}`
  return closing.has(block.type) ? `${block.turn_id}#end` : undefined
}

/** The same for blocks one after the other: those of one decision share one string, which is told at a glance. */
export function createRoundKeys(): (block: Block) => string | undefined {
  let turnId: string | undefined
  let iteration: number | undefined
  let key: string | undefined
  return (block) => {
    const decision = block.meta?.iteration
    if (typeof decision !== 'number') return roundKey(block)
    if (decision !== iteration || block.turn_id !== turnId) {
      turnId = block.turn_id
      iteration = decision
      key = roundKey(block)
    }
    return key
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
