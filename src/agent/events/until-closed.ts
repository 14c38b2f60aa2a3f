import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../core/failure.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { StoredResult } from '../archive/stored-result.ts'
import { missingConversation } from '../conversation/start-reason.ts'
import type { EventHub } from './event-hub.ts'
import { follow } from './follow.ts'

/** Options of `Agent.untilClosed`. */
export interface UntilClosedOptions {
  /** Ends the waiting with an `AbortError`. The turn itself is not stopped. */
  readonly signal?: AbortSignal
}

interface UntilClosedParts {
  readonly store: ConversationStore
  readonly hub: EventHub
  readonly agentClosed: AbortSignal
  /** Reads the result of a turn from the journal. */
  turnResult(conversationId: string, turnId: string): Promise<StoredResult>
}

/**
 * The time between two checks of an event that no process has taken yet. The checks are needed because a refused event leaves no entry in
 * the journal.
 */
const OFFER_POLL_MS = 1_000

/** What the journal says about an event so far. */
interface EventState {
  accepted: boolean
  turnId: string | undefined
  end: 'closed' | 'withdrawn' | undefined
}

/**
 * Waits until the turn that has read an event is closed, in whichever process it runs. It changes nothing, so it can be called any number
 * of times, also long after the end of the turn.
 */
export async function untilClosed(
  conversationId: string,
  eventId: string,
  { signal }: UntilClosedOptions,
  parts: UntilClosedParts,
): Promise<StoredResult> {
  const { store, hub, agentClosed } = parts
  if (!(await store.head(conversationId))) throw missingConversation(conversationId)
  // The offer is read before the journal. If a process takes the offer in between, the journal has the event.
  const offer = await store.findOffer(conversationId, eventId)
  const state: EventState = { accepted: false, turnId: undefined, end: undefined }
  let lastSeq = 0
  for await (const { seq, change } of store.readJournal(conversationId, { after: 0, passNewer: true })) {
    signal?.throwIfAborted()
    lastSeq = seq
    note(state, change, eventId)
    if (state.end) break
  }
  if (!state.accepted && (offer === undefined || offer === 'refused')) throw offer === 'refused' ? withdrawn() : unknownMessage()
  if (!state.end) await followUntilEnd(lastSeq)
  if (state.end === 'withdrawn') throw withdrawn()
  if (state.end !== 'closed' || state.turnId === undefined) throw await whyEnded()
  return parts.turnResult(conversationId, state.turnId)

  async function followUntilEnd(after: number): Promise<void> {
    const leave = new AbortController()
    const stop = () => leave.abort()
    signal?.addEventListener('abort', stop, { once: true })
    const watching = watchRefusal(leave)
    try {
      for await (const event of follow(conversationId, { after, signal: leave.signal }, hub, store, agentClosed)) {
        if (event.type === 'entry') note(state, event.change, eventId)
        if (state.end) return
      }
      signal?.throwIfAborted()
    } finally {
      signal?.removeEventListener('abort', stop)
      leave.abort()
      await watching
    }
  }

  /** Ends the waiting if a process refuses the event. */
  async function watchRefusal(leave: AbortController): Promise<void> {
    while (!state.accepted && !leave.signal.aborted) {
      // `sleep` rejects when the waiting is over
      await sleep(OFFER_POLL_MS, undefined, { signal: leave.signal, ref: false }).catch(() => {})
      if (leave.signal.aborted || (await store.findOffer(conversationId, eventId)) !== 'refused') continue
      state.end = 'withdrawn'
      leave.abort()
    }
  }

  async function whyEnded(): Promise<Error> {
    if (agentClosed.aborted) return new DOMException('The agent is closing.', 'AbortError')
    return (await store.head(conversationId)) ? unknownMessage() : missingConversation(conversationId)
  }
}

function note(state: EventState, change: Change, eventId: string): void {
  if (change.type === 'event.accepted' && change.event.event_id === eventId) state.accepted = true
  if (change.type === 'event.folded' && change.event_ids.includes(eventId)) {
    if (change.turn_id === null) state.end = 'withdrawn'
    else state.turnId = change.turn_id
  }
  if (change.type === 'turn.closed' && change.turn_id === state.turnId) state.end = 'closed'
}

const unknownMessage = () => new Failure('message.missing', 'no message has this event id')
const withdrawn = () => new Failure('message.withdrawn', 'the message was taken back or refused, so no turn answers it')
