import { hostname } from 'node:os'
import type { BlobRef } from '../../core/block/index.ts'
import type { EntryEvent } from '../../core/event.ts'
import { Failure } from '../../core/failure.ts'
import { parseConversationKey } from '../../core/scope.ts'
import type { Change, InboxEvent, SystemFingerprint } from '../../core/timeline/change.ts'
import { emptyTimeline, isKnownEvent, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Hosting } from '../../ports/hosting.ts'
import { type Claim, type ConversationStore, HEARTBEAT_MS, type Owner, type Saved } from '../../ports/store.ts'
import type { Workspace, Workspaces } from '../../ports/workspace.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import { createCallLog, flushContext } from '../../tools/context-files.ts'
import type { EventHub } from '../events/event-hub.ts'
import type { Hooks } from '../hooks.ts'
import type { AgentSettings } from '../settings.ts'
import type { Toolbox } from '../tools.ts'
import { attachmentsIn, bytesOfAttachments, createPlacer } from '../turn/attachments.ts'
import { collectFeedback } from '../turn/feedback.ts'
import { cancelledResult, type TurnResult } from '../turn/finish.ts'
import type { TurnInput, TurnStart } from '../turn/start.ts'
import { type Models, runTurn, type Turn } from '../turn/turn.ts'
import { createWorkspaceHandle, recordsOf, restoreWorkspace } from '../turn/workspace.ts'
import { entriesOfTurn } from './history.ts'
import { createInbox, type Inbox, type NewEvent } from './inbox.ts'
import { openLedger } from './ledger.ts'
import type { Renderers } from './renderers.ts'
import { createResultsByEvent, type ResultsByEvent } from './running.ts'
import { createSpending, restoreSpending } from './spending.ts'

/** What every turn of an agent is given. */
export interface AgentContext {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly hub: EventHub
  readonly models: Models
  readonly toolbox: Toolbox
  readonly system: string
  systemTokens(): number
  readonly systemFingerprint: SystemFingerprint
  readonly settings: AgentSettings
  readonly hooks: Hooks
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  createRenderers(): Renderers
  readonly onEntry: ((conversationId: string, event: EntryEvent) => void) | undefined
  /** Told of what cannot reach anybody else. */
  onProblem(problem: Problem): void
}

export interface Problem {
  readonly where: string
  readonly error: unknown
}

/** A conversation that is being worked on: one claim, one turn at a time, and an inbox that is open all the while. */
export interface RunningConversation {
  /** The turn it began with. */
  readonly firstTurnId: string
  readonly inbox: Inbox
  readonly results: ResultsByEvent
  /** What it was started for is in the journal: it will not be lost. */
  readonly journaled: Promise<void>
  /** Enters something that belongs to the conversation and to no turn. */
  commit(change: Change): Promise<void>
  /** What came of what it was started for. Undefined when that needed no turn. */
  readonly firstResult: Promise<TurnResult | undefined>
  /** When that turn, and every turn that grew out of it, is over. */
  readonly finished: Promise<void>
  abort(reason: unknown): void
}

/** Why someone turns to a conversation that nobody is working on. */
export type StartReason =
  | { readonly kind: 'asked'; readonly input: TurnInput }
  /** To take up the turn that was left behind, or to begin the one that a followup waits for. */
  | { readonly kind: 'left-behind' }
  /** Something that waits for the next turn, whenever that is. */
  | { readonly kind: 'told'; readonly event: NewEvent }

export const createOwner = (clock: Clock): Owner => ({ id: clock.randomHex(16), host: hostname(), pid: process.pid })

/** Claims the conversation and begins. Resolves when its inbox is open; undefined when there is nothing to do. */
export async function startConversation(
  household: AgentContext,
  owner: Owner,
  conversationId: string,
  start: StartReason,
): Promise<RunningConversation | undefined> {
  const { store } = household
  if (start.kind === 'told' && !(await store.loadVisible(conversationId))) throw missingConversation(conversationId)
  const claim = await store.claim(conversationId, owner)
  try {
    const saved = (await store.loadVisible(conversationId)) ?? { timeline: emptyTimeline(), lastSeq: 0 }
    if (!hasNothingToDo(start, saved.timeline)) return await startTurns(household, claim, saved, start)
  } catch (error) {
    await releaseClaim(household, claim)
    throw error
  }
  await releaseClaim(household, claim)
  return undefined
}

