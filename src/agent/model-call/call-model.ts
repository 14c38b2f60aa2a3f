import { type BlobRef, type BlockOrigin, type Draft, thinkingBlock } from '../../core/block/index.ts'
import { type CitationFormat, createCitationRewriter } from '../../core/citations/replace.ts'
import type { Attempt } from '../../core/compaction/overflow.ts'
import { estimatedUsage, fromUsageRecord } from '../../core/cost/call-usage.ts'
import { callsInText } from '../../core/decision/call-in-text.ts'
import { channelOf, decisionChannels, type ParsedResponse } from '../../core/decision/decision.ts'
import { createEarlyCheck } from '../../core/decision/early-check.ts'
import { readDecision } from '../../core/decision/read.ts'
import { idOf, isToolName } from '../../core/decision/read-native.ts'
import { calibrationOf, outputLimit } from '../../core/estimate/estimate.ts'
import type { Dialect } from '../../core/model-event.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import { withoutRewriting } from '../../core/stream/lane.ts'
import { createLanes, type LaneSettings } from '../../core/stream/lanes.ts'
import { createNativeLanes } from '../../core/stream/native-lanes.ts'
import { isInternalFile } from '../../core/timeline/artifacts.ts'
import type { ReachedLimit, ResponseReceived } from '../../core/timeline/change.ts'
import type { PromptRecord, RetriedAttempt } from '../../core/timeline/response-record.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { callIdAt } from '../../tools/call-id.ts'
import { mimeOf } from '../../tools/mime.ts'
import type { TurnServices } from '../agent-context.ts'
import type { BudgetRefusal, CallBudgets } from '../budgets/call-budgets.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { Ledger } from '../conversation/ledger.ts'
import type { ModelSettings } from '../settings.ts'
import type { Toolbox } from '../tools.ts'
import { compactAfterOverflow } from '../turn/context-window.ts'
import { buildDecisionPrompt, type DecisionPrompt, promptTails, type Tails } from '../turn/prompt.ts'
import type { Progress } from '../turn/round.ts'
import type { Turn } from '../turn/turn.ts'
import { withModel } from '../turn/turn-options.ts'
import { type ModelResponse, type ReadOptions, readResponse, toUsageRecord } from './read-response.ts'
import { isProviderTrouble, mayRetry, waitBeforeRetry, withFallback } from './retry.ts'
import { isOverflowError, isToolsRefusal } from './service-errors.ts'

/** A call of the decision model, with its response. If the call was repeated, this is the response of the last attempt. */
export type ModelCall = NewCall | JournaledCall

interface CallOutcome {
  readonly response: ModelResponse
  /** How many attempts failed before this one. */
  readonly attempt: number
}

/** A call whose response is not in the journal yet. */
export interface NewCall extends CallOutcome {
  readonly journaled: false
  readonly prompt: DecisionPrompt
  /** The cost of the failed attempts. */
  readonly retried: readonly RetriedAttempt[]
  /** Whether a steer, the time limit or the closing of the agent aborted the response before it was complete. */
  readonly interrupted: boolean
  /** The limit that the turn has reached, if this is the last call of its wrap-up. */
  readonly wrapUp: ReachedLimit | undefined
}

/** A call that was not made, because it does not fit into a budget. */
export interface RefusedCall {
  readonly refused: BudgetRefusal
}

/**
 * A call whose response is already in the journal. The blocks that are made of the response are not in the journal yet. The response was
 * committed by this process, or by a process that died.
 */
export interface JournaledCall extends CallOutcome {
  readonly journaled: true
}

/**
 * How often a prompt may be compacted after the provider has rejected it as too long. Each compaction removes more than the previous one.
 */
const maxOverflows = 3

/**
 * Sends the prompt and reads the response. If the call fails, it is repeated, but only while the user has seen nothing of the response.
 * Before the retry, `callModel` waits, or compacts the timeline if the prompt was too long. If the provider can not answer, the fallback
 * model is asked. An error that can not be retried is in the returned response. If both models fail, it is the error of the usual model.
 * Each attempt is reserved in the budgets of the conversation. If the first attempt does not fit into a budget, no call is made.
 */
