import type { AgentParts } from './agent.ts'
import type { Household } from './conversation.ts'

/** Functions of the application's own that are told what happens. None of them can change it: what one throws ends here. */
export function guardOnlookers({
  onEntry,
  onProblem,
}: Pick<AgentParts, 'onEntry' | 'onProblem'>): Pick<Household, 'onEntry' | 'onProblem'> {
  const report: Household['onProblem'] = (problem) => {
    try {
      onProblem?.(problem)
    } catch (error) {
      process.emitWarning(`onProblem threw while it was told of "${problem.where}": ${String(error)}`, { code: 'DAYBOOK_ON_PROBLEM' })
    }
  }
  const look: Household['onEntry'] =
    onEntry &&
    ((conversation, event) => {
      try {
        onEntry(conversation, event)
      } catch (error) {
        report({ where: 'onEntry', error })
      }
    })
  return { onEntry: look, onProblem: report }
}
