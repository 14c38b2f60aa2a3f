import { type BlockOrigin, type Draft, type Notice, thinkingBlock } from '../../core/block/index.ts'
import { hasReadableText } from '../../core/citations/sids.ts'
import { estimatedUsage } from '../../core/cost/call-usage.ts'
import { channelOf, type Decision, type FinalDecision, type ParsedResponse } from '../../core/decision/decision.ts'
import { salvageAnswer } from '../../core/decision/fallback-answer.ts'
import { type DecisionOptions, readDecision } from '../../core/decision/read.ts'
import { outputLimit } from '../../core/estimate/estimate.ts'
import { hasSource } from '../../core/sources/pool.ts'
import type { ReachedLimit, ResponseReceived } from '../../core/timeline/change.ts'
import type { PromptRecord, RetriedAttempt } from '../../core/timeline/response-record.ts'
import type { BudgetRefusal } from '../budgets/call-budgets.ts'
import type { Progress } from '../turn/progress.ts'
import type { DecisionPrompt } from '../turn/prompt.ts'
import type { Turn } from '../turn/turn.ts'
import type { ModelResponse } from './model-response.ts'
import { toUsageRecord } from './read-response.ts'

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

/** The decision in a response, or the reason why the response is rejected. */
interface ResponseReading {
  /** Undefined when the response is rejected. */
  readonly decision?: Decision
  /** An answer in a rejected response that the user has already seen. The turn may continue after it. */
  readonly kept?: FinalDecision
  /** Notices about rules that the response broke. If the response is rejected, the last notice gives the reason. */
  readonly notices: readonly Notice[]
}

/**
 * Reads the decision of a response. If the user has already seen an answer in the response, this answer is used even if the response breaks
 * a rule.
 */
export function readResponseDecision(
  { agent, conversation: { ledger } }: Turn,
  progress: Progress,
  response: ModelResponse,
  maxTokens: number,
): ResponseReading {
  if (response.violation) return { notices: [response.violation] }
  const parsed = toDecisionResponse(response, Math.min(maxTokens, outputLimit(agent.models.decision.window)))
  const isSource = (sid: number) => hasSource(ledger.timeline.sources, sid)
  const options: DecisionOptions = {
    clarify: agent.settings.clarify,
    tools: agent.toolbox.signatures,
    isSource,
    plainText: progress.repairs.plainText === true,
    delivered: shownBefore(progress),
  }
  const first = readDecision(parsed, options)
  if (first.ok) return { decision: first.decision, notices: first.warnings }
  const shown = response.liveOutput().answer()?.text ?? ''
  const answered = hasReadableText(shown, isSource) // false if the user has seen only citations of unknown sources
  // The response breaks a rule. If the user already saw a part of it, the notice to the model must say so. Reading it again with `shown`
  // makes that notice.
  const reading = response.liveOutput().showedContent() ? readDecision(parsed, { ...options, shown: true, answered }) : first
  if (reading.ok) return { decision: reading.decision, notices: reading.warnings }
  const { violation } = reading
  const notices = [...reading.warnings, violation]
  const isSecondAction = violation.code === 'protocol_violation.multiple_actions'
  const cut = parsed.finishReason === 'length' && !isSecondAction // if another action follows the answer, the answer itself is complete
  const salvaged = salvageAnswer({ delivered: answered ? shown : undefined, violation, cut })
  if (!salvaged) return { notices }
  return isSecondAction ? { kept: salvaged, notices } : { decision: salvaged, notices }
}

/**
 * The latest answer that the user has seen, if no event has arrived since. A completion without text refers to this answer. After an event
 * there is no such answer, because the model has to take the event into account.
 */
function shownBefore({ attempts, eventsAtAttempt, events }: Progress): string | undefined {
  return eventsAtAttempt === events.length ? attempts.at(-1)?.text : undefined
}

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
