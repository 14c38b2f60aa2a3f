import type { Block } from '../../core/block/index.ts'
import { type CompactionPlan, planCompaction } from '../../core/compaction/compaction.ts'
import { finishCompaction, startedReport } from '../../core/compaction/finish.ts'
import { type Attempt, attempts } from '../../core/compaction/overflow.ts'
import type { SummaryRequest } from '../../core/compaction/summary-request.ts'
import { calibrationOf, contextLimit, timelineRoom } from '../../core/estimate/estimate.ts'
import { planExpiry } from '../../core/expiry/expiry.ts'
import { hashText } from '../../core/hash.ts'
import { withoutReadHints } from '../../core/render/read-hints.ts'
import type { Slice } from '../../core/render/types.ts'
import type { Change, FrozenTexts, ReachedLimit, ResponseReceived } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { TurnServices } from '../agent-context.ts'
import { callQuietly } from '../model-call/call-quietly.ts'
import type { Progress } from './progress.ts'
import { promptTails, type Tails } from './prompt.ts'
import type { Turn } from './turn.ts'

/** After a compaction that freed too few tokens, the next compaction is tried only when the timeline has grown by this factor. */
const RETRY_GROWTH = 1.1

/**
 * Hides old blocks if the provider's cache has expired. Compacts the timeline if the prompt would be too long. Must be called before every
 * call of the decision model.
 */
export function prepareContext(turn: Turn, progress: Progress, wrapUp?: ReachedLimit): Progress | Promise<Progress> {
  const now = turn.agent.clock.now()
  const { ledger, renderers } = turn.conversation
  renderers.meter.turnTokens(ledger.timeline, turn.turnId) // counts the new blocks now, so that the end of the turn has few blocks to count
  const expired = expiredContent(turn, now)
  const tails = () => promptTails(turn, progress, now, wrapUp)
  if (expired.length === 0 && !exceedsContext(turn, progress, tails())) return progress
  return fitContext(turn, progress, tails, expired)
}

/** Whether the prompt would be too long. Tokens are counted only if an upper bound of them exceeds the limit. */
function exceedsContext({ turnId, agent, conversation }: Turn, { compactAbove = 0 }: Progress, tails: Tails): boolean {
  const { timeline } = conversation.ledger
  const { meter, renderer } = conversation.renderers
  const slice = renderer.peek(timeline, turnId)
  const exceeds = (tailTokens: number) =>
    meter.exceeds(timeline, slice, Math.max(compactAbove, timelineRoom({ ...sizesOf(agent, timeline), tailTokens })))
  return exceeds(tails.tokenUpperBound) && exceeds(tails.tokens())
}

const sizesOf = ({ settings, models, speech }: TurnServices, timeline: Timeline) => ({
  limit: contextLimit(settings, models.decision.window),
  calibration: calibrationOf(timeline),
  systemTokens: speech.system.tokens(),
})

/**
 * Commits the changes that hide old blocks. Then compacts the timeline until the prompt is short enough. Each attempt removes more than the
 * previous one. After the last attempt, only the user's request and a list of the work done are left. If a message alone is too long, its
 * beginning and its path take its place. An image or document of this turn may be larger than the limit. It is sent nevertheless. If the
 * provider refuses it, `compactAfterOverflow` removes it from the prompt.
 */
async function fitContext(turn: Turn, progress: Progress, tails: () => Tails, expired: readonly Change[]): Promise<Progress> {
  const { turnId, conversation } = turn
  const { ledger, inbox, renderers } = conversation
  if (expired.length > 0) {
    await ledger.commit(expired)
    if (!exceedsContext(turn, progress, tails())) return progress
  }
  for (const attempt of attempts) {
    const outcome = await compact(turn, tails().tokens(), { attempt })
    if (inbox.hasSteer() || inbox.timeUp || conversation.signal.aborted) return progress
    if (outcome === 'failed') break // the compaction model does not work now, so another attempt would only take time
    if (!exceedsContext(turn, progress, tails())) return progress
  }
  const { timeline } = ledger
  return { ...progress, compactAbove: renderers.meter.tokens(timeline, renderers.renderer.slice(timeline, turnId)) * RETRY_GROWTH }
}

/**
 * Compacts the timeline although its estimated tokens are below the limit, because the provider has rejected the prompt as too long.
 * Returns true when the timeline became smaller.
 */
export async function compactAfterOverflow(turn: Turn, tails: Tails, attempt: Attempt): Promise<boolean> {
  return (await compact(turn, tails.tokens(), { force: true, attempt })) === 'completed'
}

/** `failed`: the compaction model wrote no summary. `unchanged`: no block could be removed or shortened. */
type CompactionOutcome = 'completed' | 'unchanged' | 'failed'

