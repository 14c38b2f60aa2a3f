import {
  type Draft,
  decisionNotes,
  type Notice,
  notice,
  type Place,
  planAck,
  planSnapshot,
  toolCall,
  toolCode,
} from '../core/block/index.ts'
import { remainingRounds } from '../core/budget.ts'
import type { CallDecision } from '../core/decision/decision.ts'
import { accepted, toolRefused } from '../core/decision/repairs.ts'
import type { JsonObject } from '../core/json.ts'
import { type Acks, acksOfRound } from '../core/plan/ack.ts'
import { readConversationKey } from '../core/scope.ts'
import { mergeSources } from '../core/sources/merge.ts'
import type { Change } from '../core/timeline/change.ts'
import { enter } from '../core/timeline/enter.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import { declaresFiles } from '../tools/artifacts/declared.ts'
import { type Delivered, deliver } from '../tools/artifacts/deliver.ts'
import { displayParams } from '../tools/display.ts'
import { withContract } from '../tools/exec/prepare.ts'
import { type Invoked, invoke } from '../tools/invoke.ts'
import { failed } from '../tools/outcome.ts'
import { withBoundReferences } from '../tools/references/bind.ts'
import { hasReference } from '../tools/references/find.ts'
import { resultDrafts } from '../tools/results.ts'
import type { Outcome, Tool } from '../tools/tool.ts'
import type { Asked } from './ask.ts'
import type { Phase } from './phase.ts'
import type { Progress } from './progress.ts'
import { pointsOf } from './prompt.ts'
import { responseReceived, thoughts } from './response.ts'
import type { Turn } from './turn.ts'

/** A call that was checked and may run. */
export interface Action {
  readonly decision: CallDecision
  readonly tool: Tool
  readonly params: JsonObject
  readonly warnings: readonly Notice[]
}

type ToolRun = Pick<Action, 'tool' | 'params' | 'decision'>

/** The first entry of an action, before the tool runs. A call without a result means that the process died there. */
export function enterCall(turn: Turn, place: Place, asked: Asked, action: Action, seen: Timeline): Promise<void> {
  const response = responseReceived(place, asked)
  return turn.ledger.commit((timeline) => [
    response,
    { type: 'blocks.appended', blocks: enter(timeline, callDrafts(place, asked, action, seen)) },
  ])
}

/** The tool, and what came of it. A call that ends because the turn is cancelled stays open: whoever takes up the turn decides about it. */
export function perform(turn: Turn, progress: Progress, place: Place, call: ToolRun, seen: Timeline): Promise<Progress> {
  const phase = turn.inbox.beginPhase()
  tell(turn, place, call, 'tool.started')
  const running = runTool(turn, progress, place, call, seen, phase)
  const performed = ({ outcome, stopped }: Invoked) => {
    phase.end()
    turn.calls?.add({ callId: place.callId, toolId: call.tool.id, description: call.decision.notes, params: call.params, outcome })
    tell(turn, place, call, 'tool.ended')
    return stopped && turn.signal.aborted ? Promise.resolve(progress) : settle(turn, progress, place, call.tool.id, outcome)
  }
  return running instanceof Promise ? running.then(performed) : performed(running) // one that is done makes nobody wait
}

function tell(
  turn: Turn,
  { turnId: turn_id, iteration, callId: call_id }: Place,
  { tool }: ToolRun,
  status: 'tool.started' | 'tool.ended',
): void {
  turn.emit({ type: 'status', turn_id, iteration, status, tool_id: tool.id, call_id })
}

/** Thoughts, notes, what the notes acknowledge, the program, the call, and what was odd about it. */
function callDrafts(place: Place, { heard }: Asked, { decision, tool, params, warnings }: Action, timeline: Timeline): readonly Draft[] {
  const notes = decision.notes.trim()
  const acks = acksOfRound(timeline, { notes, toolId: tool.id }, place)
  const drafts: Draft[] = [...thoughts(place, heard)]
  if (notes !== '') drafts.push(decisionNotes(place, notes, tool.id))
  if (acks) drafts.push(...ackDrafts(place, acks))
  if (decision.code !== undefined) drafts.push(toolCode(place, decision.code))
  drafts.push(toolCall(place, { toolId: tool.id, params: displayParams(tool.id, params, place) }))
  for (const said of warnings) drafts.push(notice(place, said))
  if (acks) for (const said of acks.warnings) drafts.push(notice(place, said))
  return drafts
}

