import { hostname } from 'node:os'
import type { Attachment } from '../core/block/index.ts'
import { Failure } from '../core/failure.ts'
import type { InboxEvent } from '../core/timeline/change.ts'
import { emptyTimeline } from '../core/timeline/timeline.ts'
import type { Clock } from '../ports/clock.ts'
import { type Claim, type ConversationStore, HEARTBEAT_MS, type Owner } from '../ports/store.ts'
import type { Input, Opening } from './begin.ts'
import { entriesOfTurn } from './entries.ts'
import { readFeedback } from './feedback.ts'
import { cancelled, type TurnResult } from './finish.ts'
import type { Hooks } from './hooks.ts'
import type { Hub } from './hub.ts'
import { createInbox, type Inbox } from './inbox.ts'
import { openLedger } from './ledger.ts'
import type { AgentSettings } from './settings.ts'
import type { Toolbox } from './toolbox.ts'
import { type Models, runTurn, type Turn } from './turn.ts'
import type { View } from './view.ts'

/** What every turn of an agent is given. */
export interface Household {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly hub: Hub
  readonly models: Models
  readonly toolbox: Toolbox
  readonly system: string
  systemTokens(): number
  readonly settings: AgentSettings
  readonly hooks: Hooks
  createView(): View
  /** Told of what cannot reach anybody else. */
  onProblem(problem: Problem): void
}

export interface Problem {
  readonly where: string
  readonly error: unknown
}

/** A conversation that is being worked on: one claim, one turn at a time, and an inbox that is open all the while. */
export interface Running {
  readonly turnId: string
  readonly inbox: Inbox
  /** When the turn, and every turn that grew out of it, is over. */
  readonly over: Promise<TurnResult>
  abort(reason: unknown): void
}

export const thisProcess = (clock: Clock): Owner => ({ id: clock.randomHex(16), host: hostname(), pid: process.pid })

/** Claims the conversation and starts a turn on it. Resolves when the turn has a number and its inbox is open. */
export async function startTurn(
  household: Household,
  owner: Owner,
  conversationId: string,
  opening: 'left-behind' | { readonly text: string; readonly attachments: readonly Attachment[] },
): Promise<Running | undefined> {
  const { store, clock, hub, onProblem } = household
  const claim = await store.claim(conversationId, owner)
  const giveBack = () => store.release(claim).catch((error: unknown) => onProblem({ where: 'release', error })) // then it expires
  const orGiveBack = async (error: unknown): Promise<never> => {
    await giveBack()
    throw error
  }
  const saved = (await store.loadVisible(conversationId).catch(orGiveBack)) ?? { timeline: emptyTimeline(), lastSeq: 0 }
  const left = saved.timeline.openTurn?.turn_id
  if (opening === 'left-behind' && left === undefined) {
    await giveBack()
    return undefined
  }
  const ledger = openLedger(saved, claim, store, (event) => hub.publish(conversationId, event))
  const inbox = createInbox(ledger)
  const abort = new AbortController()
  const view = household.createView()
  if (left !== undefined && opening !== 'left-behind') await inbox.accept(asFollowup(opening.text, clock)).catch(orGiveBack)
  const newTurn = () => `turn_${Date.parse(clock.now())}_${clock.randomHex(6)}`
  const first = left ?? newTurn()

  const turnOf = async (turnId: string): Promise<Turn> => ({
    ...household,
    conversationId,
    turnId,
    ledger,
    inbox,
    view,
    news: { feedbacks: await readFeedback(ledger, clock.now(), household.settings) },
    signal: abort.signal,
    emit: (event) => hub.publish(conversationId, event),
    entries: () => entriesOfTurn(store, conversationId, ledger.lastSeq, turnId),
  })

  async function work(): Promise<TurnResult> {
    const stopHeart = beat(household, claim, abort)
    try {
      const start: Opening = left !== undefined || opening === 'left-behind' ? { kind: 'left-behind' } : { kind: 'asked', input: opening }
      let result = await runTurn(await turnOf(first), start)
      for (let next = unanswered(inbox); next !== undefined && result.exitReason !== 'cancelled'; next = unanswered(inbox)) {
        result = await runTurn(await turnOf(newTurn()), { kind: 'asked', input: next })
      }
      return result
    } catch (error) {
      if (isSuperseded(error)) return cancelled({ turnId: first }) // another process goes on with it: the user need not know
      throw error
    } finally {
      stopHeart()
      await giveBack()
    }
  }
  return { turnId: first, inbox, over: work(), abort: (reason) => abort.abort(reason) }
}

/** A followup that no turn has taken up becomes the next one. */
function unanswered(inbox: Inbox): Input | undefined {
  const event = inbox.waiting.find(({ kind }) => kind === 'followup')
  return event && inputOf(event)
}

/** Said to a conversation whose last turn was left behind: it is part of that turn now, and waits in the journal meanwhile. */
const asFollowup = (text: string, clock: Clock) => ({ event_id: clock.randomHex(12), kind: 'followup' as const, ts: clock.now(), text })

const inputOf = ({ text, event_id }: InboxEvent): Input => ({ text, attachments: [], eventId: event_id })

/** Keeps the lease; when it is lost, the turn must stop at once: someone else is writing. A beat that only failed is followed by another. */
function beat({ store, onProblem }: Household, claim: Claim, abort: AbortController): () => void {
  const timer = setInterval(() => {
    store.renew(claim).catch((error: unknown) => (isSuperseded(error) ? abort.abort(error) : onProblem({ where: 'heartbeat', error })))
  }, HEARTBEAT_MS)
  timer.unref()
  return () => clearInterval(timer)
}

export const isSuperseded = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.superseded'
