import type { Notice } from '../block/tool.ts'
import { extractSids, hasReadableText } from '../citations/sids.ts'
import { isObject } from '../json.ts'
import { parseModelJson } from '../stream/json-parse.ts'
import { parseAction } from './action-keys.ts'
import { type ActionFields, type Decision, type FinalDecision, parseActionFields, parsePhrases } from './decision.ts'
import { firstChannelViolation, leadingCloseTag, preambleViolation } from './early-check.ts'
import { channelOf, channelText, type ParsedResponse, wasCutOff } from './response.ts'
import * as notices from './violations.ts'
import { warning } from './violations.ts'

export interface DecisionOptions extends AnswerContext {
  /** A lane of this response has reached the user. */
  readonly shown?: boolean
  /** Accept the action `clarify` for `exit`. */
  readonly clarify?: boolean
}

export type DecisionResult =
  | { readonly ok: true; readonly decision: Decision; readonly warnings: readonly Notice[] }
  | { readonly ok: false; readonly violation: Notice; readonly warnings: readonly Notice[] }

/**
 * What the model decided, or the one rule that it broke. Total on any response. Nothing has run yet, whatever this says.
 *
 *   thinking · action · code                a call of an exec tool
 *   thinking · action                       a call of any other tool
 *   thinking · action · answer · followup   the end of the turn
 *   thinking · answer                       the same, with a warning
 */
export function readDecision(response: ParsedResponse, options: DecisionOptions = {}): DecisionResult {
  const warnings: Notice[] = []
  const outcome = read(response, options, warnings)
  // What was whole before the stream broke was received: it is not asked for again.
  if (response.finishReason === 'error' && !(outcome.ok && response.channels.every(({ closed }) => closed !== 'cut'))) {
    return { ok: false, violation: notices.serviceInterrupted(response, options.shown === true), warnings: [] }
  }
  return outcome.ok ? { ok: true, decision: outcome.decision, warnings } : { ok: false, violation: outcome.violation, warnings }
}

type Outcome = { readonly ok: true; readonly decision: Decision } | { readonly ok: false; readonly violation: Notice }

const accept = (decision: Decision): Outcome => ({ ok: true, decision })
const refuse = (violation: Notice): Outcome => ({ ok: false, violation })

function read(response: ParsedResponse, options: DecisionOptions, warnings: Notice[]): Outcome {
  const shown = options.shown === true
  const opening = checkOpening(response)
  if (opening) return refuse(opening)
  const actions = channelOf(response, 'action')?.instances ?? []
  if (actions.length > 1) return refuse(notices.multipleActions(actions.length, shown))
  const text = actions[0] ?? ''
  if (text.trim() === '') return readWithoutAction(response, options, warnings)

  const parsed = parseAction(text)
  if (!parsed.ok) return refuse(notices.unreadableAction(parsed.error, response, shown))
  const checked = parseActionFields(parsed.value)
  if (!checked.ok) return refuse(notices.actionSchemaError(checked.problem, text, shown))
  if (parsed.repairs.length > 0) warnings.push(notices.actionRepaired(parsed.repairs))
  const { params, repeated } = parsed.keys
  if (repeated.length > 0) warnings.push(notices.duplicateKeys(repeated))
  const { fields } = checked
  if (fields.action === 'call_tool') return readCall(response, fields, params, shown)
  if (fields.action === 'complete' || fields.action === 'exit') return readFinal(response, fields.action, fields, options, warnings)
  if (fields.action === 'clarify' && options.clarify) return readFinal(response, 'exit', fields, options, warnings)
  const allowed = ['call_tool', 'complete', 'exit', ...(options.clarify ? ['clarify'] : [])]
  return refuse(notices.invalidAction(fields.action, allowed, shown))
}

/** The same rules that the watch applies while the response is written. */
function checkOpening(response: ParsedResponse): Notice | undefined {
  const { preamble, channels, raw } = response
  const first = channels[0]?.name
  if (first === undefined) return notices.missingChannels(response)
  if (preamble.trim() !== '') return preambleViolation(preamble)
  const closeTag = leadingCloseTag(raw, preamble)
  return closeTag === undefined && first === 'thinking' ? undefined : firstChannelViolation(closeTag ?? first, preamble.length)
}

