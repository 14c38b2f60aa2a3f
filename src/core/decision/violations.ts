// Notices that tell the model which rule its response broke. The model reads every text in this file.

import type { Notice } from '../block/round.ts'
import { cutAt, ellipsize } from '../cut.ts'
import type { JsonProblem } from '../stream/json/parse.ts'
import { channelOf, type ParsedResponse } from './decision.ts'

/** The codes of the rules for a whole response. */
export const responseViolations = [
  'decision_preamble_before_first_channel',
  'decision_first_channel_not_thinking',
  'decision_missing_protocol_channels',
  'missing_action',
  'action_schema_error',
  'action_truncated',
  'multiple_actions',
  'invalid_action',
  'final_answer_required',
  'final_answer_with_tool_call',
  'tool_call_with_final_answer',
  'missing_tool_id',
  'code_channel_without_single_exec',
  'duplicate_key',
  'call_in_text',
] as const

/**
 * The codes of the rules for a call. They are checked before the tool runs. Tools with a hard order may have further codes of the form
 * `<parameter>_not_<ordinal>`.
 */
export const callViolations = [
  'path_not_first',
  'channel_not_second',
  'content_not_third',
  'kind_not_fourth',
  'tool_not_allowed_in_react',
  'tool_not_offered',
  'tool_call_invalid',
  'tool_signature_red',
] as const

/** The codes of the rules for a call of `react.plan`. */
export const planViolations = ['plan_mode', 'plan_target_required', 'plan_steps', 'plan_target_missing'] as const

export interface ViolationDetails {
  /** What is wrong, in one or more sentences. */
  readonly problem: string
  /** A sentence that says what was done or not done because of the problem. Default: `Nothing ran.` */
  readonly effect?: string
  /** What the model should do next. */
  readonly next: string
  /** True when the user has already seen a part of this response. */
  readonly shown?: boolean
  /** Further fields of the notice. */
  readonly extra?: { readonly [field: string]: unknown }
}

const alreadyShown = 'The user has already seen a part of this reply: correct it, and do not repeat what was shown.'

/**
 * Makes a notice about a broken rule. Its text must be clear without the rejected response, because the model does not see this response
 * again.
 */
export function violation(code: string, { problem, effect = 'Nothing ran.', next, shown, extra }: ViolationDetails): Notice {
  const message = [problem, effect, ...(shown ? [alreadyShown] : []), next].join(' ')
  return { ...extra, code: `protocol_violation.${code}`, message }
}

/** Makes a notice about a mistake that did not stop the round. */
export function warning(code: string, message: string, extra?: ViolationDetails['extra']): Notice {
  return { ...extra, code: `protocol_warning.${code}`, message }
}

const maxPreview = 900
const maxDiagnosis = 500
const maxExcerpt = 1_800
const maxSids = 20

/** Shortens a text that the model wrote and puts it on one line, so that it can be part of a sentence. */
export const snippet = (text: string, limit = 80): string =>
  ellipsize(
    cutAt(text, 4 * limit)
      .replace(/\s+/g, ' ')
      .trim(),
    limit,
  )

const startAgain = 'Begin the next reply with `<channel:thinking>`, and write nothing before it.'

/** The notice for a response with text before the first channel tag. */
export function preambleViolation(preamble: string): Notice {
  return violation('decision_preamble_before_first_channel', {
    problem: 'The reply began with text outside of any channel and was not read further; the user saw none of it.',
    next: startAgain,
    extra: { preamble_chars: preamble.length, preamble_preview: ellipsize(preamble.trimStart(), maxPreview) },
  })
}

export function firstChannelViolation(firstChannel: string, offset: number): Notice {
  return violation('decision_first_channel_not_thinking', {
    problem: `The first channel of the reply was \`${snippet(firstChannel)}\` instead of \`thinking\`; the reply was not read further.`,
    next: `${startAgain} Then write the \`action\` channel.`,
    extra: { first_channel: snippet(firstChannel), offset },
  })
}

