import {
  type BlockOrigin,
  type Draft,
  decisionNotesBlock,
  type Notice,
  noticeBlock,
  planAckBlock,
  planBlock,
  toolCallBlock,
  toolCodeBlock,
  type Visibility,
} from '../../core/block/index.ts'
import { afterAcceptedRound, afterToolRefusal, remainingRounds } from '../../core/budget.ts'
import type { CallDecision } from '../../core/decision/decision.ts'
import type { JsonObject } from '../../core/json.ts'
import { type PlanAcks, readRoundAcks } from '../../core/plan/plans.ts'
import { cachePoints } from '../../core/render/cache-points.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { mergeSources, type SourcePool } from '../../core/sources/pool.ts'
import { isInternalFile } from '../../core/timeline/artifacts.ts'
import type { Change } from '../../core/timeline/change.ts'
import { assignIds, type Timeline } from '../../core/timeline/timeline.ts'
import { type DeliveredOutcome, deliver } from '../../tools/artifacts/deliver.ts'
import { displayParams } from '../../tools/display-params.ts'
import { withContract } from '../../tools/exec/prepare.ts'
import { type Invocation, invoke } from '../../tools/invoke.ts'
import { declaresFiles, failed, mayHoldSources, resultDrafts } from '../../tools/outcome.ts'
import { hasReference, withBoundReferences } from '../../tools/references.ts'
import { type PoolNumbers, poolNumbersOf, withParsedSources, withPoolNumbers } from '../../tools/source-numbers.ts'
import type { Outcome, Tool } from '../../tools/tool.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { Ledger } from '../conversation/ledger.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import { type ModelCall, responseChanges, thinkingDrafts } from '../model-call/call-model.ts'
import { emitExecEnd, emitExecStart } from './exec-status.ts'
import type { Progress } from './round.ts'
import type { Turn } from './turn.ts'
import type { TurnWorkspace } from './workspace.ts'

/** A tool call that has passed all checks. */
interface CheckedCall {
  readonly decision: CallDecision
  readonly tool: Tool
  readonly params: JsonObject
  readonly warnings: readonly Notice[]
}

type ToolRun = Pick<CheckedCall, 'tool' | 'params' | 'decision'>

/**
 * Commits the response and the call before the tool runs. If the journal has a call without a result, the process died while the tool ran.
 * `seen` is the timeline that the model saw.
 */
export function commitCall(turn: Turn, origin: BlockOrigin, call: ModelCall, checked: CheckedCall, seen: Timeline): Promise<void> {
  const response = responseChanges(origin, call)
  return turn.conversation.ledger.commit((timeline) => [
    ...response,
    { type: 'blocks.appended', blocks: assignIds(timeline, callDrafts(origin, call, checked, seen)) },
  ])
}

/**
 * Runs the tool and commits its result. If the agent is closed while the tool runs, no result is committed. The process that resumes the
 * turn then decides whether the tool runs again.
 */
export async function runToolCall(turn: Turn, progress: Progress, origin: BlockOrigin, call: ToolRun, seen: Timeline): Promise<Progress> {
  const { conversation, workspace } = turn
  const activity = conversation.inbox.beginActivity()
  emitToolStatus(conversation.live, origin, call, 'tool.started')
  const exec = call.tool.exec ? emitExecStart(turn, origin) : undefined
  const running = invokeTool(turn, progress, origin, call, seen, activity)
  const { outcome: returned, stopped } = running instanceof Promise ? await running : running
  activity.end()
  if (exec) {
    emitExecEnd(turn, origin, exec, returned)
    await workspace.programRan()
  }
  const { outcome, numbers } = numberSources(turn, call.tool.id, returned)
  workspace.addCall({ callId: origin.callId, toolId: call.tool.id, description: call.decision.notes, params: call.params, outcome })
  emitToolStatus(conversation.live, origin, call, 'tool.ended')
  return stopped && conversation.signal.aborted ? progress : await commitResult(turn, progress, origin, call.tool.id, outcome, numbers)
}

function emitToolStatus(
  live: LiveFeed,
  { turnId: turn_id, iteration, callId: call_id }: BlockOrigin,
  { tool }: ToolRun,
  status: 'tool.started' | 'tool.ended',
): void {
  live.emit({ type: 'status', turn_id, iteration, status, tool_id: tool.id, call_id })
}

