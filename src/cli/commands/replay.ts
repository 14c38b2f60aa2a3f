import { divergenceText } from '../../agent/replay/divergence.ts'
import type { Replayed } from '../../agent/replay/replay.ts'
import { columns, plural } from '../table.ts'
import type { Style } from '../terminal.ts'
import { plainLine } from '../terminal.ts'

/** Every turn on a line, what it does otherwise below it, and what it comes to in the end. */
export function replayTable(turns: readonly Replayed[], style: Style): string {
  if (turns.length === 0) return 'no turn was begun yet'
  const lines = columns([
    ['', '', ''],
    ...turns.map((turn) => [plainLine(turn.turnId), plural(turn.rounds, 'round'), verdictOf(turn)]),
  ]).slice(1)
  const told = turns.flatMap(({ divergence }, index) => [
    lines[index] ?? '',
    ...(divergence ? [style.failure(`    ✗ ${plainLine(divergenceText(divergence))}`)] : []),
  ])
  return [...told, '', summary(turns, style)].join('\n')
}

const verdictOf = ({ torn, divergence }: Replayed) =>
  torn ? 'not replayed: its history was let go' : divergence ? 'not the same' : 'the same'

function summary(turns: readonly Replayed[], style: Style): string {
  const judged = turns.filter(({ torn }) => !torn)
  const other = judged.filter(({ divergence }) => divergence).length
  if (judged.length === 0) return 'nothing could be replayed'
  if (other > 0) return style.bold(`${other} of ${plural(judged.length, 'turn')} would not be the same`)
  const rounds = judged.reduce((sum, turn) => sum + turn.rounds, 0)
  return style.success(`${plural(judged.length, 'turn')}, ${plural(rounds, 'round')}: the present code does what was done`)
}

/** The texts differ before anything was done: more likely another agent than another code. */
export const differsInTexts = ({ divergence }: Replayed): boolean =>
  divergence?.kind === 'prompt' && (divergence.where === 'tools' || divergence.where === 'system text')

export const otherAgentHint = 'give the agent that recorded it with --agent, or leave its texts and tools aside with --any-system'
