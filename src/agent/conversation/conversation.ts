import type { Block } from '../../core/block/index.ts'
import type { EntryEvent } from '../../core/event.ts'
import { errorMessage } from '../../core/failure.ts'
import { parseConversationKey } from '../../core/scope.ts'
import type { Claim, OfferedEvent, Owner } from '../../ports/store.ts'
import type { AgentContext } from '../agent-context.ts'
import { type CallBudgets, createCallBudgets } from '../budgets/call-budgets.ts'
import { isMissing, removeFilesOfDeleted } from '../deletion.ts'
import { checkToolsOfTurn } from '../recovery/missing-tools.ts'
import { createWorkspaceHandle } from '../workspace/workspace.ts'
import { releaseClaim, startHeartbeat } from './claim.ts'
import type { Conversation, RunningConversation, StartReason } from './context.ts'
import { entriesOfTurn, recordsOf } from './history.ts'
import { createInbox } from './inbox.ts'
import type { KeptTimelines, OpenTimeline } from './kept-timelines.ts'
import { type JournalStore, openLedger } from './ledger.ts'
import { createPutBlobs } from './put-blobs.ts'
import { createResultsByEvent } from './results.ts'
import { beginTurn, createCallerResult, goOn, type RunningTurn } from './running-turn.ts'
import { createSpending } from './spending.ts'
import { firstTurn, hasNothingToDo, inputOf, newTurnId } from './start-reason.ts'
import { createOfferTaker } from './take-offers.ts'

/**
 * Claims the conversation and starts its turns. Resolves when the inbox accepts events. Returns undefined when no turn has to run and no
 * event has to be journaled.
 */
export async function startConversation(
  agent: AgentContext,
  owner: Owner,
  conversationId: string,
  reason: StartReason,
  shared: SharedParts,
): Promise<RunningConversation | undefined> {
  const { store } = agent
  const { kept } = shared
  const isUnfinished = reason.kind === 'unfinished'
  // only a message may create a conversation. With any other reason, the claim could create an empty conversation in place of one that was
  // just deleted
  const create = reason.kind === 'message' ? {} : ({ create: false } as const)
  const claimed = isUnfinished
    ? (reason.claim ?? store.claim(conversationId, owner, create).catch(ignoreMissing))
    : store.claim(conversationId, owner, { ...create, forgetFailures: true })
  const claim = await claimed
  if (!claim) return undefined
  try {
    const opened = await kept.open(agent, claim)
    const offers = claim.found.offers > 0 ? await store.readOffers(conversationId) : []
    if (isUnfinished) await checkToolsOfTurn(agent, { conversationId, ...opened.saved, offers })
    if (offers.length > 0 || !hasNothingToDo(reason, opened.saved.timeline))
      return await startTurns(
        openConversation(agent, claim, shared, { ...opened, budgets: await budgetsFor(agent, claim) }),
        reason,
        offers,
      )
    kept.keep(agent, claim, opened)
  } catch (error) {
    agent.hub.close(conversationId)
    await releaseClaim(agent, claim, { failed: errorMessage(error) })
    throw error
  }
  // If the work list has the conversation although there is nothing to do, the release reports a failure, which causes a pause. Without the
  // pause, a worker would take the conversation again at once.
  await releaseClaim(agent, claim, isUnfinished ? NOTHING_TO_DO : undefined)
  return undefined
}

/** What the conversations of one process share, besides the context of their agent. */
interface SharedParts {
  readonly kept: KeptTimelines
  /** Appends to the store. */
  readonly journal: JournalStore
}

/** Ignores the error for a conversation that was deleted meanwhile, because such a conversation has no work. */
function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

/**
 * The result of the release if the store lists the conversation as work although it has none. The conversation is then tried again after a
 * pause.
 */
const NOTHING_TO_DO = { failed: 'there was nothing to do, although the conversation is listed as unfinished' }

/**
 * Starts the turns of a claimed conversation. If a dead process left work or other processes have offered messages, these come first, and a
 * new message becomes a followup.
 */
async function startTurns(conversation: Conversation, reason: StartReason, offers: readonly OfferedEvent[]): Promise<RunningConversation> {
  const { agent, conversationId, firstTurnId, ledger, inbox, results, journaled, abort } = conversation
  const takeOffers = createOfferTaker({ conversationId, store: agent.store, clock: agent.clock, ledger, inbox }, offers)
  if (offers.length > 0) await takeOffers()
  const { start, event } = firstTurn(ledger.timeline, reason, agent.clock)
  if (event) await inbox.accept(event)
  const first = start && beginTurn(conversation, firstTurnId, start)
  const firstResult = event && reason.kind === 'message' ? results.of(event.event_id) : Promise.resolve(first?.callerResult.promise)
  const finished = runQueuedTurns(conversation, first, takeOffers)
  // A new message is journaled by the turn that it starts. In every other case nothing is left to journal: the inbox has just committed the
  // event, or there is only unfinished work.
  if (start !== reason) journaled.resolve()
  finished.then(journaled.resolve, journaled.reject)
  for (const promise of [firstResult, finished, journaled.promise]) promise.catch(() => {})
  return {
    firstTurnId,
    isResumed: start?.kind === 'unfinished',
    firstEventId: reason.kind === 'message' ? event?.event_id : undefined,
    inbox,
    results,
    journaled: journaled.promise,
    commit: (change) => ledger.commit([change]),
    takeOffers,
    firstResult,
    finished,
    putBlobs: conversation.putBlobs.refs,
    abort: (cause) => abort.abort(cause),
    handOver() {
      conversation.handOver.requested = true
    },
  }
}

