import type { PriceOf } from '../../core/cost/price.ts'
import type { TurnEvent } from '../../core/event.ts'
import { blocksOfTurn } from '../../core/timeline/timeline.ts'
import { pausesTurn } from '../../core/timeline/waits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ConversationStore, Saved } from '../../ports/store.ts'
import type { Problem } from '../agent-context.ts'
import { readStoredResult } from '../archive/stored-result.ts'
import { cancelledError } from '../conversation/cancel-message.ts'
import { entriesOfTurn } from '../conversation/history.ts'
import type { OfferedMessage } from '../conversation/running.ts'
import { missingConversation } from '../conversation/start-reason.ts'
import { withdrawalOf } from '../conversation/take-offers.ts'
import { cancelledBeforeAnswer, type ExitReason, type TurnResult } from '../turn/result.ts'
import { describeWaits, type TurnWait } from '../waits/describe-wait.ts'
import type { EventHub } from './event-hub.ts'
import { follow } from './follow.ts'
import type { RemoteEvents } from './relay/on-demand.ts'
import type { FeedHandle } from './turn-handle.ts'

/** A message that was offered to the process which runs the conversation, and the options of its `run`. */
interface FollowedMessage {
  readonly conversationId: string
  readonly offered: OfferedMessage
  readonly signal: AbortSignal | undefined
  readonly feed: FeedHandle
}

interface FollowParts {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly hub: EventHub
  readonly remote: RemoteEvents | undefined
  readonly agentClosed: AbortSignal
  readonly priceOf: PriceOf | undefined
  onProblem(problem: Problem): void
}

/**
 * How often `findOffer` is called for a withdrawal. The journal can not show the outcome, because a refused withdrawal appends no entry.
 */
const WITHDRAWAL_POLL_MS = 100

/**
 * Follows the journal of a conversation that another process runs, until the turn that has read the message is closed or waits. The result
 * is made from the entries, so it does not matter which process runs the turn, or whether another process continues it. If the signal is
 * aborted, the message is withdrawn, as `RunOptions.signal` describes.
 */
export async function followTurn(message: FollowedMessage, parts: FollowParts): Promise<TurnResult> {
  const { conversationId, offered, signal, feed } = message
  const { store, hub, agentClosed, onProblem } = parts
  const leave = new AbortController()
  const refused = Promise.withResolvers<never>()
  refused.promise.catch(() => {}) // without a handler, a rejection that comes after the answer would end the process
  const onAbort = () => {
    withdraw(message, parts, leave.signal).then(
      (outcome) => outcome === 'refused' && refused.reject(cancelledError('read', signal?.reason)),
      (error: unknown) => onProblem({ where: 'stop', error }),
    )
  }
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })
  const keepAlive = setInterval(() => {}, KEEP_ALIVE_MS)
  try {
    const events = follow(
      conversationId,
      { after: feed.begin() ?? offered.lastSeq, signal: leave.signal },
      hub,
      store,
      agentClosed,
      parts.remote,
    )
    const answer = await Promise.race([awaitAnswer(events, offered.event.event_id, feed), refused.promise])
    if (answer.kind === 'withdrawn') throw cancelledError('withdrawn', signal?.reason)
    if (answer.kind === 'ended' && !agentClosed.aborted) throw missingConversation(conversationId)
    return await resultOf(answer, conversationId, parts)
  } finally {
    clearInterval(keepAlive)
    leave.abort()
    signal?.removeEventListener('abort', onAbort)
  }
}

/**
 * The interval of a timer that keeps the process running while a caller awaits an answer. Watching a store does not keep the process
 * running.
 */
const KEEP_ALIVE_MS = 60_000

/**
 * The result of the turn, as it is read from the journal. If the turn is still open because the agent was closed, the exit reason is
 * `cancelled`.
 */
async function resultOf({ kind, turnId }: Answer, conversationId: string, { store, priceOf }: FollowParts): Promise<TurnResult> {
  if (turnId === undefined || kind !== 'answered') return cancelledBeforeAnswer(turnId ?? '')
  const saved = await store.loadVisible(conversationId)
  const stored = saved && (await readStoredResult(store, conversationId, turnId, saved.timeline, priceOf))
  if (!stored) throw missingConversation(conversationId)
  const exitReason = (stored.exitReason ?? 'waiting') as ExitReason // only Daybook writes it
  const waits = stored.exitReason === null && (await waitsOf(store, conversationId, turnId, saved))
  return { ...stored, exitReason, ...(waits && { waits }), timings: { ...stored.timings, modelMs: 0, toolMs: 0 } }
}

async function waitsOf(
  store: FollowParts['store'],
  conversationId: string,
  turnId: string,
  { timeline, lastSeq }: Saved,
): Promise<readonly TurnWait[]> {
  const changes = async () => (await entriesOfTurn(store, conversationId, lastSeq, turnId)).changes
  return describeWaits(timeline.openTurn?.waits ?? [], blocksOfTurn(timeline, turnId), changes)
}

/**
 * Asks the process that runs the conversation to withdraw the message. Resolves when that process has withdrawn the message or has refused
 * the request.
 */
async function withdraw({ conversationId, offered }: FollowedMessage, { store, clock }: FollowParts, over: AbortSignal) {
  const withdrawal = withdrawalOf(offered.event.event_id, clock)
  await store.offer(conversationId, withdrawal)
  for (;;) {
    const outcome = await store.findOffer(conversationId, withdrawal.event_id)
    if (outcome !== 'open' || over.aborted) return outcome
    await new Promise((resolve) => setTimeout(resolve, WITHDRAWAL_POLL_MS))
  }
}

/** How the wait for an answer ended. `ended`: there are no more events, because the agent was closed or the conversation was deleted. */
interface Answer {
  readonly kind: 'answered' | 'withdrawn' | 'ended'
  /** The turn that has read the message. Undefined when no turn has read it. */
  readonly turnId: string | undefined
}

/** Reads events until the turn that has read the message `eventId` is closed, or waits. */
async function awaitAnswer(events: AsyncIterable<TurnEvent>, eventId: string, feed: FeedHandle): Promise<Answer> {
  let turnId: string | undefined
  for await (const event of events) {
    feed.push(event)
    if (event.type !== 'entry') continue
    const { change } = event
    if (change.type === 'event.folded' && change.event_ids.includes(eventId)) {
      if (change.turn_id === null) return { kind: 'withdrawn', turnId }
      turnId = change.turn_id
    }
    if (pausesTurn(change) && 'turn_id' in change && change.turn_id === turnId) return { kind: 'answered', turnId }
  }
  return { kind: 'ended', turnId }
}
