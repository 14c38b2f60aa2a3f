import type { Notice } from '../block/tool.ts'
import type { JsonProblem } from '../stream/json-parse.ts'
import { channelOf, type ParsedResponse } from './response.ts'

/** What a response as a whole can do wrong. */
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
] as const

/** What a call can do wrong before its tool is asked. Where a tool's order is hard there is also one `<name>_not_<ordinal>` per parameter. */
export const callViolations = [
  'path_not_first',
  'channel_not_second',
  'content_not_third',
  'kind_not_fourth',
  'tool_not_allowed_in_react',
  'tool_call_invalid',
  'tool_signature_red',
] as const

export const planViolations = ['plan_mode', 'plan_target_required', 'plan_steps', 'plan_target_missing'] as const

export interface ViolationDetails {
  /** What was wrong. */
  readonly what: string
  /** What happened all the same. Nothing, unless said. */
  readonly ran?: string
  /** The exact next step. */
  readonly next: string
  /** A lane of this round has reached the user already. */
  readonly shown?: boolean
  readonly extra?: { readonly [field: string]: unknown }
}

const alreadyShown = 'The user has already seen a part of this reply: correct it, and do not repeat what was shown.'

/** A rule was broken. The notice stands alone: the model never sees its rejected reply again. */
export function violation(code: string, { what, ran = 'Nothing ran.', next, shown, extra }: ViolationDetails): Notice {
  const message = [what, ran, ...(shown ? [alreadyShown] : []), next].join(' ')
  return { ...extra, code: `protocol_violation.${code}`, message }
}

/** Accepted all the same; said so that the model learns. */
export function warning(code: string, message: string, extra?: ViolationDetails['extra']): Notice {
  return { ...extra, code: `protocol_warning.${code}`, message }
}

export const previewLimit = 900
export const diagnosisLimit = 500
export const excerptLimit = 1_800

/** At most `limit` characters, the last one `…` when something is missing. Never half a character. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text
  const kept = text.slice(0, limit - 1)
  return `${/[\ud800-\udbff]$/.test(kept) ? kept.slice(0, -1) : kept}…`
}

/** A word of the model's inside a sentence of ours: one line, and short. */
export const snippet = (text: string, limit = 80): string =>
  truncate(
    text
      .slice(0, 4 * limit)
      .replace(/\s+/g, ' ')
      .trim(),
    limit,
  )

/** The notices of `readDecision`. `shown`: the user has seen a part of this response. */

export function missingChannels({ raw }: ParsedResponse): Notice {
  return violation('decision_missing_protocol_channels', {
    what: raw.trim() === '' ? 'The reply was empty.' : 'The reply had no channel that can be read.',
    next: 'Write `<channel:thinking>`, then `<channel:action>` with one JSON object, and close each with its own tag.',
    extra: { raw_preview: truncate(raw, previewLimit) },
  })
}

export function missingAction({ channels, finishReason }: ParsedResponse, shown: boolean): Notice {
  const filtered = finishReason === 'content_filter'
  return violation('missing_action', {
    what: filtered ? "The provider's content filter stopped the reply before it had an action." : 'The reply had no action.',
    next: 'After `thinking`, write one JSON object in the `action` channel: call_tool, complete or exit.',
    shown,
    extra: { channels_seen: channels.map(({ name }) => snippet(name)) },
  })
}

/** The action is no JSON: cut off, several of them, or broken. */
export function unreadableAction(problem: JsonProblem, response: ParsedResponse, shown: boolean): Notice {
  if (problem.code === 'json.multiple') return multipleActions(problem.count ?? 2, shown)
  const cutOff = channelOf(response, 'action')?.closed === 'cut'
  if (cutOff && response.finishReason === 'length') return actionTruncated(problem.path.join('.') || 'action', response, shown)
  const filtered = cutOff && response.finishReason === 'content_filter' ? " The provider's content filter stopped the reply." : ''
  return actionSchemaError(truncate(problem.message, diagnosisLimit - 60) + filtered, problem.excerpt, shown)
}

export function actionSchemaError(problem: string, excerpt: string, shown: boolean): Notice {
  const parserError = truncate(problem, diagnosisLimit)
  return violation('action_schema_error', {
    what: `The action could not be read: ${parserError}`,
    next: 'Send the whole action again as one JSON object: "action", "notes", and "tool_call" when a tool is called. Escape quotes and line breaks inside strings.',
    shown,
    extra: { parser_error: parserError, diagnostic_excerpt: truncate(excerpt, excerptLimit) },
  })
}

