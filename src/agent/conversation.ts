import { hostname } from 'node:os'
import type { BlobRef } from '../core/block/index.ts'
import type { EntryEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'
import { readConversationKey } from '../core/scope.ts'
import type { Change, InboxEvent, SystemPrint } from '../core/timeline/change.ts'
import { emptyTimeline, isKnownEvent, type Timeline, waitingFollowups } from '../core/timeline/timeline.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hosting } from '../ports/hosting.ts'
import { type Claim, type ConversationStore, HEARTBEAT_MS, type Owner, type Saved } from '../ports/store.ts'
import type { Workspace, Workspaces } from '../ports/workspace.ts'
import { historyOf } from '../tools/artifacts/history.ts'
import { createCallLog, flushContext } from '../tools/context-files.ts'
import { type Answers, createAnswers } from './answers.ts'
import { attachmentsIn, bytesOfAttachments, createPlacer } from './attachments.ts'
import type { Input, Opening } from './begin.ts'
import { createBill, recallBill } from './bill.ts'
import { entriesOfTurn } from './entries.ts'
import { readFeedback } from './feedback.ts'
import { cancelled, type TurnResult } from './finish.ts'
import type { Hooks } from './hooks.ts'
import type { Hub } from './hub.ts'
import { createInbox, type Inbox, type NewEvent } from './inbox.ts'
import { openLedger } from './ledger.ts'
import { deskOf, recordsOf } from './records.ts'
import { restoreTurn } from './restore.ts'
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
  readonly systemPrint: SystemPrint
  readonly settings: AgentSettings
  readonly hooks: Hooks
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  createView(): View
  readonly onEntry: ((conversationId: string, event: EntryEvent) => void) | undefined
  /** Told of what cannot reach anybody else. */
  onProblem(problem: Problem): void
}

export interface Problem {
  readonly where: string
  readonly error: unknown
}

/** A conversation that is being worked on: one claim, one turn at a time, and an inbox that is open all the while. */
export interface Running {
  /** The turn it began with. */
  readonly turnId: string
  readonly inbox: Inbox
  readonly answers: Answers
  /** What it was started for is in the journal: it will not be lost. */
  readonly entered: Promise<void>
  /** Enters something that belongs to the conversation and to no turn. */
  enter(change: Change): Promise<void>
  /** What came of what it was started for. Undefined when that needed no turn. */
  readonly first: Promise<TurnResult | undefined>
  /** When that turn, and every turn that grew out of it, is over. */
  readonly over: Promise<void>
  abort(reason: unknown): void
}

/** Why someone turns to a conversation that nobody is working on. */
export type Start =
  | { readonly kind: 'asked'; readonly input: Input }
  /** To take up the turn that was left behind, or to begin the one that a followup waits for. */
  | { readonly kind: 'left-behind' }
  /** Something that waits for the next turn, whenever that is. */
  | { readonly kind: 'told'; readonly event: NewEvent }

export const thisProcess = (clock: Clock): Owner => ({ id: clock.randomHex(16), host: hostname(), pid: process.pid })

/** Claims the conversation and begins. Resolves when its inbox is open; undefined when there is nothing to do. */
export async function startTurn(household: Household, owner: Owner, conversationId: string, start: Start): Promise<Running | undefined> {
  const { store } = household
  if (start.kind === 'told' && !(await store.loadVisible(conversationId))) throw missing(conversationId)
  const claim = await store.claim(conversationId, owner)
  try {
    const saved = (await store.loadVisible(conversationId)) ?? { timeline: emptyTimeline(), lastSeq: 0 }
    if (!isIdle(start, saved.timeline)) return await work(household, claim, saved, start)
  } catch (error) {
    await giveBack(household, claim)
    throw error
  }
  await giveBack(household, claim)
  return undefined
}

/** What cannot be given back expires. */
const giveBack = ({ store, onProblem }: Household, claim: Claim): Promise<void> =>
  store.release(claim).catch((error: unknown) => onProblem({ where: 'release', error }))

