import type { Notice } from '../block/round.ts'
import { extractSids, hasReadableText } from '../citations/sids.ts'
import { isObject, type JsonObject } from '../json.ts'
import { conflictingKeys } from '../stream/deciding-keys.ts'
import { parseModelJson } from '../stream/json/parse.ts'
import type { ActionKeys } from './action-keys.ts'
import {
  type ActionFields,
  channelOf,
  channelText,
  type Decision,
  type FinalDecision,
  type NativeCall,
  type ParsedResponse,
  parseAction,
  parseActionFields,
  parsePhrases,
  wasCutOff,
} from './decision.ts'
import { leadingCloseTag } from './early-check.ts'
import { nothingSaid } from './native-violations.ts'
import { isPlainText, withoutThinking } from './plain-text.ts'
import { readNativeCalls } from './read-native.ts'
import type { ToolSignatures } from './signature.ts'
import * as notices from './violations.ts'

/** Values that `readDecision` needs, besides the response itself. */
export interface DecisionOptions extends AnswerContext {
  /** True when the user has seen a part of this response. */
  readonly shown?: boolean
  /** True when the user has seen an answer in this response. */
  readonly answered?: boolean
  /**
   * True when a response without any channel is accepted as the answer. This is the case if an earlier response had no channel either, and
   * the model was told to write channels.
   */
  readonly plainText?: boolean
  /** The tools of the agent. They are needed for a native response, which has the names of tools in the form that the provider knows. */
  readonly tools?: ToolSignatures
  /** True when the action `clarify` is accepted. It means the same as `exit`. */
  readonly clarify?: boolean
}

interface AnswerContext {
  /**
   * An answer that the user has seen in an earlier round of this turn. If the model writes `complete` without an answer, this earlier
   * answer is used.
   */
  readonly delivered?: string | undefined
  /** True for a SID that may be cited. Default: every SID. An answer that contains only citations of other SIDs is treated as blank. */
  isSource?(sid: number): boolean
}

export type DecisionResult =
  | { readonly ok: true; readonly decision: Decision; readonly warnings: readonly Notice[] }
  | { readonly ok: false; readonly violation: Notice; readonly warnings: readonly Notice[] }

/**
 * Reads the decision from a response, or finds the first rule that the response broke. Accepts any text and never throws. These are the
 * channels of a valid response:
 *
 *   thinking · action · code                calls an exec tool
 *   thinking · action                       calls any other tool, or several tools
 *   thinking · action · answer · followup   ends the turn
 *   thinking · answer                       ends the turn, with a warning
 *   text without any channel                ends the turn, with a warning, if the model was already asked to write channels
 *
 * A `usage` channel may follow an answer.
 */
export function readDecision(response: ParsedResponse, options: DecisionOptions = {}): DecisionResult {
  const warnings: Notice[] = []
  const outcome = read(response, options, warnings)
  // The connection may break after the decision was complete. In this case the decision is used, so that the model does not have to write
  // it again.
  if (response.finishReason === 'error' && !(outcome.ok && isComplete(response))) {
    return { ok: false, violation: notices.serviceInterrupted(response, options.shown === true), warnings: [] }
  }
  return outcome.ok ? { ok: true, decision: outcome.decision, warnings } : { ok: false, violation: outcome.violation, warnings }
}

const isComplete = ({ channels, calls }: ParsedResponse): boolean => {
  if (calls && calls.length > 0) return calls.every(({ complete }) => complete)
  return channels.length > 0 && channels.every(({ closed }) => closed !== 'cut')
}

type Outcome = { readonly ok: true; readonly decision: Decision } | { readonly ok: false; readonly violation: Notice }

const accept = (decision: Decision): Outcome => ({ ok: true, decision })
const refuse = (violation: Notice): Outcome => ({ ok: false, violation })

function read(response: ParsedResponse, options: DecisionOptions, warnings: Notice[]): Outcome {
  return response.calls ? readNative(response, response.calls, options, warnings) : readChannels(response, options, warnings)
}

/**
 * Reads a response in the dialect `native`. If the model has written an action in a channel instead, the response is read like one in the
 * dialect `channels`.
 */
function readNative(response: ParsedResponse, calls: readonly NativeCall[], options: DecisionOptions, warnings: Notice[]): Outcome {
  const shown = options.shown === true
  if (calls.length === 0 && channelText(response, 'action').trim() !== '') return readAction(response, options, warnings)
  const reading = readNativeCalls(response, calls, { tools: options.tools, shown }, warnings)
  if (reading.kind === 'calls') return accept(reading.decision)
  if (reading.kind === 'refused') return refuse(reading.violation)
  const answered = readFinal(response, 'complete', noFields, options, warnings)
  const isBlank = !answered.ok && answered.violation.code === 'protocol_violation.final_answer_required'
  return isBlank ? refuse(nothingSaid(unknownSources(response, '', options), shown)) : answered
}

const noFields: ActionFields = { action: 'complete', notes: '', toolCall: undefined, finalAnswer: '', followups: [], questions: [] }

