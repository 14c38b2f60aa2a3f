import type { BlockOrigin, Notice } from '../../core/block/index.ts'
import type { Change, Wait } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import { failed, succeeded } from '../../tools/outcome.ts'
import { restoreOutcome, withChild } from '../../tools/stored-outcome.ts'
import type { Outcome } from '../../tools/tool.ts'
import { finishedChange } from '../turn/several-calls.ts'
import type { Turn } from '../turn/turn.ts'
import { wakes } from '../waits/child-waits.ts'
import {
  type CallDecided,
  completionId,
  decisionId,
  isExpired,
  openWaits,
  readCompletionEvent,
  readDecisionEvent,
  waitOf,
} from '../waits/wait-events.ts'

/** What happens next with a call that waits: it has an outcome now, it still waits, or its tool may run. */
export type WaitEnd =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'waits' }
  | { readonly kind: 'approved'; readonly decision: CallDecided }
  /** Something has happened to the sub-agent for which the call waits. The tool runs again and asks the sub-agent. */
  | { readonly kind: 'again' }

/** A call that waits. */
interface WaitingCall {
  readonly origin: BlockOrigin
  readonly toolId: string
  /** False when its tool or its parameters are not known any more. */
  readonly runnable: boolean
  /** Ends the work of the tool, and returns the outcome that the tool reports. */
  withdraw(): Promise<Outcome | undefined>
}

/**
 * Ends the wait of a call, if something has arrived for it:
 *
 *   a late result          is the outcome of the call, even if its wait is not in the journal
 *   a steer or a stop      withdraws the call
 *   the time is over       the call fails. A call that waits for a sub-agent is run again
 *   a decision in time     refuses the call, or lets its tool run
 *   a sub-agent continues  the call that has asked it is run again
 *   a followup             a call that waits for a late result gets an interim result, so that the turn can answer
 *
 * The end of the wait is committed before a tool runs, together with the outcome if there is one. Therefore a crash can neither repeat nor
 * lose a decision.
 */
export async function endWait(turn: Turn, call: WaitingCall): Promise<WaitEnd | undefined> {
  const { agent, conversation } = turn
  const { inbox } = conversation.ledger.timeline
  const { callId } = call.origin
  const wait = waitOf(conversation.ledger.timeline, call.origin)
  const find = (id: string) => inbox.find(({ event_id }) => event_id === id)

  const completed = find(completionId(callId))
  const late = readCompletionEvent(completed)
  if (late) {
    const done = wait?.kind === 'child' ? await call.withdraw() : undefined
    return finish(turn, call, wait, withChild(await lateOutcome(turn, late), done), completed)
  }
  if (!wait || wait.running) return undefined
  if (conversation.inbox.hasSteer())
    return finish(turn, call, wait, withChild(withdrawn(call.toolId, wait), wait.kind === 'child' ? await call.withdraw() : undefined))
  if (wait.kind === 'child') return endChildWait(turn, call, wait)
  const decided = wait.kind === 'approval' ? find(decisionId(callId)) : undefined
  const decision = readDecisionEvent(decided)
  if (decision && !isExpired(wait, decision.ts)) {
    if (!decision.approved) return finish(turn, call, wait, refused(call.toolId, decision), decided)
    if (!call.runnable) return finish(turn, call, wait, unavailable(call.toolId, wait), decided)
    await conversation.ledger.commit(endChanges(turn, wait, decided))
    return { kind: 'approved', decision }
  }
  if (isExpired(wait, agent.clock.now())) return finish(turn, call, wait, expired(call.toolId, wait), decided)
  const isAsked =
    inbox.some(({ kind }) => kind === 'followup') && openWaits(conversation.ledger.timeline).every(({ kind }) => kind === 'later')
  return isAsked ? finish(turn, call, wait, interim(wait)) : { kind: 'waits' }
}