/** The budgets of a conversation. Undefined when no budget has limits, so that no amounts have to be reserved for its model calls. */
async function budgetsFor({ store: { budgets }, budgetWatch, settings }: AgentContext, claim: Claim): Promise<CallBudgets | undefined> {
  return budgets && (await budgetWatch.hasBudgets()) ? createCallBudgets({ budgets, settings, claim }) : undefined
}

function openConversation(
  agent: AgentContext,
  claim: Claim,
  { kept, journal }: SharedParts,
  { saved, renderers, budgets }: OpenTimeline & { readonly budgets: CallBudgets | undefined },
): Conversation {
  const { store, clock, hub, settings, workspaces, onProblem } = agent
  const { conversationId } = claim
  const abort = new AbortController()
  const { signal } = abort
  const ledger = openLedger(saved, claim, journal, (event) => onEntry(conversation, event), budgets?.entryFor)
  const records = recordsOf(store, conversationId)
  const putBlobs = createPutBlobs(store.blobs)
  const firstTurnId = saved.timeline.openTurn?.turn_id ?? newTurnId(clock)
  const conversation: Conversation = {
    agent,
    claim,
    kept,
    conversationId,
    scope: parseConversationKey(conversationId).scope,
    firstTurnId,
    firstSeq: saved.lastSeq,
    ledger,
    inbox: createInbox(ledger, firstTurnId, signal),
    live: hub.open(conversationId, saved.lastSeq, claim.epoch),
    renderers,
    spending: createSpending(settings.priceOf),
    budgets,
    records,
    putBlobs,
    blobs: putBlobs.blobs,
    entriesOfTurn: (turnId) => entriesOfTurn(store, conversationId, ledger.lastSeq, turnId),
    workspaces: createWorkspaceHandle({ workspaces, claim, ledger, records, blobs: store.blobs, onProblem }),
    results: createResultsByEvent(),
    journaled: Promise.withResolvers(),
    abort,
    signal,
    handOver: { requested: false },
    currentResult: undefined,
  }
  return conversation
}

/** Whether the block is the result of a sub-agent. Its cost belongs to the turn. */
const isOfChild = ({ meta }: Block): boolean => meta?.child !== undefined

/** Called for every entry that the conversation commits, in order. */
function onEntry(
  { agent, conversationId, live, spending, inbox, results, journaled, putBlobs, currentResult }: Conversation,
  event: EntryEvent,
): void {
  const { change } = event
  if (change.type === 'response.received' || (change.type === 'blocks.appended' && change.blocks.some(isOfChild)))
    spending.uncounted.push(change)
  else if (change.type === 'turn.opened') journaled.resolve()
  else if (change.type === 'turn.closed') {
    inbox.endTurn()
    putBlobs.forget()
  } else if (change.type === 'event.folded' && change.turn_id !== null && currentResult) results.assign(change.event_ids, currentResult)
  live.emit(event)
  agent.onEntry?.(conversationId, event)
}

/**
 * Runs the first turn, then one turn for each waiting followup. The caller of a turn gets the result of the turn as soon as it is known
 * that another turn follows. If no turn follows, the caller gets the result after the claim is released.
 */
async function runQueuedTurns(conversation: Conversation, first: RunningTurn | undefined, takeOffers: () => Promise<void>): Promise<void> {
  const { agent, inbox } = conversation
  const stopHeartbeat = startHeartbeat(agent, conversation)
  let last = first
  let failure: string | undefined
  try {
    for (;;) {
      const result = await last?.result
      if (result?.exitReason === 'waiting' && last) {
        await takeOffers()
        if (await inbox.closeWhileWaiting(agent.clock.now())) break
        last = goOn(conversation, result.turnId, last)
        continue
      }
      const followup = result?.exitReason === 'cancelled' ? undefined : await inbox.nextFollowupOrClose()
      if (followup === undefined) break
      if (result) last?.callerResult.resolve(result)
      last = beginTurn(conversation, newTurnId(agent.clock), { kind: 'message', input: inputOf(followup) }, last)
    }
  } catch (error) {
    failure = errorMessage(error)
    last ??= { result: Promise.reject(error), callerResult: createCallerResult() }
    throw error
  } finally {
    stopHeartbeat()
    await closeConversation(conversation, last, failure)
  }
}

/** Closes the inbox and releases the claim. After that, callers that still wait get the result of the last turn. */
async function closeConversation(conversation: Conversation, last: RunningTurn | undefined, failure: string | undefined): Promise<void> {
  const { agent, claim, kept, conversationId, firstSeq, ledger, renderers, inbox, results, workspaces, putBlobs, signal, handOver } =
    conversation
  inbox.close()
  // Waits for events that are being committed. If the claim ended before, the store would reject them. If a commit fails, the sender of its
  // event gets the error.
  await ledger.commit([]).catch(() => {})
  agent.hub.close(conversationId)
  workspaces.close()
  await putBlobs.close()
  if (isMissing(signal.reason)) await removeFilesOfDeleted(agent, conversationId)
  const { timeline, lastSeq } = ledger
  if (failure === undefined && !signal.aborted) kept.keep(agent, claim, { saved: { timeline, lastSeq }, renderers })
  const isDone = ledger.lastSeq > firstSeq || signal.aborted || handOver.requested
  await releaseClaim(agent, claim, failure !== undefined ? { failed: failure } : isDone ? 'done' : NOTHING_TO_DO)
  last?.callerResult.resolve(last.result)
  if (last) results.settleRest(last.result)
}
