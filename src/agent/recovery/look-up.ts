import type { Timeline } from '../../core/timeline/timeline.ts'
import { type Invocation, invoke } from '../../tools/invoke.ts'
import { succeeded } from '../../tools/outcome.ts'
import { hasReference, withBoundReferences } from '../../tools/references.ts'
import type { LookUp, Tool } from '../../tools/tool.ts'
import type { Progress } from '../turn/round.ts'
import { type CheckedCall, callOf } from '../turn/tool-call.ts'
import type { Turn } from '../turn/turn.ts'

/**
 * Asks the tool of a call what became of the call. If the tool throws or takes too long, the answer is `unknown`. If the agent is closed
 * meanwhile, the invocation is returned, which says that it was stopped.
 */
export async function lookUpCall(turn: Turn, progress: Progress, call: CheckedCall, seen: Timeline): Promise<LookUp | Invocation> {
  const { agent, conversation } = turn
  const { tool, params } = call
  let found: LookUp | undefined
  const asking: Tool = {
    ...tool,
    exec: false,
    timeoutMs: agent.settings.lookUpTimeoutMs,
    async run(given, { idempotencyKey, signal }) {
      try {
        found = await tool.lookUp?.(idempotencyKey, given, signal)
      } catch (error) {
        agent.onProblem({ where: `lookUp of ${tool.id}`, error })
      }
      return typeof found === 'object' ? found : succeeded({})
    },
  }
  const prepared = hasReference(params) ? withBoundReferences(asking) : asking
  // A steer does not stop the question, because the model needs the answer before it goes on.
  const context = callOf(turn, progress, call, seen, conversation.signal)
  const invocation = await invoke(prepared, params, context, agent.settings)
  if (invocation.stopped) return invocation
  if (invocation.abandoned || found === undefined) return 'unknown'
  return typeof found === 'object' ? invocation.outcome : found
}
