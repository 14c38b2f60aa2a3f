// Notices about responses in the dialect `native`. The model reads every text in this file. If the same rule exists for channels, the
// notice has the same code as in violations.ts.

import type { Notice } from '../block/round.ts'
import { ellipsize } from '../cut.ts'
import type { JsonProblem } from '../stream/json/parse.ts'
import type { ParsedResponse } from './decision.ts'
import { snippet, violation, warning } from './violations.ts'

const maxDiagnosis = 500
const maxExcerpt = 1_800
const callAgain = 'Call the tool again, with all arguments as one JSON object.'

export function unreadableArguments(toolId: string, problem: JsonProblem, shown: boolean): Notice {
  const parserError = ellipsize(problem.message, maxDiagnosis)
  return violation('action_schema_error', {
    problem: `The arguments of "${snippet(toolId)}" could not be read: ${parserError}`,
    next: `${callAgain} Escape quotes and line breaks inside strings.`,
    shown,
    extra: { tool_id: snippet(toolId), parser_error: parserError, diagnostic_excerpt: ellipsize(problem.excerpt, maxExcerpt) },
  })
}

export function callTruncated(toolId: string, lastPath: string, { maxTokens }: ParsedResponse, shown: boolean): Notice {
  const place = snippet(lastPath, 120)
  return violation('action_truncated', {
    problem: `The reply reached the output limit of ${maxTokens} tokens and was cut off inside the arguments of "${snippet(toolId)}".`,
    next: 'Write less in one reply: split long content over several calls, a first part now and the rest later.',
    shown,
    extra: { max_tokens: maxTokens, last_path: place === '' ? 'arguments' : place },
  })
}

/** The notice for a call without the name of a tool, and for a call that the provider could not read. */
export function namelessCall(shown: boolean): Notice {
  return violation('missing_tool_id', {
    problem: 'The reply tried to call a tool, but the call could not be read: it has no name.',
    next: callAgain,
    shown,
  })
}

export function tooManyCalls(count: number, allowed: number, shown: boolean): Notice {
  return violation('multiple_actions', {
    problem: `The reply held ${count} calls; ${allowed} are allowed.`,
    next: 'Send the first of them now. The others can follow in the next rounds.',
    shown,
    extra: { count },
  })
}

/** The notice for a text that contains a call which can not be read. */
export function unreadableTextCall(shown: boolean): Notice {
  return violation('call_in_text', {
    problem: 'The reply wrote a tool call as text, and it could not be read.',
    next: 'Call the tool with the tool interface, not in the text. To answer, write the answer without tags.',
    shown,
  })
}

/** The warning for a call that was written as text and carried out. */
export const callInText = (): Notice =>
  warning('call_in_text', 'The reply wrote a tool call as text; it was carried out. Call tools with the tool interface, not in the text.')

export function argumentsRepaired(toolId: string, repairs: readonly string[]): Notice {
  const named = repairs.slice(0, 8).map((repair) => snippet(repair))
  return warning(
    'action_json_repaired',
    `The arguments of "${snippet(toolId)}" were not valid JSON (${named.join(', ').replaceAll('_', ' ')}); they were repaired and accepted.`,
    { repairs: named },
  )
}

/** The notice for a response with neither a call nor an answer. */
export function nothingSaid(sids: readonly number[], shown: boolean): Notice {
  const problem =
    sids.length === 0
      ? 'The reply had neither a tool call nor a text for the user.'
      : `The answer is nothing but citations of sources that do not exist: ${sids.join(', ')}.`
  return violation('final_answer_required', {
    problem,
    next: 'Call a tool, or write the answer for the user as plain markdown.',
    shown,
    ...(sids.length > 0 && { extra: { sids } }),
  })
}