/** Ends the wait of a call for a sub-agent, if something has arrived for the sub-agent or if the sub-agent stops waiting now. */
async function endChildWait(turn: Turn, call: WaitingCall, wait: Wait): Promise<WaitEnd> {
  const { agent, conversation } = turn
  const woken = conversation.ledger.timeline.inbox.filter((event) => wakes(event, wait))
  if (woken.length === 0 && !isExpired(wait, agent.clock.now())) return { kind: 'waits' }
  if (!call.runnable) return finish(turn, call, wait, unavailable(call.toolId, wait), ...woken)
  await conversation.ledger.commit(endChanges(turn, wait, ...woken))
  return { kind: 'again' }
}

/** Commits the outcome of a call together with the end of its wait. The blocks of the result follow in the order of the calls. */
async function finish(
  turn: Turn,
  { origin }: WaitingCall,
  wait: Wait | undefined,
  outcome: Outcome,
  ...events: readonly (InboxEvent | undefined)[]
): Promise<WaitEnd> {
  const finished = await finishedChange(turn, origin, outcome)
  await turn.conversation.ledger.commit([...endChanges(turn, wait, ...events), finished])
  return { kind: 'outcome', outcome }
}

function endChanges({ turnId, agent }: Turn, wait: Wait | undefined, ...events: readonly (InboxEvent | undefined)[]): readonly Change[] {
  const ts = agent.clock.now()
  const ids = events.flatMap((event) => event?.event_id ?? [])
  return [
    ...(ids.length > 0 ? [{ type: 'event.folded' as const, ts, event_ids: ids, turn_id: turnId }] : []),
    ...(wait ? [{ type: 'turn.resumed' as const, turn_id: turnId, ts, wait_ids: [wait.wait_id] }] : []),
  ]
}

async function lateOutcome({ conversation }: Turn, stored: NonNullable<ReturnType<typeof readCompletionEvent>>): Promise<Outcome> {
  return (await restoreOutcome(stored, conversation.blobs)) ?? failed('result_unfit', 'The late result of the call can not be read.')
}

/** The notice for a call that ran with other parameters than those the model wrote. */
export const editedNotice = (toolId: string, { by, note }: CallDecided): Notice => ({
  code: 'call_approval.params_edited',
  message: `${by ?? 'The person who approved the call'} changed its parameters before ${toolId} ran.${noteText(note)}`,
})

const noteText = (note: string): string => (note.trim() === '' ? '' : ` Note: ${note.trim()}`)

const refused = (toolId: string, { note, by }: CallDecided): Outcome =>
  failed('call_refused', `${by ?? 'The person who was asked'} did not approve this call of ${toolId}. It was not run.${noteText(note)}`)

const expired = (toolId: string, { kind, expires_at }: Wait): Outcome =>
  kind === 'approval'
    ? failed('approval_expired', `Nobody approved this call of ${toolId} until ${expires_at}. It was not run.`)
    : failed('result_expired', `The result of ${toolId} did not arrive until ${expires_at}. Whether the call had its effect is not known.`)

function withdrawn(toolId: string, { kind }: Wait): Outcome {
  const why = {
    approval: `The user sent new instructions before the call of ${toolId} was approved. It was not run.`,
    child: `The user sent new instructions, so the sub-agent of ${toolId} was stopped. What it did before stays done.`,
    later: `The user sent new instructions, so the result of ${toolId} is no longer awaited, and will not arrive. What the call did before stays done.`,
  }
  return failed('call_withdrawn', kind === 'approval' || kind === 'child' ? why[kind] : why.later)
}

const unavailable = (toolId: string, { kind }: Wait): Outcome =>
  failed(
    'tool_unavailable',
    `The call of ${toolId} ${kind === 'child' ? 'could go on' : 'was approved'}, but the tool does not exist any more or does not accept the parameters. It was not run.`,
  )

const interim = ({ question }: Wait): Outcome =>
  succeeded({
    output: {
      status: 'pending',
      message: 'The result is not there yet. It will arrive as an event.',
      ...(question !== undefined && { note: question }),
    },
  })