/** What cannot be given back expires. */
const releaseClaim = ({ store, onProblem }: AgentContext, claim: Claim): Promise<void> =>
  store.release(claim).catch((error: unknown) => onProblem({ where: 'release', error }))

function hasNothingToDo(start: StartReason, timeline: Timeline): boolean {
  if (findUnfinished(timeline)) return false
  if (start.kind === 'left-behind') return true
  const eventId = start.kind === 'told' ? start.event.event_id : start.input.eventId
  return eventId !== undefined && isKnownEvent(timeline, eventId)
}

/** What a process that died has left to do: its turn, else the one that the oldest followup waits for. */
function findUnfinished(timeline: Timeline): TurnStart | undefined {
  if (timeline.openTurn) return { kind: 'left-behind' }
  const [oldest] = waitingFollowups(timeline)
  return oldest && { kind: 'asked', input: inputOf(oldest) }
}

/**
 * A turn, and then one for each followup that no turn has taken in. What was left behind comes first, whoever asks: what they say
 * becomes part of it.
 */
async function startTurns(household: AgentContext, claim: Claim, saved: Saved, start: StartReason): Promise<RunningConversation> {
  const {
    store,
    clock,
    hub,
    models,
    toolbox,
    system,
    systemTokens,
    systemFingerprint: systemPrint,
    settings,
    hooks,
    hosting,
    onProblem,
  } = household
  const { blobs } = store
  const { conversationId } = claim
  const left = saved.timeline.openTurn?.turn_id
  const newTurn = () => `turn_${Date.parse(clock.now())}_${clock.randomHex(6)}`
  const turnId = left ?? newTurn()
  const answers = createResultsByEvent()
  const bill = createSpending(settings.priceOf)
  const abort = new AbortController()
  const { signal } = abort
  const view = household.createRenderers()
  const entered = Promise.withResolvers<void>()
  let current: Promise<TurnResult> | undefined

  const ledger = openLedger(saved, claim, store, (event) => {
    const { change } = event
    bill.record(change)
    if (change.type === 'turn.opened') entered.resolve()
    else if (change.type === 'turn.closed') inbox.endTurn()
    if (current && change.type === 'event.folded') answers.assign(change.event_ids, current)
    hub.publish(conversationId, event)
    household.onEntry?.(conversationId, event)
  })
  const inbox = createInbox(ledger, turnId, signal)
  const emit: Turn['emit'] = (event) => hub.publish(conversationId, event)
  const readBlob = ({ sha256 }: BlobRef) => blobs.get(sha256)
  const records = recordsOf(store, conversationId)
  const place = createPlacer(blobs)
  const desk = createWorkspaceHandle(household.workspaces, conversationId)
  const audience = hub.watchers(conversationId)
  const { scope } = parseConversationKey(conversationId)

  async function turn(id: string, opening: TurnStart, heard: Promise<unknown> | undefined): Promise<TurnResult> {
    inbox.startTurn(id)
    if (heard) await heard // who waited for the turn before is ahead of this one, and watches no more when it begins
    const news = { feedbacks: await collectFeedback(ledger, clock.now(), settings) }
    const entries = () => entriesOfTurn(store, conversationId, ledger.lastSeq, id)
    const calls = household.workspaces && createCallLog()
    const restore = (opened: Workspace) => restoreWorkspace(opened, id, ledger.timeline, historyOf({ records, blobs }))
    const takenUp = id === left
    const openDesk = desk.forTurn(id, takenUp ? restore : undefined)
    const workspace = async () => {
      const opened = await openDesk()
      await place(opened, ledger.timeline, id).catch((error: unknown) => onProblem({ where: 'attachments', error })) // tried again, and read from the journal meanwhile
      return opened
    }
    if (takenUp && settings.maxMoney !== undefined) restoreSpending(bill, (await entries()).changes, id)
    // biome-ignore format: what is the agent's, the conversation's and the turn's
    const given: Turn = {
      models, toolbox, system, systemTokens, systemFingerprint: systemPrint, settings, hooks, clock, blobs, hosting, onProblem,
      conversationId, scope, ledger, inbox, renderers: view, spending: bill, records, workspaceHandle: desk, readBlob, signal, emit, watchers: audience,
      turnId: id, news, resumed: takenUp, callLog: calls, workspace, entries,
    }
    const result = await runTurn(given, opening).catch((error: unknown) => {
      if (isSuperseded(error)) return cancelledResult(given) // another process goes on with it: the user need not know
      throw error
    })
    if (desk.isOpen(id) && result.exitReason !== 'cancelled') {
      const flushed = flushContext({ timeline: ledger.timeline, workspace }, calls?.drain())
      await flushed.catch((error: unknown) => onProblem({ where: 'workspace', error })) // a view: everything in it is in the journal
    }
    if (result.exitReason !== 'cancelled') await hooks.onFlushCompleted({ turnId: id, exitReason: result.exitReason })
    return result
  }

  /** Its result is told when the next turn is sure to begin, or when there is none and everything has come to rest. */
  function begin(id: string, opening: TurnStart, heard?: Promise<unknown>): RunningTurn {
    const told = Promise.withResolvers<TurnResult>()
    told.promise.catch(() => {}) // whoever wants to know awaits it; nobody has to
    current = told.promise
    return { result: turn(id, opening, heard), callerResult: told }
  }

  async function workOff(first: RunningTurn | undefined): Promise<void> {
    const stopHeart = startHeartbeat(household, claim, abort)
    let last = first
    try {
      for (;;) {
        const result = await last?.result
        const next = result?.exitReason === 'cancelled' ? undefined : await inbox.nextFollowupOrClose()
        if (next === undefined) break
        if (result) last?.callerResult.resolve(result)
        last = begin(newTurn(), { kind: 'asked', input: inputOf(next) }, last?.callerResult.promise)
      }
    } catch (error) {
      last ??= { result: Promise.reject(error), callerResult: Promise.withResolvers() }
      throw error
    } finally {
      inbox.close()
      stopHeart()
      hub.close(conversationId)
      await releaseClaim(household, claim)
      last?.callerResult.resolve(last.result)
      if (last) answers.settleRest(last.result)
    }
  }

  const leftover = findUnfinished(saved.timeline)
  const event = leftover && start.kind === 'asked' ? followupEvent(start.input, clock) : start.kind === 'told' ? start.event : undefined
  if (event) await inbox.accept(event)
  const opening: TurnStart | undefined = leftover ?? (start.kind === 'asked' ? start : undefined)
  hub.open(conversationId, ledger.lastSeq)
  const begun = opening && begin(turnId, opening)
  const first = event && start.kind === 'asked' ? answers.of(event.event_id) : Promise.resolve(begun?.callerResult.promise)
  const over = workOff(begun)
  if (opening !== start) entered.resolve() // it waits in the journal by now
  over.then(entered.resolve, entered.reject)
  for (const promise of [first, over, entered.promise]) promise.catch(() => {})
  const enter = (change: Change) => ledger.commit(() => [change])
  return {
    firstTurnId: turnId,
    inbox,
    results: answers,
    journaled: entered.promise,
    commit: enter,
    firstResult: first,
    finished: over,
    abort: (reason) => abort.abort(reason),
  }
}