function readChannels(response: ParsedResponse, options: DecisionOptions, warnings: Notice[]): Outcome {
  if (options.plainText && isPlainText(response, options.tools)) return readPlainText(response, options, warnings)
  const opening = checkOpening(response)
  return opening ? refuse(opening) : readAction(response, options, warnings)
}

function readAction(response: ParsedResponse, options: DecisionOptions, warnings: Notice[]): Outcome {
  const shown = options.shown === true
  const actions = channelOf(response, 'action')?.instances ?? []
  if (actions.length > 1) return refuse(notices.multipleActions(actions.length, shown, options.answered))
  const text = actions[0] ?? ''
  if (text.trim() === '') return readWithoutAction(response, options, warnings)

  const parsed = parseAction(text)
  if (!parsed.ok) return refuse(notices.unreadableAction(parsed.error, response, shown))
  const { repeated } = parsed.keys
  const conflicts = repeated.length > 0 ? conflictingKeys(text) : []
  if (conflicts.length > 0) return refuse(notices.duplicateKey(conflicts, shown))
  const checked = parseActionFields(parsed.value)
  if (!checked.ok) return refuse(notices.actionSchemaError(checked.problem, text, shown))
  if (parsed.repairs.length > 0) warnings.push(notices.actionRepaired(parsed.repairs))
  if (repeated.length > 0) warnings.push(notices.duplicateKeys(repeated))
  const { fields } = checked
  if (fields.action === 'call_tool') return readCall(response, fields, parsed.keys, shown)
  if (fields.action === 'complete' || fields.action === 'exit') return readFinal(response, fields.action, fields, options, warnings)
  if (fields.action === 'clarify' && options.clarify) return readFinal(response, 'exit', fields, options, warnings)
  const allowed = ['call_tool', 'complete', 'exit', ...(options.clarify ? ['clarify'] : [])]
  return refuse(notices.invalidAction(fields.action, allowed, shown))
}

/** Checks that the response starts with the channel `thinking`. `createEarlyCheck` applies the same rules while the response arrives. */
function checkOpening(response: ParsedResponse): Notice | undefined {
  const { preamble, channels, raw } = response
  const first = channels[0]?.name
  if (first === undefined) return notices.missingChannels(response)
  if (preamble.trim() !== '') return notices.preambleViolation(preamble)
  const closeTag = leadingCloseTag(raw, preamble)
  return closeTag === undefined && first === 'thinking' ? undefined : notices.firstChannelViolation(closeTag ?? first, preamble.length)
}

/** Reads a response without any channel. It is accepted as the answer, with the action `complete`. */
function readPlainText(response: ParsedResponse, { isSource = everySource }: AnswerContext, warnings: Notice[]): Outcome {
  const answer = trimBlankEdges(withoutThinking(response.raw))
  if (!hasReadableText(answer, isSource)) return refuse(notices.missingChannels(response))
  const message =
    'The reply had no channel, like an earlier one, and was taken as the answer. Begin the next reply with `<channel:thinking>`, then write the `action` channel.'
  warnings.push(notices.warning('answer_without_channels', message))
  const truncated = wasCutOff(response)
  if (truncated) warnings.push(answerTruncated(response))
  return accept({ action: 'complete', answer, followups: [], truncated })
}

/** Reads a response without an action. If it has an answer, it is accepted with the action `complete`. */
function readWithoutAction(response: ParsedResponse, options: DecisionOptions, warnings: Notice[]): Outcome {
  const shown = options.shown === true
  if (channelText(response, 'answer').trim() === '') {
    const lastChannel = response.channels.at(-1)?.name ?? 'thinking'
    return refuse(
      response.finishReason === 'length' ? notices.actionTruncated(lastChannel, response, shown) : notices.missingAction(response, shown),
    )
  }
  const message = 'The answer came without an action and was taken as "complete". Write the `action` channel before the answer.'
  warnings.push(notices.warning('answer_without_action', message))
  const noFields = { action: 'complete', notes: '', toolCall: undefined, finalAnswer: '', followups: [], questions: [] }
  return readFinal(response, 'complete', noFields, options, warnings)
}

function readCall(
  response: ParsedResponse,
  { notes, toolCall, callList, finalAnswer }: ActionFields,
  keys: ActionKeys,
  shown: boolean,
): Outcome {
  const toolId = toolCall?.toolId ?? ''
  const answered = finalAnswer.trim() !== '' || channelText(response, 'answer').trim() !== ''
  if (answered) return refuse(notices.finalAnswerWithToolCall(toolId, shown))
  if (toolCall === undefined || toolId === '' || callList?.some((call) => call.toolId === '')) return refuse(notices.missingToolId(shown))
  const codeCut = channelOf(response, 'code')?.closed === 'cut' && response.finishReason === 'length'
  if (codeCut) return refuse(notices.actionTruncated('code', response, shown))
  const code = channelText(response, 'code')
  const paramKeys = callList ? (keys.listed?.[0] ?? []) : keys.params
  const call = { action: 'call_tool' as const, notes: notes.trim(), toolId, params: toolCall.params, paramKeys }
  if (callList && callList.length > 1) {
    if (code.trim() !== '') return refuse(notices.codeWithSeveralCalls(callList.length, shown))
    const further = callList.slice(1).map((each, index) => ({ ...each, paramKeys: keys.listed?.[index + 1] ?? [] }))
    return accept({ ...call, further })
  }
  return accept(code.trim() === '' ? call : { ...call, code })
}

