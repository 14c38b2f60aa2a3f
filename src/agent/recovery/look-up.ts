import { hasReference } from '../../core/decision/signature.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { type Invocation, invoke } from '../../tools/invoke.ts'
import { succeeded } from '../../tools/outcome.ts'
import { withBoundReferences } from '../../tools/references.ts'
import type { LookUp, Outcome, Tool } from '../../tools/tool.ts'
import type { Progress } from '../turn/progress.ts'
import { type CheckedCall, callOf } from '../turn/tool-call.ts'
import type { Turn } from '../turn/turn.ts'

/**
 * Asks the tool of a call for the outcome of the call. If the tool throws or takes too long, the answer is `unknown`. If the agent is
 * closed during `lookUp`, the function returns the stopped invocation of `lookUp`.
 */
export async function lookUpCall(turn: Turn, progress: Progress, call: CheckedCall, seen: Timeline): Promise<LookUp | Invocation> {
  const { tool } = call
  return ask(turn, progress, call, seen, 'lookUp', (key, params, signal) => tool.lookUp?.(key, params, signal))
}

/**
 * Ends the work of a call when the turn does not wait for its result any more. Returns the outcome that the tool reports. Undefined when
 * the tool has no `withdraw` or reports no outcome.
 */
export async function withdrawCall(turn: Turn, progress: Progress, call: CheckedCall, seen: Timeline): Promise<Outcome | undefined> {
  const { tool } = call
  if (!tool.withdraw) return undefined
  const found = await ask(turn, progress, call, seen, 'withdraw', (key, _params, signal) => tool.withdraw?.(key, signal))
  return typeof found === 'object' && 'ok' in found ? found : undefined
}

type Question = (key: string, params: Parameters<Tool['run']>[0], signal: AbortSignal) => Promise<LookUp | undefined> | LookUp | undefined

/** Calls a function of the tool, with a time limit. */
async function ask(
  turn: Turn,
  progress: Progress,
  { tool, params, ...call }: CheckedCall,
  seen: Timeline,
  name: 'lookUp' | 'withdraw',
  question: Question,
): Promise<LookUp | Invocation> {
  const { agent, conversation } = turn
  let found: LookUp | undefined
  const asking: Tool = {
    ...tool,
    exec: false,
    timeoutMs: agent.settings.lookUpTimeoutMs,
    async run(given, { idempotencyKey, signal }) {
      try {
        found = await question(idempotencyKey, given, signal)
      } catch (error) {
        agent.onProblem({ where: `${name} of ${tool.id}`, error })
      }
      return typeof found === 'object' ? found : succeeded({})
    },
  }
  const prepared = hasReference(params) ? withBoundReferences(asking) : asking
  // A steer does not abort `lookUp` or `withdraw` of the tool, because the model needs the answer before it can continue.
  const context = callOf(turn, progress, { tool, params, ...call }, seen, conversation.signal)
  const invocation = await invoke(prepared, params, context, agent.settings)
  if (invocation.stopped) return invocation
  if (invocation.abandoned || found === undefined) return 'unknown'
  return typeof found === 'object' ? invocation.outcome : found
}
