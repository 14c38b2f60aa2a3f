import type { Notice } from '../block/notice.ts'

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
