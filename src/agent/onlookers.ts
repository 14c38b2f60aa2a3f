import type { AgentParts } from './agent.ts'
import type { AgentContext } from './conversation/conversation.ts'

/** Functions of the application's own that are told what happens. None of them can change it: what one throws ends here. */
export function safeCallbacks({
  onEntry,
  onProblem,
}: Pick<AgentParts, 'onEntry' | 'onProblem'>): Pick<AgentContext, 'onEntry' | 'onProblem'> {
  const report: AgentContext['onProblem'] = (problem) => {
    try {
      onProblem?.(problem)
    } catch (error) {
      process.emitWarning(`onProblem threw while it was told of "${problem.where}": ${String(error)}`, { code: 'DAYBOOK_ON_PROBLEM' })
    }
  }
  const look: AgentContext['onEntry'] =
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