export function missingChannels({ raw }: ParsedResponse): Notice {
  return violation('decision_missing_protocol_channels', {
    problem: raw.trim() === '' ? 'The reply was empty.' : 'The reply had no channel that can be read.',
    next: 'Write `<channel:thinking>`, then `<channel:action>` with one JSON object, and close each with its own tag.',
    extra: { raw_preview: ellipsize(raw, maxPreview) },
  })
}

export function missingAction({ channels, finishReason }: ParsedResponse, shown: boolean): Notice {
  const filtered = finishReason === 'content_filter'
  return violation('missing_action', {
    problem: filtered ? "The provider's content filter stopped the reply before it had an action." : 'The reply had no action.',
    next: 'After `thinking`, write one JSON object in the `action` channel: call_tool, complete or exit.',
    shown,
    extra: { channels_seen: channels.map(({ name }) => snippet(name)) },
  })
}

/** The notice for an action that could not be parsed. It was cut off, contains several objects, or is not valid JSON. */
export function unreadableAction(problem: JsonProblem, response: ParsedResponse, shown: boolean): Notice {
  if (problem.code === 'json.multiple') return multipleActions(problem.count ?? 2, shown)
  const cutOff = channelOf(response, 'action')?.closed === 'cut'
  if (cutOff && response.finishReason === 'length') return actionTruncated(problem.path.join('.') || 'action', response, shown)
  const filtered = cutOff && response.finishReason === 'content_filter' ? " The provider's content filter stopped the reply." : ''
  return actionSchemaError(ellipsize(problem.message, maxDiagnosis - 60) + filtered, problem.excerpt, shown)
}

export function actionSchemaError(problem: string, excerpt: string, shown: boolean): Notice {
  const parserError = ellipsize(problem, maxDiagnosis)
  return violation('action_schema_error', {
    problem: `The action could not be read: ${parserError}`,
    next: 'Send the whole action again as one JSON object: "action", "notes", and "tool_call" when a tool is called. Escape quotes and line breaks inside strings.',
    shown,
    extra: { parser_error: parserError, diagnostic_excerpt: ellipsize(excerpt, maxExcerpt) },
  })
}

export function actionTruncated(lastPath: string, { maxTokens }: ParsedResponse, shown: boolean): Notice {
  const place = snippet(lastPath, 120)
  return violation('action_truncated', {
    problem: `The reply reached the output limit of ${maxTokens} tokens and was cut off inside \`${place}\`.`,
    next: 'Write less in one reply: split long content over several calls, a first part now and the rest later, and keep `thinking` short.',
    shown,
    extra: { max_tokens: maxTokens, last_path: place },
  })
}

/** The notice for a response with several actions. `answered` is true when the user saw an answer before the second action arrived. */
export function multipleActions(count: number, shown: boolean, answered = false): Notice {
  return violation('multiple_actions', {
    problem: `The reply held ${count} actions; one is allowed.`,
    ...(answered && { effect: 'The user has seen the answer that came before the second action, and it is kept. Nothing ran.' }),
    next: answered
      ? 'To call a tool, send the call alone. To leave it at that answer, send {"action": "complete"} and do not repeat the answer.'
      : 'Send only the first of them now. The others can follow, one in each round.',
    shown: shown && !answered,
    extra: { count, ...(answered && { answer_kept: true }) },
  })
}

/** The notice for keys that were written twice with different values, so that it is not clear what should be done. */
export function duplicateKey(conflicts: readonly string[], shown: boolean): Notice {
  const keys = conflicts.slice(0, 8)
  return violation('duplicate_key', {
    problem: `The action gives ${keys.join(', ')} more than once, with different values, so it is not certain what is meant.`,
    next: 'Send the whole action again and write every key once.',
    shown,
    extra: { keys },
  })
}

export function invalidAction(action: string, allowed: readonly string[], shown: boolean): Notice {
  const value = snippet(action, 40)
  return violation(`invalid_action:${value}`, {
    problem: value === '' ? 'The field "action" is blank.' : `There is no action "${value}".`,
    next: `Use one of ${allowed.join(', ')}. A tool is called with "action": "call_tool" and its name in tool_call.tool_id.`,
    shown,
    extra: { allowed },
  })
}

