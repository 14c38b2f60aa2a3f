import { hostname } from 'node:os'
import type { BlobRef } from '../../core/block/index.ts'
import { Failure } from '../../core/failure.ts'
import { parseConversationKey } from '../../core/scope.ts'
import type { InboxEvent } from '../../core/timeline/change.ts'
import { emptyTimeline, isKnownEvent, type Timeline, waitingFollowups } from '../../core/timeline/timeline.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Claim, HEARTBEAT_MS, type Owner, type Saved } from '../../ports/store.ts'
import type { Workspace } from '../../ports/workspace.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import { createCallLog, flushContext } from '../../tools/context-files.ts'
import type { AgentContext } from '../agent-context.ts'
import { attachmentBlobs, attachmentsIn, createAttachmentPlacer } from '../turn/attachments.ts'
import { collectFeedback } from '../turn/feedback.ts'
import { cancelledResult, type TurnResult } from '../turn/finish.ts'
import type { TurnInput, TurnStart } from '../turn/start.ts'
import { runTurn, type Turn } from '../turn/turn.ts'
import { createWorkspaceHandle, restoreWorkspace } from '../turn/workspace.ts'
import { entriesOfTurn, recordsOf } from './history.ts'
import { createInbox, type NewEvent } from './inbox.ts'
import { openLedger } from './ledger.ts'
import { createResultsByEvent, type RunningConversation, type StartReason } from './running.ts'
import { createSpending, restoreSpending } from './spending.ts'

/** Claims the conversation and starts its turns. Resolves when its inbox is open; undefined when there is nothing to do. */
export async function startConversation(
  context: AgentContext,
  owner: Owner,
  conversationId: string,
  reason: StartReason,
): Promise<RunningConversation | undefined> {
  const { store } = context
  if (reason.kind === 'event' && !(await store.head(conversationId))) throw missingConversation(conversationId)
  const claim = await store.claim(conversationId, owner)
  try {
    const saved = (await store.loadVisible(conversationId)) ?? { timeline: emptyTimeline(), lastSeq: 0 }
    if (!hasNothingToDo(reason, saved.timeline)) return await startTurns(context, claim, saved, reason)
  } catch (error) {
    await releaseClaim(context, claim)
    throw error
  }
  await releaseClaim(context, claim)
  return undefined
}

/** The owner of claims made by this process. */
export const createOwner = (clock: Clock): Owner => ({ id: clock.randomHex(16), host: hostname(), pid: process.pid })

/** A claim that can not be released expires by itself. */
const releaseClaim = ({ store, onProblem }: AgentContext, claim: Claim): Promise<void> =>
  store.release(claim).catch((error: unknown) => onProblem({ where: 'release', error }))

function hasNothingToDo(reason: StartReason, timeline: Timeline): boolean {
  if (findUnfinished(timeline)) return false
  if (reason.kind === 'unfinished') return true
  const eventId = reason.kind === 'event' ? reason.event.event_id : reason.input.eventId
  return eventId !== undefined && isKnownEvent(timeline, eventId)
}

/** What a process that died has left to do: resume its turn, else start one for the oldest waiting followup. */
function findUnfinished(timeline: Timeline): TurnStart | undefined {
  if (timeline.openTurn) return { kind: 'unfinished' }
  const [oldest] = waitingFollowups(timeline)
  return oldest && { kind: 'message', input: inputOf(oldest) }
}

/**
 * Runs a turn, then one for each followup that no turn has taken in. Unfinished work comes first, whatever the reason for the start: a
 * new message then becomes a followup of it.
 */
