import { type Draft, stage } from '../core/block/index.ts'
import { blockAt, type Timeline } from '../core/timeline/timeline.ts'

const clarificationResolvedText = '[STAGE: CLARIFICATION RESOLVED]\nThe message above answers the questions.'

/** What the user says next answers the questions that the latest turn has marked as such, be it in that turn or in another. */
export function clarificationResolved(timeline: Timeline, turnId: string, ts: string): readonly Draft[] {
  return hasOpenQuestions(timeline) ? [stage('clarification.resolved', turnId, ts, clarificationResolvedText)] : []
}

/** The latest turn has questions that nothing was said to since. */
function hasOpenQuestions(timeline: Timeline): boolean {
  const latest = blockAt(timeline, timeline.size - 1)?.turn_id
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block?.turn_id !== latest || block?.type === 'stage.clarification.resolved') return false
    if (block?.type === 'stage.clarification') return true
  }
  return false
}