function readFinal(
  response: ParsedResponse,
  action: FinalDecision['action'],
  fields: ActionFields,
  options: DecisionOptions,
  warnings: Notice[],
): Outcome {
  const shown = options.shown === true
  if (fields.toolCall !== undefined) return refuse(notices.toolCallWithFinalAnswer(action, fields.toolCall.toolId, shown))
  if (channelText(response, 'code').trim() !== '') return refuse(notices.codeWithoutExec(action, undefined, shown))
  const answer = readAnswer(response, fields.finalAnswer, options, warnings)
  if (answer === undefined) {
    const cutOff = response.finishReason === 'length'
    if (cutOff) return refuse(notices.actionTruncated('answer', response, shown))
    return refuse(notices.finalAnswerRequired(action, unknownSources(response, fields.finalAnswer, options), shown))
  }
  if (fields.notes.trim() !== '') {
    const message = `The notes sent with "${action}" were dropped; the answer was accepted. What the user should read belongs in the answer.`
    warnings.push(notices.warning('final_answer_with_notes', message))
  }
  const followups = readFollowups(response, fields.followups, warnings)
  const usage = readUsage(response, warnings)
  const { questions } = fields
  return accept({ action, ...answer, followups, ...(usage && { usage }), ...(questions.length > 0 && { questions }) })
}

/**
 * The text of the answer. It is taken from the `answer` channel. If this channel is blank, it is taken from `final_answer` in the action.
 * If both are blank, it is the answer that the user has already seen.
 */
function readAnswer(
  response: ParsedResponse,
  field: string,
  { delivered = '', isSource = everySource }: AnswerContext,
  warnings: Notice[],
): { readonly answer: string; readonly truncated: boolean } | undefined {
  const written = trimBlankEdges(channelText(response, 'answer'))
  if (!hasReadableText(written, isSource)) {
    const answer = [field, delivered].map(trimBlankEdges).find((text) => hasReadableText(text, isSource))
    return answer === undefined ? undefined : { answer, truncated: false }
  }
  if (field.trim() !== '') {
    const message = 'The answer was given twice; the `answer` channel was taken and "final_answer" dropped. Write it only in the channel.'
    warnings.push(notices.warning('final_answer_twice', message))
  }
  const truncated = wasCutOff(response) && channelOf(response, 'answer')?.closed === 'cut'
  if (truncated) warnings.push(answerTruncated(response))
  return { answer: written, truncated }
}

/**
 * Suggestions for the user's next message. They are taken from the `followup` channel, or from the action if this channel is empty. If the
 * channel is not valid JSON, the model only gets a warning.
 */
function readFollowups(response: ParsedResponse, field: readonly string[], warnings: Notice[]): readonly string[] {
  const text = channelText(response, 'followup')
  if (text.trim() === '') return field
  const parsed = parseModelJson(text)
  if (!parsed.ok) {
    const message = 'The `followup` channel could not be read and was dropped; the answer was accepted. Write {"followups": ["…"]} there.'
    warnings.push(notices.warning('followups_unreadable', message))
    return field
  }
  const { value } = parsed
  return parsePhrases(isObject(value) ? (value.followups ?? value.suggested_followups) : value)
}

const maxUsageLength = 8_000

/** The object in the `usage` channel. If the channel is too long or not a JSON object, the model only gets a warning. */
function readUsage(response: ParsedResponse, warnings: Notice[]): JsonObject | undefined {
  const text = channelText(response, 'usage')
  if (text.trim() === '') return undefined
  const parsed = text.length <= maxUsageLength ? parseModelJson(text) : undefined
  if (parsed?.ok && isObject(parsed.value)) return parsed.value as JsonObject // the value was parsed from JSON
  const message = `The \`usage\` channel could not be read and was dropped; the answer was accepted. Write one JSON object of at most ${maxUsageLength} characters there.`
  warnings.push(notices.warning('usage_unreadable', message))
  return undefined
}

function answerTruncated({ finishReason, maxTokens }: ParsedResponse): Notice {
  const reason = finishReason === 'length' ? `the output limit of ${maxTokens} tokens` : "the provider's content filter"
  return notices.warning('answer_truncated', `The answer was cut off by ${reason}. What there is of it was kept and shown to the user.`, {
    max_tokens: maxTokens,
    finish_reason: finishReason,
  })
}

/** The SIDs in the answer for which there is no source. */
function unknownSources(response: ParsedResponse, field: string, { isSource = everySource }: AnswerContext): readonly number[] {
  return extractSids(channelText(response, 'answer') + field).filter((sid) => !isSource(sid))
}

const everySource = () => true

/** Removes blank lines at the start and white space at the end. The first line keeps its indentation. */
const trimBlankEdges = (text: string): string => text.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd()
