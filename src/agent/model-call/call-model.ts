import { performance } from 'node:perf_hooks'
import type { BlobRef, BlockOrigin } from '../../core/block/index.ts'
import { type CitationFormat, createCitationRewriter } from '../../core/citations/replace.ts'
import type { Attempt } from '../../core/compaction/overflow.ts'
import { fromUsageRecord } from '../../core/cost/call-usage.ts'
import { callsInText } from '../../core/decision/call-in-text.ts'
import { decisionChannels } from '../../core/decision/decision.ts'
import { readDecision } from '../../core/decision/read.ts'
import { idOf, isToolName } from '../../core/decision/read-native.ts'
import { calibrationOf, outputLimit } from '../../core/estimate/estimate.ts'
import type { Dialect } from '../../core/model-event.ts'
import { sourcesBySid } from '../../core/sources/pool.ts'
import { withoutRewriting } from '../../core/stream/lane.ts'
import { createLanes, type LaneSettings } from '../../core/stream/lanes.ts'
import { createNativeLanes } from '../../core/stream/native-lanes.ts'
import { isInternalFile } from '../../core/timeline/artifacts.ts'
import type { ReachedLimit } from '../../core/timeline/change.ts'
import type { RetriedAttempt } from '../../core/timeline/response-record.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { callIdAt } from '../../tools/call-id.ts'
import { mimeOf } from '../../tools/mime.ts'
import type { TurnServices } from '../agent-context.ts'
import type { CallBudgets } from '../budgets/call-budgets.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { Ledger } from '../conversation/ledger.ts'
import type { ModelSettings } from '../settings.ts'
import type { Toolbox } from '../tools.ts'
import { compactAfterOverflow } from '../turn/context-window.ts'
import type { Progress } from '../turn/progress.ts'
import { buildDecisionPrompt, type DecisionPrompt, promptTails, type Tails } from '../turn/prompt.ts'
import type { Turn } from '../turn/turn.ts'
import { withModel } from '../turn/turn-options.ts'
import { type NewCall, type RefusedCall, retriedAttempt, toDecisionResponse } from './model-call.ts'
import type { ModelResponse, ReadOptions } from './model-response.ts'
import { readResponse } from './read-response.ts'
import { isProviderTrouble, mayRetry, waitBeforeRetry, withFallback } from './retry.ts'
import { isOverflowError, isToolsRefusal } from './service-errors.ts'

/**
 * How often a prompt may be compacted after the provider has rejected it as too long. Each compaction removes more than the previous one.
 */
const maxOverflows = 3

/**
 * Sends the prompt and reads the response. If the call fails, it is repeated, but only while the user has seen nothing of the response.
 * Before the retry, `callModel` waits, or compacts the timeline if the prompt was too long. If the provider can not answer, the fallback
 * model is asked. If the error can not be retried, the returned response contains the error. If both models fail, it contains the error of
 * the usual model. The cost of each attempt is reserved in the budgets of the conversation. If the first attempt does not fit into a
 * budget, no call is made.
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

/** Reserves the cost of a call in the budgets. If the cost does not fit, the cheaper model of the settings is tried. */
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
    acceptsPlainText,
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

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
