import { createCitationRewriter } from '../core/citations/replace.ts'
import { sourcesBySid } from '../core/sources/select.ts'
import type { LaneDelta } from '../core/stream/lane.ts'
import type { Turn } from './turn/turn.ts'

/** An answer that no lane has shown: said at once, with its citations drawn. Of the attempts at a round the highest counts. */
export function emitAnswer(turn: Turn, iteration: number, answer: string, attempt = 0): void {
  const sources = () => sourcesBySid(turn.ledger.timeline.sources)
  const replacer = createCitationRewriter({ format: 'markdown', sources, stripUsage: true, keepUnresolved: false })
  const text = replacer.push(answer) + replacer.flush()
  const lane = { marker: 'answer', artifactName: `react.final_answer.${iteration}`, format: 'markdown' as const }
  const deltas: readonly LaneDelta[] = [
    { ...lane, index: 0, text, completed: false },
    { ...lane, index: 1, text: '', completed: true },
  ]
  for (const delta of deltas) turn.emit({ type: 'lane.delta', turn_id: turn.turnId, iteration, attempt, delta })
}
