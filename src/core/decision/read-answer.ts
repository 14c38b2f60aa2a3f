import type { Notice } from '../block/notice.ts'
import { isObject } from '../json.ts'
import { parseModelJson } from '../stream/json-parse.ts'
import { readPhrases } from './decision.ts'
import { channelOf, channelText, type Response, wasCut } from './response.ts'
import { warning } from './violation.ts'

/**
 * The answer: the body of its channel, else `final_answer` of the action, else what the user has already seen of it.
 * Undefined when there is none.
 */
export function readAnswer(
  response: Response,
  field: string,
  delivered: string | undefined,
  warnings: Notice[],
): { readonly answer: string; readonly truncated: boolean } | undefined {
  const written = withoutBlankEdges(channelText(response, 'answer'))
  if (written === '') {
    const answer = withoutBlankEdges(field) || withoutBlankEdges(delivered ?? '')
    return answer === '' ? undefined : { answer, truncated: false }
  }
  if (field.trim() !== '') {
    const message = 'The answer was given twice; the `answer` channel was taken and "final_answer" dropped. Write it only in the channel.'
    warnings.push(warning('final_answer_twice', message))
  }
  const truncated = wasCut(response) && channelOf(response, 'answer')?.closed === 'cut'
  if (truncated) warnings.push(answerTruncated(response))
  return { answer: written, truncated }
}

/** What the user may want to say next: from its channel, else from the action. Never a reason to refuse an answer. */
export function readFollowups(response: Response, field: readonly string[], warnings: Notice[]): readonly string[] {
  const text = channelText(response, 'followup')
  if (text.trim() === '') return field
  const parsed = parseModelJson(text)
  if (!parsed.ok) {
    const message = 'The `followup` channel could not be read and was dropped; the answer was accepted. Write {"followups": ["…"]} there.'
    warnings.push(warning('followups_unreadable', message))
    return field
  }
  const { value } = parsed
  return readPhrases(isObject(value) ? (value.followups ?? value.suggested_followups) : value)
}

function answerTruncated({ finishReason, maxTokens }: Response): Notice {
  const reason = finishReason === 'length' ? `the output limit of ${maxTokens} tokens` : "the provider's content filter"
  return warning('answer_truncated', `The answer was cut off by ${reason}. What there is of it was kept and shown to the user.`, {
    max_tokens: maxTokens,
    finish_reason: finishReason,
  })
}

/** The text as it was written: only blank lines before it and white space after it are dropped. */
const withoutBlankEdges = (text: string): string => text.replace(/^(?:[ \t]*\r?\n)+/, '').trimEnd()
