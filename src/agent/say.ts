import { createCitationRewriter } from '../core/citations/replace.ts'
import { sourcesBySid } from '../core/sources/select.ts'
import type { LaneDelta } from '../core/stream/lanes-delta.ts'
import type { Turn } from './turn.ts'

/** An answer that no lane has shown: said at once, with its citations drawn. Of the attempts at a round the highest counts. */
export function sayAnswer(turn: Turn, iteration: number, answer: string, attempt = 0): void {
  const text = asRead(turn, answer)
  const lane = { marker: 'answer', artifactName: `react.final_answer.${iteration}`, format: 'markdown' as const }
  const deltas: readonly LaneDelta[] = [
    { ...lane, index: 0, text, completed: false },
    { ...lane, index: 1, text: '', completed: true },
  ]
  for (const delta of deltas) turn.emit({ type: 'lane.delta', turn_id: turn.turnId, iteration, attempt, delta })
}

/** An answer as a user reads it: citations drawn, those of unknown sources left out. The journal has it as the model wrote it. */
export function asRead({ ledger }: Pick<Turn, 'ledger'>, answer: string): string {
  const sources = () => sourcesBySid(ledger.timeline.sources)
  const replacer = createCitationRewriter({ format: 'markdown', sources, stripUsage: true, keepUnresolved: false })
  return replacer.push(answer) + replacer.flush()
}
