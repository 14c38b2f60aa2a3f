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
} from '../../core/block/index.ts'
import { remainingRounds } from '../../core/budget.ts'
import type { CallDecision } from '../../core/decision/decision.ts'
import { afterAcceptedRound, afterToolRefusal } from '../../core/decision/limits.ts'
import type { JsonObject } from '../../core/json.ts'
import { type PlanAcks, readRoundAcks } from '../../core/plan/plan-acks.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { mergeSources } from '../../core/sources/pool.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { assignIds } from '../../core/timeline/timeline.ts'
import { declaresFiles } from '../../tools/artifacts/declared.ts'
import { type DeliveredOutcome, deliver } from '../../tools/artifacts/deliver.ts'
import { displayParams } from '../../tools/display-params.ts'
import { withContract } from '../../tools/exec/prepare.ts'
import { type Invocation, invoke } from '../../tools/invoke.ts'
import { failed } from '../../tools/outcome.ts'
import { hasReference, withBoundReferences } from '../../tools/references.ts'
import { resultDrafts } from '../../tools/results.ts'
import type { Outcome, Tool } from '../../tools/tool.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { ModelCall } from '../model-call/call-model.ts'
import { responseReceived, thinkingDrafts } from '../model-call/response.ts'
import type { Progress } from './progress.ts'
import { cachePointsFor } from './prompt.ts'
import type { Turn } from './turn.ts'

/** A call that was checked and may run. */
export interface CheckedCall {
  readonly decision: CallDecision
  readonly tool: Tool
  readonly params: JsonObject
  readonly warnings: readonly Notice[]
}

type ToolRun = Pick<CheckedCall, 'tool' | 'params' | 'decision'>

/** The first entry of an action, before the tool runs. A call without a result means that the process died there. */
export function commitCall(turn: Turn, place: BlockOrigin, asked: ModelCall, action: CheckedCall, seen: Timeline): Promise<void> {
  const response = responseReceived(place, asked)
  return turn.ledger.commit((timeline) => [
    response,
    { type: 'blocks.appended', blocks: assignIds(timeline, callDrafts(place, asked, action, seen)) },
  ])
}

/** The tool, and what came of it. A call that ends because the turn is cancelled stays open: whoever takes up the turn decides about it. */
export function runToolCall(turn: Turn, progress: Progress, place: BlockOrigin, call: ToolRun, seen: Timeline): Promise<Progress> {
  const phase = turn.inbox.beginActivity()
  emitToolStatus(turn, place, call, 'tool.started')
  const running = invokeTool(turn, progress, place, call, seen, phase)
  const performed = ({ outcome, stopped }: Invocation) => {
    phase.end()
    turn.callLog?.add({ callId: place.callId, toolId: call.tool.id, description: call.decision.notes, params: call.params, outcome })
    emitToolStatus(turn, place, call, 'tool.ended')
    return stopped && turn.signal.aborted ? Promise.resolve(progress) : commitResult(turn, progress, place, call.tool.id, outcome)
  }
  return running instanceof Promise ? running.then(performed) : performed(running) // one that is done makes nobody wait
}

function emitToolStatus(
  turn: Turn,
  { turnId: turn_id, iteration, callId: call_id }: BlockOrigin,
  { tool }: ToolRun,
  status: 'tool.started' | 'tool.ended',
): void {
  turn.emit({ type: 'status', turn_id, iteration, status, tool_id: tool.id, call_id })
}

/** Thoughts, notes, what the notes acknowledge, the program, the call, and what was odd about it. */
function callDrafts(
  place: BlockOrigin,
  { response: heard }: ModelCall,
  { decision, tool, params, warnings }: CheckedCall,
  timeline: Timeline,
): readonly Draft[] {
  const notes = decision.notes.trim()
  const acks = readRoundAcks(timeline, { notes, toolId: tool.id }, place)
  const drafts: Draft[] = [...thinkingDrafts(place, heard)]
  if (notes !== '') drafts.push(decisionNotesBlock(place, notes, tool.id))
  if (acks) drafts.push(...ackDrafts(place, acks))
  if (decision.code !== undefined) drafts.push(toolCodeBlock(place, decision.code))
  drafts.push(toolCallBlock(place, { toolId: tool.id, params: displayParams(tool.id, params, place) }))
  for (const said of warnings) drafts.push(noticeBlock(place, said))
  if (acks) for (const said of acks.warnings) drafts.push(noticeBlock(place, said))
  return drafts
}

function ackDrafts({ turnId, ts, iteration }: BlockOrigin, { plan, text }: PlanAcks): readonly Draft[] {
  if (!plan) return []
  return [planAckBlock(turnId, ts, { iteration, text, planId: plan.plan_id }), planBlock(turnId, ts, plan, iteration)]
}