function isIdle(start: Start, timeline: Timeline): boolean {
  if (leftIn(timeline)) return false
  if (start.kind === 'left-behind') return true
  const eventId = start.kind === 'told' ? start.event.event_id : start.input.eventId
  return eventId !== undefined && isKnownEvent(timeline, eventId)
}

/** What a process that died has left to do: its turn, else the one that the oldest followup waits for. */
function leftIn(timeline: Timeline): Opening | undefined {
  if (timeline.openTurn) return { kind: 'left-behind' }
  const [oldest] = waitingFollowups(timeline)
  return oldest && { kind: 'asked', input: inputOf(oldest) }
}

/**
 * A turn, and then one for each followup that no turn has taken in. What was left behind comes first, whoever asks: what they say
 * becomes part of it.
 */
async function work(household: Household, claim: Claim, saved: Saved, start: Start): Promise<Running> {
  const { store, clock, hub, models, toolbox, system, systemTokens, systemPrint, settings, hooks, hosting, onProblem } = household
  const { blobs } = store
  const { conversationId } = claim
  const left = saved.timeline.openTurn?.turn_id
  const newTurn = () => `turn_${Date.parse(clock.now())}_${clock.randomHex(6)}`
  const turnId = left ?? newTurn()
  const answers = createAnswers()
  const bill = createBill(settings.priceOf)
  const abort = new AbortController()
  const { signal } = abort
  const view = household.createView()
  const entered = Promise.withResolvers<void>()
  let current: Promise<TurnResult> | undefined

  const ledger = openLedger(saved, claim, store, (event) => {
    const { change } = event
    bill.take(change)
    if (change.type === 'turn.opened') entered.resolve()
    else if (change.type === 'turn.closed') inbox.leave()
    if (current && change.type === 'event.folded') answers.taken(change.event_ids, current)
    hub.publish(conversationId, event)
    household.onEntry?.(conversationId, event)
  })
  const inbox = createInbox(ledger, turnId, signal)
  const emit: Turn['emit'] = (event) => hub.publish(conversationId, event)
  const readBlob = ({ sha256 }: BlobRef) => blobs.get(sha256)
  const records = recordsOf(store, conversationId)
  const place = createPlacer(blobs)
  const desk = deskOf(household.workspaces, conversationId)
  const audience = hub.audience(conversationId)
  const { scope } = readConversationKey(conversationId)

  async function turn(id: string, opening: Opening, heard: Promise<unknown> | undefined): Promise<TurnResult> {
    inbox.serve(id)
    if (heard) await heard // who waited for the turn before is ahead of this one, and watches no more when it begins
    const news = { feedbacks: await readFeedback(ledger, clock.now(), settings) }
    const entries = () => entriesOfTurn(store, conversationId, ledger.lastSeq, id)
    const calls = household.workspaces && createCallLog()
    const restore = (opened: Workspace) => restoreTurn(opened, id, ledger.timeline, historyOf({ records, blobs }))
    const takenUp = id === left
    const openDesk = desk.forTurn(id, takenUp ? restore : undefined)
    const workspace = async () => {
      const opened = await openDesk()
      await place(opened, ledger.timeline, id).catch((error: unknown) => onProblem({ where: 'attachments', error })) // tried again, and read from the journal meanwhile
      return opened
    }
    if (takenUp && settings.maxMoney !== undefined) recallBill(bill, (await entries()).changes, id)
    // biome-ignore format: what is the agent's, the conversation's and the turn's
    const given: Turn = {
      models, toolbox, system, systemTokens, systemPrint, settings, hooks, clock, blobs, hosting, onProblem,
      conversationId, scope, ledger, inbox, view, bill, records, desk, readBlob, signal, emit, audience,
      turnId: id, news, takenUp, calls, workspace, entries,
    }
    const result = await runTurn(given, opening).catch((error: unknown) => {
      if (isSuperseded(error)) return cancelled(given) // another process goes on with it: the user need not know
      throw error
    })
    if (desk.isOpen(id) && result.exitReason !== 'cancelled') {
      const flushed = flushContext({ timeline: ledger.timeline, workspace }, calls?.take())
      await flushed.catch((error: unknown) => onProblem({ where: 'workspace', error })) // a view: everything in it is in the journal
    }
    return result
  }

  /** Its result is told when the next turn is sure to begin, or when there is none and everything has come to rest. */
  function begin(id: string, opening: Opening, heard?: Promise<unknown>): Begun {
    const told = Promise.withResolvers<TurnResult>()
    told.promise.catch(() => {}) // whoever wants to know awaits it; nobody has to
    current = told.promise
    return { result: turn(id, opening, heard), told }
  }

  async function workOff(first: Begun | undefined): Promise<void> {
    const stopHeart = beat(household, claim, abort)
    let last = first
    try {
      for (;;) {
        const result = await last?.result
        const next = result?.exitReason === 'cancelled' ? undefined : await inbox.rest()
        if (next === undefined) break
        if (result) last?.told.resolve(result)
        last = begin(newTurn(), { kind: 'asked', input: inputOf(next) }, last?.told.promise)
      }
    } catch (error) {
      last ??= { result: Promise.reject(error), told: Promise.withResolvers() }
      throw error
    } finally {
      inbox.close()
      stopHeart()
      hub.close(conversationId)
      await giveBack(household, claim)
      last?.told.resolve(last.result)
      if (last) answers.over(last.result)
    }
  }

  const leftover = leftIn(saved.timeline)
  const event = leftover && start.kind === 'asked' ? followup(start.input, clock) : start.kind === 'told' ? start.event : undefined
  if (event) await inbox.accept(event)
  const opening: Opening | undefined = leftover ?? (start.kind === 'asked' ? start : undefined)
  hub.open(conversationId, ledger.lastSeq)
  const begun = opening && begin(turnId, opening)
  const first = event && start.kind === 'asked' ? answers.to(event.event_id) : Promise.resolve(begun?.told.promise)
  const over = workOff(begun)
  if (opening !== start) entered.resolve() // it waits in the journal by now
  over.then(entered.resolve, entered.reject)
  for (const promise of [first, over, entered.promise]) promise.catch(() => {})
  const enter = (change: Change) => ledger.commit(() => [change])
  return { turnId, inbox, answers, entered: entered.promise, enter, first, over, abort: (reason) => abort.abort(reason) }
}