export function actionTruncated(lastPath: string, { maxTokens }: ParsedResponse, shown: boolean): Notice {
  const place = snippet(lastPath, 120)
  return violation('action_truncated', {
    what: `The reply reached the output limit of ${maxTokens} tokens and was cut off inside \`${place}\`.`,
    next: 'Write less in one reply: split long content over several calls, a first part now and the rest later, and keep `thinking` short.',
    shown,
    extra: { max_tokens: maxTokens, last_path: place },
  })
}

export function multipleActions(count: number, shown: boolean): Notice {
  return violation('multiple_actions', {
    what: `The reply held ${count} actions; one is allowed.`,
    next: 'Send only the first of them now. The others can follow, one in each round.',
    shown,
    extra: { count },
  })
}

export function invalidAction(said: string, allowed: readonly string[], shown: boolean): Notice {
  const value = snippet(said, 40)
  return violation(`invalid_action:${value}`, {
    what: value === '' ? 'The field "action" is blank.' : `There is no action "${value}".`,
    next: `Use one of ${allowed.join(', ')}. A tool is called with "action": "call_tool" and its name in tool_call.tool_id.`,
    shown,
    extra: { allowed },
  })
}

export function finalAnswerWithToolCall(toolId: string, shown: boolean): Notice {
  return violation('final_answer_with_tool_call', {
    what: `The reply both called ${toolId === '' ? 'a tool' : `"${snippet(toolId)}"`} and gave a final answer. The answer was not taken.`,
    next: 'To use the tool, send the call alone. To end the turn, send "complete" with the answer and no tool_call.',
    shown,
    extra: { tool_id: snippet(toolId) },
  })
}

export function missingToolId(shown: boolean): Notice {
  return violation('missing_tool_id', {
    what: 'The action is call_tool, but tool_call.tool_id is missing.',
    next: 'Send the call again with "tool_call": {"tool_id": "namespace.name", "params": {…}}.',
    shown,
  })
}

export function toolCallWithFinalAnswer(action: string, toolId: string, shown: boolean): Notice {
  return violation('tool_call_with_final_answer', {
    what: `The action is "${action}", but it carries a tool_call.`,
    next: `Send "${action}" with the answer and no tool_call, or "call_tool" with the call and no answer.`,
    shown,
    extra: { tool_id: snippet(toolId) },
  })
}

/** Nothing was written, or nothing but citations of sources that nobody has: `sids`. */
export function finalAnswerRequired(action: string, sids: readonly number[], shown: boolean): Notice {
  const blank = sids.length === 0
  const named = sids.slice(0, maxSids)
  return violation('final_answer_required', {
    what: `The action is "${action}", but the answer is ${blank ? 'blank' : `nothing but citations of sources that do not exist: ${named.join(', ')}`}.`,
    next: `Write the answer as plain markdown in the \`answer\` channel after the action${blank ? '' : ', in words, and cite only sources of the SOURCES POOL'}.`,
    shown,
    ...(!blank && { extra: { sids: named } }),
  })
}

const maxSids = 20

/** Code was written, but no single exec tool was called to run it. */
export function codeWithoutExec(action: string, toolId: string | undefined, shown: boolean): Notice {
  const instead = toolId === undefined ? `the action is "${action}"` : `"${snippet(toolId)}" runs no code`
  return violation('code_channel_without_single_exec', {
    what: `The \`code\` channel is not empty, but ${instead}.`,
    next: 'To run the code, call one exec tool and write the code right after that action. Otherwise leave the `code` channel out.',
    shown,
    extra: { action, tool_id: snippet(toolId ?? '') },
  })
}

/** The only one that is nobody's fault: no rule was broken, so it has no prefix. */
export function serviceInterrupted({ errorType = 'stream_broken' }: ParsedResponse, shown: boolean): Notice {
  const seen = shown ? ' The user has seen a part of it, which stays unfinished.' : ''
  const message = `The connection to the model broke before the reply was whole.${seen} Nothing ran. Decide again.`
  return { code: 'service_interrupted', message, error_type: snippet(errorType) }
}

export function actionRepaired(repairs: readonly string[]): Notice {
  const said = repairs.slice(0, 8).map((repair) => snippet(repair))
  return warning(
    'action_json_repaired',
    `The action was not valid JSON (${said.join(', ').replaceAll('_', ' ')}); it was repaired and accepted. Write strict JSON: one object, escaped quotes and line breaks, no trailing commas.`,
    { repairs: said },
  )
}

/** Of two values under one name the last one counts, and the model should know. */
export function duplicateKeys(repeated: readonly string[]): Notice {
  const keys = repeated.slice(0, 8).map((key) => snippet(key))
  const message = `The action names ${keys.join(', ')} more than once; the last value counted. Write every key once.`
  return warning('duplicate_keys', message, { keys })
}
