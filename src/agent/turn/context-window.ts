import type { Block } from '../../core/block/index.ts'
import { type CompactionPlan, planCompaction } from '../../core/compaction/compaction.ts'
import { finishCompaction, startedReport } from '../../core/compaction/finish.ts'
import type { Attempt } from '../../core/compaction/overflow.ts'
import type { SummaryRequest } from '../../core/compaction/summary-request.ts'
import { calibrationOf } from '../../core/estimate/estimate.ts'
import { planExpiry } from '../../core/expiry/expiry.ts'
import { hashText } from '../../core/hash.ts'
import type { Slice } from '../../core/render/types.ts'
import type { Change, ResponseReceived } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { TurnServices } from '../agent-context.ts'
import { callQuietly } from '../model-call/call-quietly.ts'
import type { Progress } from './round.ts'
import type { Turn } from './turn.ts'

/** An upper limit for the tokens of ANNOUNCE and the sources. Their size is capped, so they need not be rendered to be counted. */
const TAIL_TOKENS = 4_000

/** After a compaction that freed nothing, the next one is tried only when the context has grown by this factor. */
const RETRY_GROWTH = 1.1

/** Hides expired content and compacts the timeline if the prompt would not fit. To be called before every call of the decision model. */
export async function prepareContext(turn: Turn, progress: Progress): Promise<Progress> {
  const expired = expiredContent(turn)
  if (expired.length > 0) await turn.conversation.ledger.commit(expired)
  return exceedsContext(turn, progress) ? fitContext(turn, progress) : progress
}

/** Whether the prompt would exceed the limit. Far below the limit, no tokens are counted. */
function exceedsContext({ turnId, agent, conversation }: Turn, { compactAbove = 0 }: Progress): boolean {
  const { timeline } = conversation.ledger
  const { meter, renderer } = conversation.renderers
  const room = contextLimit(agent) / calibrationOf(timeline) - agent.system.tokens() - TAIL_TOKENS
  return meter.exceeds(timeline, renderer.peek(timeline, turnId), Math.max(room, compactAbove))
}

/** Compacts the timeline, so that the prompt fits. */
async function fitContext(turn: Turn, progress: Progress): Promise<Progress> {
  const { turnId, conversation } = turn
  const { timeline } = conversation.ledger
  const { meter, renderer } = conversation.renderers
  const slice = renderer.slice(timeline, turnId)
  const compacted = await compact(turn)
  const { hasSteer, timeUp } = conversation.inbox
  return compacted || hasSteer || timeUp ? progress : { ...progress, compactAbove: meter.tokens(timeline, slice) * RETRY_GROWTH }
}

/** Compacts even if the estimate fits, because the provider has rejected the prompt as too long. True when the timeline got smaller. */
export const compactAfterOverflow = (turn: Turn, attempt: Attempt): Promise<boolean> => compact(turn, { force: true, attempt })

async function compact(turn: Turn, forced?: { readonly force: true; readonly attempt: Attempt }): Promise<boolean> {
  const { turnId, agent, conversation } = turn
  const { timeline } = conversation.ledger
  const { estimator, meter, renderer } = conversation.renderers
  const slice = (current: Timeline) => renderer.slice(current, turnId)
  const plan = planCompaction(timeline, {
    currentTurnId: turnId,
    limit: contextLimit(agent),
    systemTokens: agent.system.tokens(),
    renderedTokens: meter.tokens(timeline, slice(timeline)) + TAIL_TOKENS,
    calibration: calibrationOf(timeline),
    keepRecentTurns: agent.settings.keepRecentTurns,
    ...forced,
    tokens: estimator,
    slice,
  })
  return plan === undefined ? false : runCompaction(turn, plan, slice)
}

async function runCompaction(turn: Turn, plan: CompactionPlan, slice: (timeline: Timeline) => Slice): Promise<boolean> {
  const { turnId, agent, conversation } = turn
  const { ledger } = conversation
  conversation.live.emit({ type: 'status', turn_id: turnId, iteration: 0, status: 'compacting' })
  await agent.hooks.onBeforeCompaction(startedReport(plan))
  const history = await summarise(turn, plan.history?.request)
  const isFirst = plan.prefix !== undefined && history?.journaled === false && !isInterrupted(history)
  if (isFirst) await ledger.commit([history.response]) // the second call takes time: a crash must not make the model write the first again
  const prefix = isInterrupted(history) ? undefined : await summarise(turn, plan.prefix?.request)
  const responses = [...(isFirst ? [] : [history]), prefix].flatMap((summary) => (summary && !summary.journaled ? [summary.response] : []))
  if (isInterrupted(history) || isInterrupted(prefix)) {
    // A steer or the time limit interrupted a summary: the turn goes on without compacting first. A closed agent enters only complete
    // responses.
    if (!conversation.signal.aborted) await ledger.commit(responses)
    return false
  }
  const finished = finishCompaction(
    ledger.timeline,
    plan,
    { history: summaryIn(history), prefix: summaryIn(prefix) },
    { now: agent.clock.now(), tokens: conversation.renderers.estimator, slice },
  )
  await ledger.commit([...responses, ...(finished.status === 'completed' ? finished.changes : [])])
  if (finished.status === 'completed') for (const summary of summariesIn(finished.changes)) await agent.hooks.saveSummary(summary)
  await agent.hooks.onAfterCompaction(finished.report)
  return finished.status === 'completed'
}

const summariesIn = (changes: readonly Change[]): readonly Block[] =>
  changes.flatMap((change) => (change.type === 'range.compacted' ? change.blocks.filter(({ type }) => type === 'conv.range.summary') : []))

interface Summary {
  readonly response: ResponseReceived
  /** True when an earlier attempt of this turn has entered the response. */
  readonly journaled: boolean
}

/**
 * Asks the compaction model for a summary. If the turn made the same request before, and its process died or a steer came before the
 * compaction was complete, the response to that request is used. `finishCompaction` decides what to do when the call fails.
 */
async function summarise(turn: Turn, request: SummaryRequest | undefined): Promise<Summary | undefined> {
  if (!request) return undefined
  const { system, user, maxOutputTokens: maxTokens, temperature } = request
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

/** The largest prompt in tokens. It is the setting, or the model's context window minus its output if that is less. */
function contextLimit({ models, settings }: TurnServices): number {
  return Math.min(settings.contextTokens, models.decision.window - settings.decision.maxTokens)
}

/** The changes that hide old content. There are none before the provider's cache has expired, so that no cached prefix is lost. */
function expiredContent({ turnId, agent, conversation: { ledger, renderers } }: Turn): readonly Change[] {
  const { changes } = planExpiry(ledger.timeline, {
    now: agent.clock.now(),
    currentTurnId: turnId,
    settings: agent.settings.expiry,
    tokens: renderers.estimator,
  })
  return changes
}