/** To an outcome, whatever the tool does. A steer, or the end of the turn, tells it to stop. */
function invokeTool(
  turn: Turn,
  progress: Pick<Progress, 'hasHidden'>,
  place: BlockOrigin,
  { tool, params, decision }: ToolRun,
  seen: Timeline,
  { signal }: Activity,
): Invocation | Promise<Invocation> {
  const slice = () => turn.renderers.renderer.slice(seen, turn.turnId)
  const call = {
    conversationId: turn.conversationId,
    origin: place,
    toolId: tool.id,
    idempotencyKey: `${turn.conversationId}/${place.turnId}/${place.callId}`,
    timeline: seen,
    signal,
    visiblePrompt: { slice, points: () => cachePointsFor(turn, progress, slice()), tokens: turn.renderers.estimator.text },
    clock: turn.clock,
    code: decision.code,
    scope: turn.scope,
    records: turn.records,
    workspace: turn.workspace,
    blobs: turn.blobs,
    onProblem: turn.onProblem,
  }
  const asked = tool.exec ? withContract(tool) : tool
  const ready = hasReference(params) ? withBoundReferences(asked) : asked
  return invoke(ready, params, call, { stopGraceMs: turn.settings.stopGraceMs })
}

/** The second entry of a round. What a tool made of it may not fit into a journal: then the call has failed, and the turn goes on. */
export async function commitResult(
  turn: Turn,
  progress: Progress,
  place: BlockOrigin,
  toolId: string,
  outcome: Outcome,
): Promise<Progress> {
  const later = { ...place, ts: turn.clock.now() }
  const exec = turn.toolbox.find(toolId)?.exec === true
  let delivered: DeliveredOutcome = outcome
  try {
    if (hasFiles(outcome)) delivered = await deliver(later, toolId, outcome, { ...deliveryTarget(turn), exec })
    await commitOutcome(turn, later, delivered, exec)
  } catch (error) {
    turn.onProblem({ where: `result of ${toolId}`, error })
    delivered = unfitResult
    await commitOutcome(turn, later, unfitResult, exec) // a broken journal throws again
  }
  return progressAfterCall(progress, toolId, delivered)
}

function progressAfterCall(progress: Progress, toolId: string, delivered: DeliveredOutcome): Progress {
  const { changes } = delivered
  const hid = progress.hasHidden || changes?.some(({ type }) => type === 'blocks.hidden') === true
  const code = violationCode(delivered)
  if (code === undefined) return { ...progress, hasHidden: hid, repairs: afterAcceptedRound(progress.repairs) }
  return {
    ...progress,
    hasHidden: hid,
    repairs: afterToolRefusal(progress.repairs, { code, toolId }, remainingRounds(progress.budget)).repairs,
  }
}

/** The rule that a call failed for, by its error or by the notice of that error. Whatever else was said about it broke none. */
function violationCode({ ok, error, notices }: DeliveredOutcome): string | undefined {
  if (ok || !error) return undefined
  if (error.code.startsWith('protocol_violation.')) return error.code
  return notices?.find(({ code }) => code === `protocol_violation.${error.code}`)?.code
}

/** Notices, results, sources. */
function commitOutcome(turn: Turn, place: BlockOrigin, delivered: DeliveredOutcome, exec: boolean): Promise<void> {
  const { changes = none } = delivered
  return turn.ledger.commit((timeline) => {
    const blocks = { type: 'blocks.appended' as const, blocks: assignIds(timeline, resultDrafts(place, delivered, { exec })) }
    const merged = mergedSources(timeline, delivered, place.ts)
    return changes.length + merged.length === 0 ? [blocks] : [...changes, ...merged, blocks]
  })
}

const none: readonly Change[] = []
const hasFiles = ({ artifacts, output }: Outcome) => artifacts !== undefined || declaresFiles(output)

function deliveryTarget({ conversationId, blobs, workspace, hosting, ledger, settings, onProblem }: Turn) {
  const { scope, name: conversation } = parseConversationKey(conversationId)
  return {
    blobs,
    workspace,
    hosting,
    scope,
    conversation,
    timeline: ledger.timeline,
    eligibleMimes: settings.sources.eligibleMimes,
    onProblem,
  }
}

const unfitResult = failed(
  'result_unfit',
  'The tool ran, but what it returned cannot be entered or shown. Whatever it did is done: do not call it again only to see the result.',
)

function mergedSources(timeline: Timeline, { sources }: DeliveredOutcome, ts: string): readonly Change[] {
  if (sources === undefined || sources.length === 0) return none
  const { pool, changed } = mergeSources(timeline.sources, sources)
  return changed.length === 0 ? [] : [{ type: 'sources.merged', ts, rows: changed, next_sid: pool.next_sid }]
}

/** The outcome of a call that was running when the process died, for a tool that must not be run twice. */
export const unknownOutcome = (toolId: string): Outcome =>
  failed(
    'outcome_unknown',
    `The process stopped while ${toolId} was running. Whether it had its effect is not known; it was not run again.`,
    {
      notices: [
        {
          code: 'tool_call_error.outcome_unknown',
          message: `${toolId} was interrupted by a restart and may or may not have had its effect. Find out before you call it again.`,
        },
      ],
    },
  )