export async function callModel(
  turn: Turn,
  progress: Progress,
  origin: BlockOrigin,
  model: ModelSettings,
  wrapUp?: ReachedLimit,
): Promise<NewCall | RefusedCall> {
  const { agent, conversation } = turn
  const activity = conversation.inbox.beginActivity()
  const started = performance.now()
  const { signal } = activity
  let retries = 0
  let overflows = 0
  let retried: readonly RetriedAttempt[] = []
  let last: NewCall | undefined
  let other = agent.fallback && withFallback(turn)
  let asked = turn
  // the failed call of the usual model, kept while the fallback model is asked
  let failed: { readonly call: NewCall; readonly cost: RetriedAttempt | undefined } | undefined
  const build = (each: Turn): BuiltCall => ({ turn: each, prompt: buildDecisionPrompt(each, progress, origin.ts, wrapUp) })
  if (other && agent.fallback?.isBusy(agent.models.decision)) [asked, other] = [other, turn]
  try {
    for (let attempt = 0; ; attempt++) {
      const { budgets } = conversation
      const affordable = budgets ? await findAffordable(budgets, asked, { retried, model, wrapUp }, build) : build(asked)
      if ('refused' in affordable) return last ?? affordable
      const { prompt } = affordable
      const response = await callOnce(affordable.turn, origin, prompt, model, {
        attempt,
        activity,
        acceptsPlainText: progress.repairs.plainText === true,
      })
      const { error } = response
      const interrupted = response.interrupted || isCutShort(response, model.maxTokens)
      const call: NewCall = { journaled: false, response, prompt, attempt, retried, interrupted, wrapUp }
      last = call
      if (interrupted || !error || response.liveOutput().showedAnything()) return call
      const cost = retriedAttempt(response, prompt)
      if (isOverflowError(error)) {
        overflows = await compactUntilSmaller(asked, promptTails(asked, progress, origin.ts, wrapUp), overflows, signal)
        if (overflows > maxOverflows && !signal.aborted) return call
      } else if (isToolsRefusal(error) && asked.agent.speech.speakChannels()) {
        // the next attempt is in the dialect `channels`, so it needs no pause
      } else if (mayRetry(error) && retries < agent.settings.retryDelaysMs.length) {
        conversation.live.emit({ type: 'status', turn_id: origin.turnId, iteration: origin.iteration, status: 'retrying', error })
        await waitBeforeRetry(agent, retries++, error, signal)
      } else if (other && (asked !== turn || isProviderTrouble(error))) {
        conversation.live.emit({ type: 'status', turn_id: origin.turnId, iteration: origin.iteration, status: 'retrying', error })
        if (asked === turn) {
          agent.fallback?.setBusy(agent.models.decision, error)
          failed = { call, cost }
        }
        ;[asked, other] = [other, undefined]
        retries = 0
      } else if (failed) {
        const { call: ofUsual, cost: own } = failed // `ofUsual` has its own cost in its response, so `retried` must not have it
        return { ...ofUsual, retried: [...retried, ...(cost ? [cost] : [])].filter((each) => each !== own) }
      } else return call
      if (signal.aborted) return { ...call, interrupted: true }
      if (cost) retried = [...retried, cost]
    }
  } finally {
    activity.end()
    turn.times.modelMs += performance.now() - started
  }
}

/**
 * Compacts the timeline, more strongly with each attempt, until it gets smaller. Returns the number of the attempt that succeeded. Returns
 * `maxOverflows + 1` if no attempt succeeded.
 */
async function compactUntilSmaller(turn: Turn, tails: Tails, before: number, signal: AbortSignal): Promise<number> {
  for (let attempt = before + 1; attempt <= maxOverflows && !signal.aborted; attempt++) {
    if (await compactAfterOverflow(turn, tails, attempt as Attempt)) return attempt
  }
  return maxOverflows + 1
}

/** A prompt, and the turn whose model it is for. */
interface BuiltCall {
  readonly turn: Turn
  readonly prompt: DecisionPrompt
}

