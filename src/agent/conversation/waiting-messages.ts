import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../core/failure.ts'
import { isKnownEvent } from '../../core/timeline/timeline.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { checkEventId, checkText, type EventOptions } from '../message.ts'
import { isBusy, isLost } from './claim.ts'
import type { Replacement } from './inbox.ts'
import type { RunningConversations } from './running.ts'
import { missingConversation } from './start-reason.ts'
import { unreadWithdrawalOf } from './take-offers.ts'

/** How long a withdrawal waits until the process that runs the conversation has taken the request, and how often it checks this. */
const WAIT_MS = 10_000
const POLL_MS = 50

/**
 * `done`: the message was withdrawn or replaced. `recorded`: another process runs the conversation and has not taken the request in time.
 * The request stays stored, and that process takes it later.
 */
export type WithdrawalState = 'done' | 'recorded'

/** What can be done with a message that waits until a turn reads it. */
export interface WaitingMessages {
  /**
   * Takes back a message that no turn has read. Throws `message.missing` if there is no such message, and `message.read` if a turn has read
   * it or it was taken back before.
   */
  withdraw(conversationId: string, eventId: string): Promise<WithdrawalState>
  /**
   * Replaces the text of a message that no turn has read. Its files stay. The changed message has another id, and waits behind all other
   * waiting messages. Throws as `withdraw` does.
   */
  changeMessage(
    conversationId: string,
    eventId: string,
    text: string,
    options?: EventOptions,
  ): Promise<{ readonly state: WithdrawalState; readonly eventId: string }>
}

interface WaitingMessageParts {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly conversations: Pick<RunningConversations, 'find' | 'start'>
}

export function createWaitingMessages({ store, clock, conversations }: WaitingMessageParts): WaitingMessages {
  async function takeBack(conversationId: string, eventId: string, replacement?: Replacement): Promise<WithdrawalState> {
    const running = await conversations.find(conversationId)
    if (running && (await running.inbox.withdraw(eventId, clock.now(), undefined, replacement))) return 'done'
    const saved = await store.loadVisible(conversationId)
    if (!saved) throw missingConversation(conversationId)
    const isOffered = (await store.findOffer(conversationId, eventId)) === 'open'
    if (!isOffered && !isKnownEvent(saved.timeline, eventId)) throw new Failure('message.missing', 'no message has this event id')
    if (replacement && isKnownEvent(saved.timeline, replacement.eventId)) return 'done' // the same request was made before
    const isWaiting = saved.timeline.inbox.some(({ event_id, kind }) => event_id === eventId && kind === 'followup')
    if (!isWaiting && !isOffered) throw messageRead()
    return askOwner(conversationId, eventId, replacement)
  }

  /**
   * Offers the withdrawal to the process that runs the conversation. If no process runs it, this process claims the conversation and takes
   * the offer.
   */
  async function askOwner(conversationId: string, eventId: string, replacement: Replacement | undefined): Promise<WithdrawalState> {
    const withdrawal = unreadWithdrawalOf(eventId, clock, replacement)
    await store.offer(conversationId, withdrawal)
    await conversations.start(conversationId, { kind: 'unfinished' }).catch((error: unknown) => {
      if (!isBusy(error) && !isLost(error)) throw error // another process runs the conversation, so that process takes the offer
    })
    for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
      const outcome = await store.findOffer(conversationId, withdrawal.event_id)
      if (outcome === 'accepted') return 'done'
      if (outcome !== 'open') throw messageRead()
      await sleep(POLL_MS)
    }
    return 'recorded'
  }

  return {
    withdraw: (conversationId, eventId) => takeBack(conversationId, eventId),
    async changeMessage(conversationId, eventId, text, { eventId: replacementId = clock.randomHex(12) } = {}) {
      checkText('text', text)
      checkEventId(replacementId)
      return { state: await takeBack(conversationId, eventId, { eventId: replacementId, text }), eventId: replacementId }
    },
  }
}

const messageRead = () => new Failure('message.read', 'a turn has read this message already, or it was taken back')