async function startTurns(context: AgentContext, claim: Claim, saved: Saved, reason: StartReason): Promise<RunningConversation> {
  const { store, clock, hub, workspaces, onEntry } = context
  const { models, toolbox, system, systemTokens, systemFingerprint, settings, hooks, hosting, onProblem } = context
  const { blobs } = store
  const { conversationId } = claim
  const unfinishedTurnId = saved.timeline.openTurn?.turn_id
  const newTurnId = () => `turn_${Date.parse(clock.now())}_${clock.randomHex(6)}`
  const firstTurnId = unfinishedTurnId ?? newTurnId()
  const results = createResultsByEvent()
  const spending = createSpending(settings.priceOf)
  const abort = new AbortController()
  const { signal } = abort
  const renderers = context.createRenderers()
  const journaled = Promise.withResolvers<void>()
  let currentResult: Promise<TurnResult> | undefined

  const ledger = openLedger(saved, claim, store, (event) => {
    const { change } = event
    spending.record(change)
    if (change.type === 'turn.opened') journaled.resolve()
    else if (change.type === 'turn.closed') inbox.endTurn()
    if (currentResult && change.type === 'event.folded') results.assign(change.event_ids, currentResult)
    hub.publish(conversationId, event)
    onEntry?.(conversationId, event)
  })
  const inbox = createInbox(ledger, firstTurnId, signal)
  const emit: Turn['emit'] = (event) => hub.publish(conversationId, event)
  const readBlob = ({ sha256 }: BlobRef) => blobs.get(sha256)
  const records = recordsOf(store, conversationId)
  const placeAttachments = createAttachmentPlacer(blobs)
  const workspaceHandle = createWorkspaceHandle(workspaces, conversationId)
  const watchers = hub.watchers(conversationId)
  const { scope } = parseConversationKey(conversationId)

  async function runOneTurn(turnId: string, start: TurnStart, previousResult: Promise<unknown> | undefined): Promise<TurnResult> {
    inbox.startTurn(turnId)
    if (previousResult) await previousResult // the caller of the previous turn gets its result, and stops watching, before this one begins
    const feedbacks = await collectFeedback(ledger, clock.now(), settings)
    const entries = () => entriesOfTurn(store, conversationId, ledger.lastSeq, turnId)
    const callLog = workspaces && createCallLog()
    const restore = (opened: Workspace) => restoreWorkspace(opened, turnId, ledger.timeline, historyOf({ records, blobs }))
    const resumed = turnId === unfinishedTurnId
    const openWorkspace = workspaceHandle.forTurn(turnId, resumed ? restore : undefined)
    const workspace = async () => {
      const opened = await openWorkspace()
      // A failure is not fatal: the next call tries again, and the attachments can be read from the journal.
      await placeAttachments(opened, ledger.timeline, turnId).catch((error: unknown) => onProblem({ where: 'attachments', error }))
      return opened
    }
    if (resumed && settings.maxMoney !== undefined) restoreSpending(spending, (await entries()).changes, turnId)
    // biome-ignore format: one line for what belongs to the agent, to the conversation and to the turn
    const turn: Turn = {
      models, toolbox, system, systemTokens, systemFingerprint, settings, hooks, clock, blobs, hosting, onProblem,
      conversationId, scope, ledger, inbox, renderers, spending, records, workspaceHandle, readBlob, signal, emit, watchers,
      turnId, feedbacks, resumed, callLog, workspace, entries,
    }
    const result = await runTurn(turn, start).catch((error: unknown) => {
      if (isSuperseded(error)) return cancelledResult(turn) // another process continues the turn
      throw error
    })
    if (workspaceHandle.isOpen(turnId) && result.exitReason !== 'cancelled') {
      const flushed = flushContext({ timeline: ledger.timeline, workspace }, callLog?.drain())
      await flushed.catch((error: unknown) => onProblem({ where: 'workspace', error })) // a copy: all of it is in the journal
    }
    if (result.exitReason !== 'cancelled') await hooks.onFlushCompleted({ turnId, exitReason: result.exitReason })
    return result
  }

  /** The caller gets the result when the next turn is certain to begin, or when the conversation has ended. */
  function begin(turnId: string, start: TurnStart, previousResult?: Promise<unknown>): RunningTurn {
    const callerResult = Promise.withResolvers<TurnResult>()
    callerResult.promise.catch(() => {}) // a result that no caller awaits must not be an unhandled rejection
    currentResult = callerResult.promise
    return { result: runOneTurn(turnId, start, previousResult), callerResult }
  }

  async function runQueuedTurns(first: RunningTurn | undefined): Promise<void> {
    const stopHeartbeat = startHeartbeat(context, claim, abort)
    let last = first
    try {
      for (;;) {
        const result = await last?.result
        const followup = result?.exitReason === 'cancelled' ? undefined : await inbox.nextFollowupOrClose()
        if (followup === undefined) break
        if (result) last?.callerResult.resolve(result)
        last = begin(newTurnId(), { kind: 'message', input: inputOf(followup) }, last?.callerResult.promise)
      }
    } catch (error) {
      last ??= { result: Promise.reject(error), callerResult: Promise.withResolvers() }
      throw error
    } finally {
      inbox.close()
      stopHeartbeat()
      hub.close(conversationId)
      await releaseClaim(context, claim)
      last?.callerResult.resolve(last.result)
      if (last) results.settleRest(last.result)
    }
  }

  const unfinished = findUnfinished(saved.timeline)
  const event =
    unfinished && reason.kind === 'message' ? followupEvent(reason.input, clock) : reason.kind === 'event' ? reason.event : undefined
  if (event) await inbox.accept(event)
  const start: TurnStart | undefined = unfinished ?? (reason.kind === 'message' ? reason : undefined)
  hub.open(conversationId, ledger.lastSeq)
  const firstTurn = start && begin(firstTurnId, start)
  const firstResult = event && reason.kind === 'message' ? results.of(event.event_id) : Promise.resolve(firstTurn?.callerResult.promise)
  const finished = runQueuedTurns(firstTurn)
  if (start !== reason) journaled.resolve() // the inbox has committed the event
  finished.then(journaled.resolve, journaled.reject)
  for (const promise of [firstResult, finished, journaled.promise]) promise.catch(() => {})
  return {
    firstTurnId,
    inbox,
    results,
    journaled: journaled.promise,
    commit: (change) => ledger.commit(() => [change]),
    firstResult,
    finished,
    abort: (cause) => abort.abort(cause),
  }
}

interface RunningTurn {
  readonly result: Promise<TurnResult>
  /** What callers await: the same result, but not before the next turn begins or the conversation ends. */
  readonly callerResult: PromiseWithResolvers<TurnResult>
}

/** A message to a running conversation, or to one with unfinished work, as an event of that turn. */
export function followupEvent({ text, attachments, eventId }: TurnInput, clock: Clock): NewEvent {
  const payload = attachments.length > 0 ? { payload: { attachments }, keeps: attachmentBlobs(attachments) } : {}
  return { event_id: eventId ?? clock.randomHex(12), kind: 'followup', ts: clock.now(), text, ...payload }
}

const inputOf = (event: InboxEvent): TurnInput => ({ text: event.text, attachments: attachmentsIn(event), eventId: event.event_id })

const missingConversation = (conversationId: string) => new Failure('conversation.missing', `there is no conversation ${conversationId}`)

/** Renews the lease. When it is lost, another process writes: the turn stops at once. Other failures are reported and the next beat tries again. */
function startHeartbeat({ store, onProblem }: AgentContext, claim: Claim, abort: AbortController): () => void {
  const timer = setInterval(() => {
    store.renew(claim).catch((error: unknown) => (isSuperseded(error) ? abort.abort(error) : onProblem({ where: 'heartbeat', error })))
  }, HEARTBEAT_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Another process has claimed the conversation. */
export const isSuperseded = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.superseded'

/** Another process holds the claim. */
export const isBusy = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.busy'