/** Reserves a call in the budgets. If it does not fit, the cheaper model of the settings is tried. */
async function findAffordable(
  budgets: CallBudgets,
  turn: Turn,
  call: { readonly retried: readonly RetriedAttempt[]; readonly model: ModelSettings; readonly wrapUp: ReachedLimit | undefined },
  build: (turn: Turn) => BuiltCall,
): Promise<BuiltCall | RefusedCall> {
  const { agent, conversation } = turn
  const built = build(turn)
  const refused = await budgets.reserve(
    'decision',
    () => ({
      model: agent.models.decision.name,
      inputTokens: built.prompt.countTokens() * calibrationOf(conversation.ledger.timeline),
      maxTokens: Math.min(call.model.maxTokens, outputLimit(agent.models.decision.window)),
      failed: call.retried.map(({ usage, model: name = '' }) => ({ usage: fromUsageRecord(usage), model: name })),
    }),
    call.wrapUp !== undefined,
  )
  if (!refused) return built
  const { cheaper } = agent
  if (!cheaper || cheaper === agent.models.decision) return { refused }
  return findAffordable(budgets, { ...turn, agent: withModel(agent, cheaper) }, call, build)
}

function callOnce(
  turn: Turn,
  origin: BlockOrigin,
  prompt: DecisionPrompt,
  { maxTokens, temperature }: ModelSettings,
  { attempt, activity, acceptsPlainText }: { readonly attempt: number; readonly activity: Activity; readonly acceptsPlainText: boolean },
): Promise<ModelResponse> {
  const { agent, conversation } = turn
  const { turnId: turn_id, iteration } = origin
  const { conversationId, live } = conversation
  const { dialect, system } = agent.speech
  live.emit({ type: 'status', turn_id, iteration, status: 'deciding' })
  const request: Mutable<ModelRequest> = {
    role: 'decision',
    system: system.text,
    parts: prompt.parts,
    maxTokens: Math.min(maxTokens, outputLimit(agent.models.decision.window)),
    temperature,
    cacheKey: conversationId,
    read: ({ sha256 }: BlobRef) => agent.store.blobs.get(sha256),
  }
  if (system.tools) request.tools = system.tools
  return readResponse(
    () => agent.models.decision.stream(request, activity.signal),
    activity,
    readOptions(turn, origin, attempt, acceptsPlainText, dialect),
  )
}

/** How a response of the decision model is read and shown. `acceptsPlainText` is true when a text without any channel may be the answer. */
export function readOptions(
  { agent, conversation: { live, ledger } }: Turn,
  origin: BlockOrigin,
  attempt: number,
  acceptsPlainText: boolean,
  dialect: Dialect,
): ReadOptions {
  const { turnId: turn_id, iteration } = origin
  return {
    graceMs: agent.settings.stopGraceMs,
    modelName: agent.models.decision.name,
    channels: decisionChannels,
    dialect,
    createLanes: () => createLanes(laneSettings(agent, ledger, origin)),
    createNativeLanes: () => createNativeLanes({ ...laneSettings(agent, ledger, origin), ...nativeSettings(agent.toolbox, origin) }),
    earlyCheck: createEarlyCheck(acceptsPlainText),
    live,
    emit: (delta) => live.emit({ type: 'lane.delta', turn_id, iteration, attempt, delta }),
  }
}

function laneSettings({ output }: TurnServices, ledger: Ledger, { iteration, callId: executionId }: BlockOrigin): LaneSettings {
  const sources = () => sourcesBySid(ledger.timeline.sources)
  const replacer = output // a link in place of a citation could make the JSON of an output invalid
    ? withoutRewriting
    : (format: CitationFormat) => createCitationRewriter({ format, sources, stripUsage: true, keepUnresolved: false })
  return { iteration, executionId, replacer, mimeOf, isInternalFile: (path) => isInternalFile(ledger.timeline, path) }
}

const nativeSettings = ({ signatures }: Toolbox, { callId }: BlockOrigin) => ({
  channels: decisionChannels,
  toolIdOf: (name: string) => idOf(name, signatures),
  executionIdOf: (index: number) => callIdAt(callId, index),
  hasCallInText: (text: string) => callsInText(text, (name) => isToolName(name, signatures)) !== undefined,
})