/** A turn that runs, and the promise that others hold. */
interface Begun {
  readonly result: Promise<TurnResult>
  readonly told: PromiseWithResolvers<TurnResult>
}

/** Said to a conversation that is busy, or where something was left behind: it is part of that turn, and waits in the journal meanwhile. */
export function followup({ text, attachments, eventId }: Input, clock: Clock): NewEvent {
  const payload = attachments.length > 0 ? { payload: { attachments }, keeps: bytesOfAttachments(attachments) } : {}
  return { event_id: eventId ?? clock.randomHex(12), kind: 'followup', ts: clock.now(), text, ...payload }
}

const inputOf = (event: InboxEvent): Input => ({ text: event.text, attachments: attachmentsIn(event), eventId: event.event_id })

const missing = (conversationId: string) => new Failure('conversation.missing', `there is no conversation ${conversationId}`)

/** Keeps the lease; when it is lost, the turn must stop at once: someone else is writing. A beat that only failed is followed by another. */
function beat({ store, onProblem }: Household, claim: Claim, abort: AbortController): () => void {
  const timer = setInterval(() => {
    store.renew(claim).catch((error: unknown) => (isSuperseded(error) ? abort.abort(error) : onProblem({ where: 'heartbeat', error })))
  }, HEARTBEAT_MS)
  timer.unref()
  return () => clearInterval(timer)
}

export const isSuperseded = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.superseded'

export const isBusy = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.busy'