/** A turn that runs, and the promise that others hold. */
interface RunningTurn {
  readonly result: Promise<TurnResult>
  readonly callerResult: PromiseWithResolvers<TurnResult>
}

/** Said to a conversation that is busy, or where something was left behind: it is part of that turn, and waits in the journal meanwhile. */
export function followupEvent({ text, attachments, eventId }: TurnInput, clock: Clock): NewEvent {
  const payload = attachments.length > 0 ? { payload: { attachments }, keeps: bytesOfAttachments(attachments) } : {}
  return { event_id: eventId ?? clock.randomHex(12), kind: 'followup', ts: clock.now(), text, ...payload }
}

const inputOf = (event: InboxEvent): TurnInput => ({ text: event.text, attachments: attachmentsIn(event), eventId: event.event_id })

const missingConversation = (conversationId: string) => new Failure('conversation.missing', `there is no conversation ${conversationId}`)

/** Keeps the lease; when it is lost, the turn must stop at once: someone else is writing. A beat that only failed is followed by another. */
function startHeartbeat({ store, onProblem }: AgentContext, claim: Claim, abort: AbortController): () => void {
  const timer = setInterval(() => {
    store.renew(claim).catch((error: unknown) => (isSuperseded(error) ? abort.abort(error) : onProblem({ where: 'heartbeat', error })))
  }, HEARTBEAT_MS)
  timer.unref()
  return () => clearInterval(timer)
}

export const isSuperseded = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.superseded'

export const isBusy = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.busy'