/**
 * Whether a response that ended after an abort contains no decision. Such a response is incomplete, although the adapter reported an
 * ordinary end.
 */
const isCutShort = (response: ModelResponse, maxTokens: number): boolean =>
  response.endedAfterAbort && (response.violation !== undefined || !readDecision(toDecisionResponse(response, maxTokens), {}).ok)

/** Converts a response to the form that `readDecision` takes. */
export function toDecisionResponse(response: ModelResponse, maxTokens: number): ParsedResponse {
  return {
    channels: response.channels,
    preamble: response.preamble,
    finishReason: response.finish?.reason ?? (response.error ? 'error' : 'other'),
    maxTokens,
    raw: response.raw,
    calls: response.calls,
    errorType: response.error?.error_type,
  }
}

/** The change that journals the response of a call. Empty if the response is already in the journal. */
export const responseChanges = (origin: BlockOrigin, call: ModelCall): readonly ResponseReceived[] =>
  call.journaled ? noChanges : [responseReceived(origin, call)]

const noChanges: readonly ResponseReceived[] = []

/**
 * Commits a response alone, without the blocks that are made of it. This is done before a slow step: the exit grace, a hook or a publish.
 * If the process dies during this step, the process that resumes the turn need not call the model again.
 */
export async function enterResponse({ conversation }: Turn, origin: BlockOrigin, call: ModelCall): Promise<JournaledCall> {
  if (call.journaled) return call
  await conversation.ledger.commit([responseReceived(origin, call)])
  return { journaled: true, response: call.response, attempt: call.attempt }
}

/** The change that journals a response. After it is committed, the model is not called again for this decision. */
export function responseReceived(
  origin: BlockOrigin,
  { response, prompt, retried, wrapUp }: NewCall,
  finishReason?: string,
): ResponseReceived {
  const usage = response.usage && toUsageRecord(response.usage)
  const type = 'response.received'
  const { turnId: turn_id, ts, iteration, callId: call_id } = origin
  const { raw, calls } = response
  const finish_reason = finishReason ?? response.finish?.reason ?? (response.error ? 'error' : 'other')
  const sent = promptRecord(prompt, response.finish?.modelName, usage !== undefined)
  // Most responses are made without spreading: fields that are spread or added take more memory, as long as the response is kept.
  const record: Mutable<ResponseReceived> =
    usage && !calls
      ? { type, turn_id, ts, iteration, call_id, raw, finish_reason, usage, prompt: sent }
      : {
          ...{ type, turn_id, ts, iteration, call_id, raw, finish_reason },
          ...(calls && { dialect: 'native' }),
          ...(usage && { usage }),
          prompt: sent,
        }
  if (response.error) record.error = response.error
  if (retried.length > 0) record.retried = retried
  if (wrapUp !== undefined) record.wrap_up = wrapUp
  return record
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** The cost of a failed attempt. It is estimated if the provider sent no usage. Undefined when the attempt cost nothing. */
export function retriedAttempt({ usage, raw }: ModelResponse, { record, countTokens }: DecisionPrompt): RetriedAttempt | undefined {
  const model = record.model === undefined ? {} : { model: record.model }
  if (usage) return { usage: toUsageRecord(usage), ...model }
  return raw === '' ? undefined : { usage: toUsageRecord(estimatedUsage(countTokens(), raw)), ...model, estimated: true }
}

/** The record of a prompt. If the provider sent no usage, the record contains the number of tokens, so that the cost can be estimated. */
function promptRecord(
  { record, tokens: known, countTokens }: DecisionPrompt,
  modelName: string | undefined,
  hasUsage: boolean,
): PromptRecord {
  const tokens = hasUsage ? known : countTokens()
  const copy: Mutable<PromptRecord> = { ...record }
  if (modelName !== undefined) copy.model = modelName
  if (tokens !== undefined) copy.estimated_tokens = tokens
  return copy
}

/** The block with the model's thinking. Users can read it. It is not part of later prompts. */
export function thinkingDrafts(origin: BlockOrigin, response: ModelResponse): readonly Draft[] {
  const text = channelOf(response, 'thinking')?.instances.join('\n').trim()
  return text ? [thinkingBlock(origin, text)] : []
}
