import { performance } from 'node:perf_hooks'
import {
  type BlockOrigin,
  type Draft,
  decisionNotesBlock,
  type Notice,
  noticeBlock,
  toolCallBlock,
  toolCodeBlock,
} from '../../core/block/index.ts'
import { hasReference } from '../../core/decision/signature.ts'
import type { JsonObject } from '../../core/json.ts'
import { ackDrafts, readRoundAcks } from '../../core/plan/plans.ts'
import { cachePoints } from '../../core/render/cache-points.ts'
import { visibilityOfFile } from '../../core/timeline/artifacts.ts'
import type { Change } from '../../core/timeline/change.ts'
import { assignIds, type Timeline } from '../../core/timeline/timeline.ts'
import type { DeliveredOutcome } from '../../tools/artifacts/deliver.ts'
import { displayParams } from '../../tools/display-params.ts'
import { withContract } from '../../tools/exec/prepare.ts'
import { type Invocation, invoke, unfitResult } from '../../tools/invoke.ts'
import { declaresFiles, mayHoldSources, resultDrafts } from '../../tools/outcome.ts'
import { withBoundReferences } from '../../tools/references.ts'
import {
  mergeSourcesChange,
  type PoolNumbers,
  poolNumbersOf,
  withCurrentNumbers,
  withParsedSources,
  withPoolNumbers,
} from '../../tools/source-numbers.ts'
import type { Call, Outcome, Tool } from '../../tools/tool.ts'
import type { Ledger } from '../conversation/ledger.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import { type ExecStart, emitExecEnd, emitExecStart } from '../events/exec-status.ts'
import { createProgressLine, type ProgressLine } from '../events/tool-progress.ts'
import { type ModelCall, responseChanges, thinkingDrafts } from '../model-call/model-call.ts'
import { enterLateResult } from '../waits/approvals.ts'
import { createCompletionToken } from '../waits/completion-token.ts'
import { withContext } from '../workspace/workspace.ts'
import { deliverFiles } from './deliver-files.ts'
import { type Progress, progressAfterCall } from './progress.ts'
import type { Turn } from './turn.ts'

/** A tool call that has passed all checks. `origin` has the id of this call. */
export interface CheckedCall {
  readonly origin: BlockOrigin
  readonly tool: Tool
  readonly params: JsonObject
  readonly code: string | undefined
  /** The notes of the response. */
  readonly notes: string
}

/** A call as its block shows it. `params` are all parameters of the call. They are shortened for the block. */
export interface ShownCall extends Pick<CheckedCall, 'origin' | 'params' | 'code'> {
  readonly toolId: string
  readonly warnings: readonly Notice[]
  /** The calls of a response with the same group run at the same time. Undefined when the response has one call. */
  readonly group?: number
}

/**
 * Commits the response and its calls before a tool runs. So the journal shows after a crash which tools may have run: those whose call has
 * no result and does not wait. `seen` is the timeline that the model saw. `finished` are further changes of the same commit: outcomes of
 * calls whose tools do not run, and the waits of calls that need an approval.
 */
export function commitCalls(
  turn: Turn,
  { origin, call, notes, titleBlocks }: DecidedCalls,
  calls: readonly ShownCall[],
  seen: Timeline,
  finished: readonly Change[] = noChanges,
): Promise<void> {
  const response = responseChanges(origin, call)
  return turn.conversation.ledger.commit((timeline) => {
    const drafts = [...titleBlocks, ...thinkingDrafts(origin, call.response)]
    addRoundDrafts(drafts, origin, notes, calls, seen)
    return [...response, { type: 'blocks.appended', blocks: assignIds(timeline, drafts) }, ...finished]
  })
}

/** A response with calls. `titleBlocks` are blocks of a title that arrived with it. */
interface DecidedCalls {
  readonly origin: BlockOrigin
  readonly call: ModelCall
  readonly notes: string
  readonly titleBlocks: readonly Draft[]
}