/** The blocks of a call, in this order: thinking, notes, plan steps whose progress the notes report, program, call, warnings. */
function callDrafts(
  origin: BlockOrigin,
  { response }: ModelCall,
  { decision, tool, params, warnings }: CheckedCall,
  timeline: Timeline,
): readonly Draft[] {
  const notes = decision.notes.trim()
  const acks = readRoundAcks(timeline, { notes, toolId: tool.id }, origin)
  const drafts: Draft[] = [...thinkingDrafts(origin, response)]
  if (notes !== '') drafts.push(decisionNotesBlock(origin, notes, tool.id))
  if (acks) drafts.push(...ackDrafts(origin, acks))
  if (decision.code !== undefined) drafts.push(toolCodeBlock(origin, decision.code))
  drafts.push(
    toolCallBlock(origin, {
      toolId: tool.id,
      params: displayParams(tool.id, params, origin),
      visibility: visibilityOfPatch(tool, params, timeline),
    }),
  )
  for (const notice of warnings) drafts.push(noticeBlock(origin, notice))
  if (acks) for (const notice of acks.warnings) drafts.push(noticeBlock(origin, notice))
  return drafts
}

/** Whether users may see the file that a patch changes. Undefined for every other call. */
function visibilityOfPatch({ id }: Tool, { path }: JsonObject, timeline: Timeline): Visibility | undefined {
  if (id !== 'react.patch') return undefined
  return typeof path === 'string' && !isInternalFile(timeline, path) ? 'external' : 'internal'
}

function ackDrafts({ turnId, ts, iteration }: BlockOrigin, { plan, text }: PlanAcks): readonly Draft[] {
  if (!plan) return []
  return [planAckBlock(turnId, ts, { iteration, text, planId: plan.plan_id }), planBlock(turnId, ts, plan, iteration)]
}

/**
 * Runs a tool. Returns an outcome even if the tool throws. A steer, the time limit or the closing of the agent aborts the tool's signal.
 */
function invokeTool(
  turn: Turn,
  progress: Pick<Progress, 'hasHidden'>,
  origin: BlockOrigin,
  { tool, params, decision }: ToolRun,
  seen: Timeline,
  { signal }: Activity,
): Invocation | Promise<Invocation> {
  const { turnId, agent, conversation, workspace } = turn
  const { conversationId, scope, records, renderers } = conversation
  const slice = () => renderers.renderer.slice(seen, turnId)
  const call = {
    conversationId,
    origin,
    toolId: tool.id,
    idempotencyKey: `${conversationId}/${origin.turnId}/${origin.callId}`,
    timeline: seen,
    signal,
    visiblePrompt: {
      slice,
      points: () => cachePoints(slice(), agent.settings.cache, progress),
      tokens: renderers.estimator.text,
      editableTailTokens: agent.settings.editableTailTokens,
    },
    clock: agent.clock,
    code: decision.code,
    scope,
    records,
    workspace: workspace.open,
    blobs: conversation.blobs,
    onProblem: agent.onProblem,
  }
  const contracted = tool.exec ? withContract(withContext(workspace, tool)) : tool
  const prepared = hasReference(params) ? withBoundReferences(contracted) : contracted
  return invoke(prepared, params, call, agent.settings)
}

/** The exec tool, changed so that it writes the context files before it runs its program. These files then include the call itself. */
const withContext = (workspace: TurnWorkspace, tool: Tool): Tool => ({
  ...tool,
  async run(params, call) {
    await workspace.writeContext('before program')
    return tool.run(params, call)
  },
})

interface NumberedOutcome {
  readonly outcome: Outcome
  readonly numbers?: PoolNumbers | undefined
}

/**
 * The outcome with its sources parsed, and with the SIDs that these sources have or get in the pool. Built-in tools return sources that
 * already have a SID.
 */
function numberSources({ agent, conversation }: Turn, toolId: string, returned: Outcome): NumberedOutcome {
  if (isBuiltIn(toolId) || !mayHoldSources(returned)) return { outcome: returned }
  try {
    const outcome = withParsedSources(returned)
    const numbers = poolNumbersOf(outcome, conversation.ledger.timeline.sources)
    return numbers ? { outcome: withPoolNumbers(outcome, numbers), numbers } : { outcome }
  } catch (error) {
    agent.onProblem({ where: `sources of ${toolId}`, error })
    return { outcome: unfitResult }
  }
}

const isBuiltIn = (toolId: string) => toolId.startsWith('react.') || toolId.startsWith('exec_tools.')

/**
 * Commits the result of a call. If the files of the result can not be stored, or its blocks can not be committed, the call counts as
 * failed. The turn goes on.
 */
