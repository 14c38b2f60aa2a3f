import type { BlockOrigin } from '../../core/block/index.ts'
import type { Change, Wait } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import type { Question, Reply } from '../../tools/tool.ts'
import type { Turn } from '../turn/turn.ts'
import { waitingChange } from './approvals.ts'
import { answerId, isExpired, readDecisionEvent } from './wait-events.ts'

/** The time between two checks whether the time for an answer is over. An answer wakes the turn without this delay. */
const CHECK_MS = 1_000

/**
 * Asks a person a question of a tool that is running. The question is in the journal, so any process can list it and record an answer. Only
 * this process can use the answer. If this process dies, the outcome of the call is unknown. Returns `cancel` if the signal is aborted or
 * the time for approvals is over.
 */
export async function askPerson(
  turn: Turn,
  { callId }: BlockOrigin,
  { message, schema }: Question,
  signals: readonly AbortSignal[],
): Promise<Reply> {
  const { agent, conversation } = turn
  const { ledger, inbox } = conversation
  const { approvalSeconds } = agent.settings
  const wait: Wait = {
    wait_id: `ask-${callId}-${agent.clock.randomHex(6)}`,
    kind: 'elicitation',
    call_id: callId,
    question: message,
    schema,
    running: true,
    ...(approvalSeconds !== undefined && {
      expires_at: new Date(Date.parse(agent.clock.now()) + approvalSeconds * 1000).toISOString(),
    }),
  }
  const signal = AbortSignal.any([...signals])
  const aborted = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => aborted.resolve(), { once: true })
  await ledger.commit(waitingChange(turn, [wait], true))
  for (;;) {
    const answer = ledger.timeline.inbox.find(({ event_id }) => event_id === answerId(wait))
    if (answer) {
      await ledger.commit(endChanges(turn, wait, answer))
      return replyIn(answer)
    }
    if (conversation.signal.aborted) return { action: 'cancel' } // the agent is closed, so it commits nothing
    if (signal.aborted || isExpired(wait, agent.clock.now())) {
      await ledger.commit(endChanges(turn, wait))
      return { action: 'cancel' }
    }
    await Promise.race([inbox.waitForEvents(CHECK_MS), aborted.promise])
  }
}

function replyIn(answer: InboxEvent): Reply {
  const decision = readDecisionEvent(answer)
  return decision?.approved ? { action: 'accept', content: decision.params ?? {} } : { action: 'decline' }
}

function endChanges({ turnId, agent }: Turn, { wait_id }: Wait, answer?: InboxEvent): readonly Change[] {
  const ts = agent.clock.now()
  return [
    ...(answer ? [{ type: 'event.folded' as const, ts, event_ids: [answer.event_id], turn_id: turnId }] : []),
    { type: 'turn.resumed', turn_id: turnId, ts, wait_ids: [wait_id] },
  ]
}

/** Ends the questions of a process that has died, and removes their answers, because no process can use them any more. */
export async function dropQuestions({ turnId, agent, conversation }: Turn): Promise<void> {
  const isLost = ({ kind, running }: Wait) => kind === 'elicitation' && running === true
  if (!conversation.ledger.timeline.openTurn?.waits?.some(isLost)) return
  await conversation.ledger.commit(({ openTurn, inbox }) => {
    const ts = agent.clock.now()
    const lost = openTurn?.waits?.filter(isLost) ?? []
    const answers = new Set(lost.map(answerId))
    const event_ids = inbox.flatMap(({ event_id }) => (answers.has(event_id) ? [event_id] : []))
    return [
      ...(event_ids.length > 0 ? [{ type: 'event.folded' as const, ts, event_ids, turn_id: turnId }] : []),
      { type: 'turn.resumed', turn_id: turnId, ts, wait_ids: lost.map(({ wait_id }) => wait_id) },
    ]
  })
}