/** Runs the tool of a call and commits the result. */
export function runToolCall(turn: Turn, progress: Progress, call: CheckedCall, seen: Timeline): Promise<Progress> {
  const running = runTool(turn, progress, call, seen)
  return running instanceof Promise
    ? running.then((invocation) => commitInvocation(turn, progress, call, invocation))
    : commitInvocation(turn, progress, call, running)
}

function commitInvocation(turn: Turn, progress: Progress, call: CheckedCall, { outcome, stopped }: Invocation): Promise<Progress> {
  if (outcome.later) return enterLateResult(turn, call.origin, outcome.later, false).then(() => progress)
  if (stopped && turn.conversation.signal.aborted) return Promise.resolve(progress)
  return commitReturned(turn, progress, call.origin, call.tool.id, outcome, call)
}

/**
 * Runs the tool of a call. Returns an outcome even if the tool throws. A steer, the time limit or the closing of the agent aborts the
 * tool's signal. If the agent is closed while the tool runs, its result must not be committed. The process that resumes the turn then
 * decides whether the tool runs again.
 */
export function runTool(turn: Turn, progress: Progress, call: CheckedCall, seen: Timeline): Invocation | Promise<Invocation> {
  const { conversation } = turn
  const activity = conversation.inbox.beginActivity()
  const started = performance.now()
  emitToolStatus(conversation.live, call, 'tool.started')
  const exec = call.tool.exec ? emitExecStart(turn, call.origin) : undefined
  let line: ProgressLine | undefined
  let hasEnded = false
  const showProgress = (text: string) => {
    if (hasEnded) return
    line ??= createProgressLine(conversation.live, call)
    line.show(text)
  }
  const context = callOf(turn, progress, call, seen, activity.signal, showProgress)
  const end = (invocation: Invocation): Invocation | Promise<Invocation> => {
    hasEnded = true
    line?.end()
    activity.end()
    turn.times.toolMs += performance.now() - started
    if (exec) return endExec(turn, call, exec, invocation)
    emitToolStatus(conversation.live, call, 'tool.ended')
    return invocation
  }
  const running = invoke(preparedTool(turn, call), call.params, context, turn.agent.settings)
  return running instanceof Promise ? running.then(end) : end(running)
}

async function endExec(turn: Turn, call: CheckedCall, start: ExecStart, invocation: Invocation): Promise<Invocation> {
  emitExecEnd(turn, call.origin, start, invocation.outcome)
  await turn.workspace.programRan()
  emitToolStatus(turn.conversation.live, call, 'tool.ended')
  return invocation
}

/** Commits the outcome that a tool returned, with the SIDs of its sources. `call` is undefined when its parameters are not known. */
export function commitReturned(
  turn: Turn,
  progress: Progress,
  origin: BlockOrigin,
  toolId: string,
  returned: Outcome,
  call: CheckedCall | undefined,
): Promise<Progress> {
  const { outcome, numbers } = numberSources(turn, toolId, returned)
  if (call) turn.workspace.addCall({ callId: origin.callId, toolId, description: call.notes, params: call.params, outcome })
  return commitResult(turn, progress, origin, toolId, outcome, numbers)
}

function emitToolStatus(live: LiveFeed, { origin, tool }: CheckedCall, status: 'tool.started' | 'tool.ended'): void {
  const { turnId: turn_id, iteration, callId: call_id } = origin
  live.emit({ type: 'status', turn_id, iteration, status, tool_id: tool.id, call_id })
}

/** Adds the blocks of calls, in this order: notes, plan steps whose progress the notes report, and each call with its program. */
function addRoundDrafts(drafts: Draft[], origin: BlockOrigin, notes: string, calls: readonly ShownCall[], timeline: Timeline): void {
  const toolId = calls[0]?.toolId ?? ''
  const planning = calls.length > 1 && calls.some((call) => call.toolId === 'react.plan')
  const acks = readRoundAcks(timeline, { notes, toolId: planning ? 'react.plan' : toolId }, origin)
  if (notes !== '') drafts.push(decisionNotesBlock(origin, notes, toolId))
  if (acks) drafts.push(...ackDrafts(origin, acks))
  for (const call of calls) addCallDrafts(drafts, call, timeline)
  if (acks) for (const notice of acks.warnings) drafts.push(noticeBlock(origin, notice))
}