export async function commitResult(
  turn: Turn,
  progress: Progress,
  origin: BlockOrigin,
  toolId: string,
  outcome: Outcome,
  numbers?: PoolNumbers,
): Promise<Progress> {
  const { agent, conversation } = turn
  const resultOrigin = { ...origin, ts: agent.clock.now() }
  const exec = agent.toolbox.find(toolId)?.exec === true
  let delivered: DeliveredOutcome = outcome
  try {
    if (hasFiles(outcome)) delivered = await deliver(resultOrigin, toolId, outcome, { ...deliveryTarget(turn), exec, numbers })
    await commitOutcome(conversation.ledger, resultOrigin, delivered, toolId, exec)
  } catch (error) {
    agent.onProblem({ where: `result of ${toolId}`, error })
    delivered = unfitResult
    await commitOutcome(conversation.ledger, resultOrigin, unfitResult, toolId, exec) // throws again if the journal can not be written
  }
  return progressAfterCall(progress, toolId, delivered)
}

function progressAfterCall(progress: Progress, toolId: string, delivered: DeliveredOutcome): Progress {
  const { changes } = delivered
  const hasHidden = progress.hasHidden || changes?.some(({ type }) => type === 'blocks.hidden') === true
  const code = violationCode(delivered)
  if (code === undefined) {
    const repairs = afterAcceptedRound(progress.repairs)
    return repairs === progress.repairs && hasHidden === progress.hasHidden ? progress : { ...progress, hasHidden, repairs }
  }
  return {
    ...progress,
    hasHidden,
    repairs: afterToolRefusal(progress.repairs, { code, toolId }, remainingRounds(progress.budget)).repairs,
  }
}

/**
 * The code of the rule that a failed call broke, such as `protocol_violation.…`. It is the code of the error itself, or the code of a
 * notice with `protocol_violation.` before the code of the error. Undefined when the call failed for another reason.
 */
function violationCode({ ok, error, notices }: DeliveredOutcome): string | undefined {
  if (ok || !error) return undefined
  if (error.code.startsWith('protocol_violation.')) return error.code
  return notices?.find(({ code }) => code === `protocol_violation.${error.code}`)?.code
}

function commitOutcome(ledger: Ledger, origin: BlockOrigin, delivered: DeliveredOutcome, toolId: string, exec: boolean): Promise<void> {
  const { changes = noChanges } = delivered
  return ledger.commit((timeline) => {
    const outcome = isBuiltIn(toolId) || delivered.sources === undefined ? delivered : withCurrentNumbers(delivered, timeline.sources)
    const blocks = { type: 'blocks.appended' as const, blocks: assignIds(timeline, resultDrafts(origin, outcome, { toolId, exec })) }
    const merged = mergeSourcesChange(timeline, outcome, origin.ts)
    return changes.length + merged.length === 0 ? [blocks] : [...changes, ...merged, blocks]
  })
}

/**
 * The outcome with the SIDs that its sources have in this pool. If the pool has got other sources since the tool returned, these SIDs
 * differ from those in the outcome.
 */
function withCurrentNumbers(outcome: DeliveredOutcome, pool: SourcePool): DeliveredOutcome {
  const numbers = poolNumbersOf(outcome, pool)
  const isCurrent = numbers?.sources.every(({ sid }, index) => [sid, undefined].includes(outcome.sources?.[index]?.sid)) ?? true
  return numbers && !isCurrent ? withPoolNumbers(outcome, numbers) : outcome
}

const noChanges: readonly Change[] = []
const hasFiles = ({ artifacts, output }: Outcome) => artifacts !== undefined || declaresFiles(output)

function deliveryTarget({ agent, conversation, workspace }: Turn) {
  const { scope, name } = parseConversationKey(conversation.conversationId)
  return {
    blobs: conversation.blobs,
    workspace: workspace.open,
    hosting: agent.hosting,
    scope,
    conversationId: name,
    timeline: conversation.ledger.timeline,
    eligibleMimes: agent.settings.sources.eligibleMimes,
    onProblem: agent.onProblem,
  }
}

const unfitResult = failed(
  'result_unfit',
  'The tool ran, but what it returned cannot be entered or shown. Whatever it did is done: do not call it again only to see the result.',
)

function mergeSourcesChange(timeline: Timeline, { sources }: DeliveredOutcome, ts: string): readonly Change[] {
  if (sources === undefined || sources.length === 0) return noChanges
  const { pool, changed } = mergeSources(timeline.sources, sources)
  return changed.length === 0 ? [] : [{ type: 'sources.merged', ts, rows: changed, next_sid: pool.next_sid }]
}