async function compact(
  turn: Turn,
  tailTokens: number,
  options: { readonly force?: true; readonly attempt: Attempt },
): Promise<CompactionOutcome> {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const { estimator, meter, renderer } = conversation.renderers
  const slice = (current: Timeline) => renderer.slice(current, turnId)
  const plan = planCompaction(timeline, {
    ...sizesOf(agent, timeline),
    currentTurnId: turnId,
    renderedTokens: meter.tokens(timeline, slice(timeline)) + tailTokens,
    tailTokens,
    summaryLimit: Math.min(
      contextLimit(agent.settings, agent.models.compaction.window),
      contextLimit(agent.settings, agent.models.decision.window),
    ),
    keepRecentTurns: agent.settings.keepRecentTurns,
    ...options,
    tokens: estimator,
    slice,
  })
  return plan === undefined ? 'unchanged' : runCompaction(turn, plan, slice)
}

async function runCompaction(turn: Turn, plan: CompactionPlan, slice: (timeline: Timeline) => Slice): Promise<CompactionOutcome> {
  const { turnId, agent, conversation } = turn
  const { ledger } = conversation
  conversation.live.emit({ type: 'status', turn_id: turnId, iteration: 0, status: 'compacting' })
  await agent.hooks.onBeforeCompaction(startedReport(plan))
  const history = await summarise(turn, plan.history?.request)
  const isFirst = plan.prefix !== undefined && history?.journaled === false && !isInterrupted(history)
  // committed before the second call: if the process dies during that call, the first summary is not requested again
  if (isFirst) await ledger.commit([history.response])
  const prefix = isInterrupted(history) ? undefined : await summarise(turn, plan.prefix?.request)
  const responses = [...(isFirst ? [] : [history]), prefix].flatMap((summary) => (summary && !summary.journaled ? [summary.response] : []))
  if (isInterrupted(history) || isInterrupted(prefix)) {
    // A steer or the time limit interrupted a summary. The turn continues without a compaction. If the agent is being closed, incomplete
    // responses are not committed.
    if (!conversation.signal.aborted) await ledger.commit(responses)
    return 'failed'
  }
  const finished = finishCompaction(
    ledger.timeline,
    plan,
    { history: summaryIn(history), prefix: summaryIn(prefix) },
    { now: agent.clock.now(), tokens: conversation.renderers.estimator, slice },
  )
  const changes = finished.status === 'completed' ? finished.changes : []
  const commit = (frozen?: FrozenTexts) => ledger.commit([...responses, ...(frozen ? changes.map(freezing(frozen)) : changes)])
  await (turn.adoptTexts && changes.some(isCompaction) ? turn.adoptTexts(commit) : commit())
  if (finished.status === 'completed') for (const summary of summariesIn(finished.changes)) await agent.hooks.saveSummary(summary)
  await agent.hooks.onAfterCompaction(finished.report)
  if (finished.status === 'completed') return 'completed'
  return finished.reason === 'empty_history_summary' ? 'failed' : 'unchanged'
}

const isCompaction = ({ type }: Change): boolean => type === 'range.compacted'

const freezing =
  (frozen: FrozenTexts) =>
  (change: Change): Change =>
    change.type === 'range.compacted' ? { ...change, frozen } : change

const summariesIn = (changes: readonly Change[]): readonly Block[] =>
  changes.flatMap((change) => (change.type === 'range.compacted' ? change.blocks.filter(({ type }) => type === 'conv.range.summary') : []))

interface Summary {
  readonly response: ResponseReceived
  /** True when the response is already in the journal, from an earlier attempt of this turn. */
  readonly journaled: boolean
}

/**
 * Asks the compaction model for a summary. If the journal already has a response to the same request in this turn, this response is used.
 * This happens after a crash, or after a steer that came before the compaction was complete. If the call fails, `finishCompaction` decides
 * what to do.
 */
async function summarise(turn: Turn, request: SummaryRequest | undefined): Promise<Summary | undefined> {
  if (!request) return undefined
  const { system, maxOutputTokens: maxTokens, temperature } = request
  const user = turn.agent.toolbox.has('react.read') ? request.user : withoutReadHints(request.user)
  const request_hash = hashText(JSON.stringify([system, user, maxTokens, temperature]))
  const { changes } = await turn.conversation.entriesOfTurn(turn.turnId)
  const known = changes.findLast((change) => change.type === 'response.received' && isUsable(change, request_hash))
  if (known?.type === 'response.received') return { response: known, journaled: true }
  const response = await callQuietly(turn, { role: 'compaction', system, parts: [{ type: 'text', text: user }], maxTokens, temperature })
  return { response: { ...response, request_hash }, journaled: false }
}

const isUsable = ({ role, request_hash, finish_reason, raw }: ResponseReceived, hash: number): boolean =>
  role === 'compaction' && request_hash === hash && finish_reason !== 'interrupted' && finish_reason !== 'error' && raw.trim() !== ''

const isInterrupted = (summary: Summary | undefined): boolean => summary?.response.finish_reason === 'interrupted'

const summaryIn = (summary: Summary | undefined) => (summary?.response.finish_reason === 'error' ? undefined : summary?.response.raw)

/**
 * The changes that hide old blocks. While the provider still caches the prompt there are none, because a hidden block would invalidate the
 * cache.
 */
function expiredContent({ turnId, agent, conversation: { ledger, renderers } }: Turn, now: string): readonly Change[] {
  const { changes } = planExpiry(ledger.timeline, {
    now,
    currentTurnId: turnId,
    settings: agent.settings.expiry,
    tokens: renderers.estimator,
  })
  return changes
}