export function finalAnswerWithToolCall(toolId: string, shown: boolean): Notice {
  return violation('final_answer_with_tool_call', {
    problem: `The reply both called ${toolId === '' ? 'a tool' : `"${snippet(toolId)}"`} and gave a final answer. The answer was not taken.`,
    next: 'To use the tool, send the call alone. To end the turn, send "complete" with the answer and no tool_call.',
    shown,
    extra: { tool_id: snippet(toolId) },
  })
}

export function missingToolId(shown: boolean): Notice {
  return violation('missing_tool_id', {
    problem: 'The action is call_tool, but tool_call.tool_id is missing.',
    next: 'Send the call again with "tool_call": {"tool_id": "namespace.name", "params": {…}}.',
    shown,
  })
}

export function toolCallWithFinalAnswer(action: string, toolId: string, shown: boolean): Notice {
  return violation('tool_call_with_final_answer', {
    problem: `The action is "${action}", but it carries a tool_call.`,
    next: `Send "${action}" with the answer and no tool_call, or "call_tool" with the call and no answer.`,
    shown,
    extra: { tool_id: snippet(toolId) },
  })
}

/**
 * The notice for an answer that is blank or contains only citations of sources that do not exist. `sids` are the SIDs of these citations.
 */
export function finalAnswerRequired(action: string, sids: readonly number[], shown: boolean): Notice {
  const blank = sids.length === 0
  const named = sids.slice(0, maxSids)
  return violation('final_answer_required', {
    problem: `The action is "${action}", but the answer is ${blank ? 'blank' : `nothing but citations of sources that do not exist: ${named.join(', ')}`}.`,
    next: `Write the answer as plain markdown in the \`answer\` channel after the action${blank ? '' : ', in words, and cite only sources of the SOURCES POOL'}.`,
    shown,
    ...(!blank && { extra: { sids: named } }),
  })
}

/** The notice for a response that has code but does not call an exec tool. */
export function codeWithoutExec(action: string, toolId: string | undefined, shown: boolean): Notice {
  const instead = toolId === undefined ? `the action is "${action}"` : `"${snippet(toolId)}" runs no code`
  return violation('code_channel_without_single_exec', {
    problem: `The \`code\` channel is not empty, but ${instead}.`,
    next: 'To run the code, call one exec tool and write the code right after that action. Otherwise leave the `code` channel out.',
    shown,
    extra: { action, tool_id: snippet(toolId ?? '') },
  })
}

/** The notice for a program beside several calls. It is not clear which of the calls the program belongs to. */
export function codeWithSeveralCalls(calls: number, shown: boolean): Notice {
  return violation('code_channel_without_single_exec', {
    problem: `The \`code\` channel is not empty, but the action has ${calls} calls.`,
    next: 'To run the code, call one exec tool in "tool_call" and nothing else in this round. Otherwise leave the `code` channel out.',
    shown,
    extra: { action: 'call_tool', calls },
  })
}

/**
 * The notice for a connection that broke before the response was complete. Its code has no prefix `protocol_violation.`, because the model
 * broke no rule.
 */
export function serviceInterrupted({ errorType = 'stream_broken' }: ParsedResponse, shown: boolean): Notice {
  const seen = shown ? ' The user has seen a part of it, which stays unfinished.' : ''
  const message = `The connection to the model broke before the reply was whole.${seen} Nothing ran. Decide again.`
  return { code: 'service_interrupted', message, error_type: snippet(errorType) }
}

export function actionRepaired(repairs: readonly string[]): Notice {
  const named = repairs.slice(0, 8).map((repair) => snippet(repair))
  return warning(
    'action_json_repaired',
    `The action was not valid JSON (${named.join(', ').replaceAll('_', ' ')}); it was repaired and accepted. Write strict JSON: one object, escaped quotes and line breaks, no trailing commas.`,
    { repairs: named },
  )
}

/** The notice for repeated keys that cause no conflict. The last value of each key was used. */
export function duplicateKeys(repeated: readonly string[]): Notice {
  const keys = repeated.slice(0, 8).map((key) => snippet(key))
  const message = `The action names ${keys.join(', ')} more than once; the last value counted. Write every key once.`
  return warning('duplicate_keys', message, { keys })
}