function ackDrafts({ turnId, ts, iteration }: Place, { plan, text }: Acks): readonly Draft[] {
  if (!plan) return []
  return [planAck(turnId, ts, { iteration, text, planId: plan.plan_id }), planSnapshot(turnId, ts, plan, iteration)]
}

/** To an outcome, whatever the tool does. A steer, or the end of the turn, tells it to stop. */
function runTool(
  turn: Turn,
  progress: Pick<Progress, 'hid'>,
  place: Place,
  { tool, params, decision }: ToolRun,
  seen: Timeline,
  { signal }: Phase,
): Invoked | Promise<Invoked> {
  const slice = () => turn.view.renderer.slice(seen, turn.turnId)
  const call = {
    conversationId: turn.conversationId,
    place,
    toolId: tool.id,
    idempotencyKey: `${turn.conversationId}/${place.turnId}/${place.callId}`,
    timeline: seen,
    signal,
    sight: { slice, points: () => pointsOf(turn, progress, slice()), tokens: turn.view.estimator.text },
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
export async function settle(turn: Turn, progress: Progress, place: Place, toolId: string, outcome: Outcome): Promise<Progress> {
  const later = { ...place, ts: turn.clock.now() }
  const exec = turn.toolbox.find(toolId)?.exec === true
  let delivered: Delivered = outcome
  try {
    if (hasFiles(outcome)) delivered = await deliver(later, toolId, outcome, { ...whereTo(turn), exec })
    await enterOutcome(turn, later, delivered, exec)
  } catch (error) {
    turn.onProblem({ where: `result of ${toolId}`, error })
    delivered = unfit
    await enterOutcome(turn, later, unfit, exec) // a broken journal throws again
  }
  return afterCall(progress, toolId, delivered)
}

function afterCall(progress: Progress, toolId: string, delivered: Delivered): Progress {
  const { changes } = delivered
  const hid = progress.hid || changes?.some(({ type }) => type === 'blocks.hidden') === true
  const code = brokenRule(delivered)
  if (code === undefined) return { ...progress, hid, repairs: accepted(progress.repairs) }
  return { ...progress, hid, repairs: toolRefused(progress.repairs, { code, toolId }, remainingRounds(progress.budget)).repairs }
}

/** The rule that a call failed for, by its error or by the notice of that error. Whatever else was said about it broke none. */
function brokenRule({ ok, error, notices }: Delivered): string | undefined {
  if (ok || !error) return undefined
  if (error.code.startsWith('protocol_violation.')) return error.code
  return notices?.find(({ code }) => code === `protocol_violation.${error.code}`)?.code
}

/** Notices, results, sources. */
function enterOutcome(turn: Turn, place: Place, delivered: Delivered, exec: boolean): Promise<void> {
  const { changes = none } = delivered
  return turn.ledger.commit((timeline) => {
    const blocks = { type: 'blocks.appended' as const, blocks: enter(timeline, resultDrafts(place, delivered, { exec })) }
    const merged = mergedSources(timeline, delivered, place.ts)
    return changes.length + merged.length === 0 ? [blocks] : [...changes, ...merged, blocks]
  })
}

const none: readonly Change[] = []
const hasFiles = ({ artifacts, output }: Outcome) => artifacts !== undefined || declaresFiles(output)

function whereTo({ conversationId, blobs, workspace, hosting, ledger, settings, onProblem }: Turn) {
  const { scope, name: conversation } = readConversationKey(conversationId)
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

const unfit = failed(
  'result_unfit',
  'The tool ran, but what it returned cannot be entered or shown. Whatever it did is done: do not call it again only to see the result.',
)

function mergedSources(timeline: Timeline, { sources }: Delivered, ts: string): readonly Change[] {
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
