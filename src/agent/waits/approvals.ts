import type { BlockOrigin } from '../../core/block/index.ts'
import type { Change, Wait } from '../../core/timeline/change.ts'
import { type Approval, judgeCall } from '../../tools/approval.ts'
import { failed } from '../../tools/outcome.ts'
import type { LateResult, Outcome } from '../../tools/tool.ts'
import type { CheckedCall } from '../turn/tool-call.ts'
import type { Turn } from '../turn/turn.ts'
import { waitOf } from './wait-events.ts'

/** Decides whether a call runs, waits for a person, or is refused. If the rule throws an error, a person is asked. */
export async function judge({ agent, conversation }: Turn, { tool, params, origin }: CheckedCall): Promise<Approval> {
  const { conversationId, scope } = conversation
  const call = { conversationId, turnId: origin.turnId, callId: origin.callId, toolId: tool.id, params, scope }
  try {
    return await judgeCall(tool, agent.approve, call)
  } catch (error) {
    agent.onProblem({ where: `approval of ${tool.id}`, error })
    return 'ask'
  }
}

/** The wait of a call that a person has to approve. */
export function approvalWait({ agent: { clock, settings } }: Turn, { tool, origin }: CheckedCall): Wait {
  const { approvalSeconds } = settings
  return {
    wait_id: `approve-${origin.callId}`,
    kind: 'approval',
    call_id: origin.callId,
    question: `May the agent call ${tool.id}?`,
    ...(approvalSeconds !== undefined && { expires_at: new Date(Date.parse(clock.now()) + approvalSeconds * 1000).toISOString() }),
    ...(tool.approver && { approver: tool.approver }),
  }
}

/** The change that records new waits. `active` is true when the turn continues during these waits. */
export const waitingChange = ({ turnId, agent }: Turn, waits: readonly Wait[], active: boolean): readonly Change[] =>
  waits.length === 0
    ? []
    : [{ type: 'turn.waiting', turn_id: turnId, ts: agent.clock.now(), waits, ...(active && { active: true as const }) }]

/** The outcome of a call that the rule of the agent refuses. */
export const deniedOutcome = (toolId: string): Outcome =>
  failed(
    'call_denied',
    `The rules of this agent do not allow this call of ${toolId}. It was not run. Do not try it again; find another way.`,
  )

/**
 * The wait of a call whose tool has returned `later(…)`. The result is delivered by `agent.complete`, or by the sub-agent that the call
 * asked.
 */
export async function enterLateResult(
  turn: Turn,
  { callId }: BlockOrigin,
  { note, expiresAt, child }: LateResult,
  active: boolean,
): Promise<void> {
  const { token_sha256: token } = waitOf(turn.conversation.ledger.timeline, { callId }) ?? {}
  const wait: Wait = {
    ...(child === undefined
      ? { wait_id: `complete-${callId}`, kind: 'later' as const }
      : { wait_id: `child-${callId}`, kind: 'child' as const, child_id: child }),
    call_id: callId,
    ...(note !== undefined && { question: note }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(token !== undefined && { token_sha256: token }),
  }
  await turn.conversation.ledger.commit(waitingChange(turn, [wait], active))
}