function addCallDrafts(drafts: Draft[], { origin, toolId, params, code, warnings, group }: ShownCall, timeline: Timeline): void {
  if (code !== undefined) drafts.push(toolCodeBlock(origin, code))
  const visibility = toolId === 'react.patch' ? visibilityOfFile(timeline, params.path) : undefined
  drafts.push(toolCallBlock(origin, { toolId, params: displayParams(toolId, params, origin), visibility, group }))
  for (const notice of warnings) drafts.push(noticeBlock(origin, notice))
}

/** Wraps the tool of a call: an exec tool first checks its contract and writes the context files, and references are replaced. */
function preparedTool({ workspace }: Turn, { tool, params }: CheckedCall): Tool {
  const contracted = tool.exec ? withContract(withContext(workspace, tool)) : tool
  return hasReference(params) ? withBoundReferences(contracted) : contracted
}

/** What the tool of a call gets besides its parameters. */
export function callOf(
  turn: Turn,
  progress: Pick<Progress, 'hasHidden'>,
  { origin, tool, code }: CheckedCall,
  seen: Timeline,
  signal: AbortSignal,
  showProgress?: (text: string) => void,
): Call {
  const { turnId, agent, conversation, workspace } = turn
  const { conversationId, scope, records, renderers } = conversation
  const { offersToPrograms, hasAny } = agent.toolbox
  const slice = () => renderers.renderer.slice(seen, turnId)
  let token: Promise<string> | undefined
  const made: Mutable<Call> = {
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
    code,
    dialect: agent.speech.dialect,
    scope,
    records,
    workspace: workspace.open,
    blobs: conversation.blobs,
    onProblem: agent.onProblem,
    // imported on demand, because hardly any tool asks people
    ask: async (question, stop) => (await import('../waits/ask-person.ts')).askPerson(turn, origin, question, [signal, stop]),
    completionToken: () => (token ??= createCompletionToken(turn, origin)), // a call has one token
  }
  if (showProgress) made.showProgress = showProgress
  if (offersToPrograms) made.offers = offersToPrograms
  if (hasAny) made.hasTool = hasAny
  return made
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** Parses the sources of an outcome, and finds or makes their SIDs in the pool. Sources of built-in tools already have a SID. */
function numberSources({ agent, conversation }: Turn, toolId: string, returned: Outcome): { outcome: Outcome; numbers?: PoolNumbers } {
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
 * Commits the result of a call. If the files of the result can not be stored, or its blocks can not be committed, the result is an error,
 * and the turn continues.
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
    if (hasFiles(outcome)) delivered = await deliverFiles(turn, resultOrigin, toolId, outcome, { exec, numbers })
    await commitOutcome(conversation.ledger, resultOrigin, delivered, toolId, exec)
  } catch (error) {
    agent.onProblem({ where: `result of ${toolId}`, error })
    delivered = unfitResult
    await commitOutcome(conversation.ledger, resultOrigin, unfitResult, toolId, exec) // throws again if the journal can not be written
  }
  return progressAfterCall(progress, toolId, delivered)
}

function commitOutcome(ledger: Ledger, origin: BlockOrigin, delivered: DeliveredOutcome, toolId: string, exec: boolean): Promise<void> {
  return ledger.commit((timeline) => {
    const { changes = noChanges } = delivered
    const outcome = isBuiltIn(toolId) || delivered.sources === undefined ? delivered : withCurrentNumbers(delivered, timeline.sources)
    const blocks = { type: 'blocks.appended' as const, blocks: assignIds(timeline, resultDrafts(origin, outcome, { toolId, exec })) }
    const merged = outcome.sources ? mergeSourcesChange(timeline.sources, outcome, origin.ts) : noChanges
    return changes.length + merged.length === 0 ? [blocks] : [...changes, ...merged, blocks]
  })
}

const noChanges: readonly Change[] = []
const hasFiles = ({ artifacts, output }: Outcome) => artifacts !== undefined || declaresFiles(output)