/** An answer without an action can only mean that the turn is complete. */
function readWithoutAction(response: ParsedResponse, options: DecisionOptions, warnings: Notice[]): Outcome {
  const shown = options.shown === true
  if (channelText(response, 'answer').trim() === '') {
    const lastChannel = response.channels.at(-1)?.name ?? 'thinking'
    return refuse(
      response.finishReason === 'length' ? notices.actionTruncated(lastChannel, response, shown) : notices.missingAction(response, shown),
    )
  }
  const message = 'The answer came without an action and was taken as "complete". Write the `action` channel before the answer.'
  warnings.push(warning('answer_without_action', message))
  const nothing = { action: 'complete', notes: '', toolCall: undefined, finalAnswer: '', followups: [], questions: [] }
  return readFinal(response, 'complete', nothing, options, warnings)
}

function readCall(
  response: ParsedResponse,
  { notes, toolCall, finalAnswer }: ActionFields,
  paramKeys: readonly string[],
  shown: boolean,
): Outcome {
  const toolId = toolCall?.toolId ?? ''
  const answered = finalAnswer.trim() !== '' || channelText(response, 'answer').trim() !== ''
  if (answered) return refuse(notices.finalAnswerWithToolCall(toolId, shown))
  if (toolCall === undefined || toolId === '') return refuse(notices.missingToolId(shown))
  const codeCut = channelOf(response, 'code')?.closed === 'cut' && response.finishReason === 'length'
  if (codeCut) return refuse(notices.actionTruncated('code', response, shown))
  const code = channelText(response, 'code')
  const call = { action: 'call_tool' as const, notes: notes.trim(), toolId, params: toolCall.params, paramKeys }
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
    warnings.push(warning('final_answer_with_notes', message))
  }
  const followups = readFollowups(response, fields.followups, warnings)
  const { questions } = fields
  return accept({ action, ...answer, followups, ...(questions.length > 0 && { questions }) })
}

/** What an answer may build upon. */
export interface AnswerContext {
  /** An answer that the user has seen in a round that had to be repeated: `complete` need not say it again. */
  readonly delivered?: string
  /** Of what may be cited; when not given everything may. An answer of which nothing is left without the rest is blank. */
  isSource?(sid: number): boolean
}

/**
 * The answer: the body of its channel, else `final_answer` of the action, else what the user has already seen of it.
 * Undefined when there is none.
 */
export function readAnswer(
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
    warnings.push(warning('final_answer_twice', message))
  }
  const truncated = wasCutOff(response) && channelOf(response, 'answer')?.closed === 'cut'
  if (truncated) warnings.push(answerTruncated(response))
  return { answer: written, truncated }
}

/** What the user may want to say next: from its channel, else from the action. Never a reason to refuse an answer. */
export function readFollowups(response: ParsedResponse, field: readonly string[], warnings: Notice[]): readonly string[] {
  const text = channelText(response, 'followup')
  if (text.trim() === '') return field
  const parsed = parseModelJson(text)
  if (!parsed.ok) {
    const message = 'The `followup` channel could not be read and was dropped; the answer was accepted. Write {"followups": ["…"]} there.'
    warnings.push(warning('followups_unreadable', message))
    return field
  }
  const { value } = parsed
  return parsePhrases(isObject(value) ? (value.followups ?? value.suggested_followups) : value)
}

function answerTruncated({ finishReason, maxTokens }: ParsedResponse): Notice {
  const reason = finishReason === 'length' ? `the output limit of ${maxTokens} tokens` : "the provider's content filter"
  return warning('answer_truncated', `The answer was cut off by ${reason}. What there is of it was kept and shown to the user.`, {
    max_tokens: maxTokens,
    finish_reason: finishReason,
  })
}

const everySource = () => true

/** What a blank answer would have cited, had it existed. */
export function unknownSources(response: ParsedResponse, field: string, { isSource = everySource }: AnswerContext): readonly number[] {
  return extractSids(channelText(response, 'answer') + field).filter((sid) => !isSource(sid))
}

/** The text as it was written: only blank lines before it and white space after it are dropped. */
const trimBlankEdges = (text: string): string => text.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd()
