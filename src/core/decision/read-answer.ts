import type { Notice } from '../block/notice.ts'
import { extractSids, hasReadableText } from '../citations/sids.ts'
import { isObject } from '../json.ts'
import { parseModelJson } from '../stream/json-parse.ts'
import { parsePhrases } from './decision.ts'
import { channelOf, channelText, type ParsedResponse, wasCutOff } from './response.ts'
import { warning } from './violations.ts'

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
