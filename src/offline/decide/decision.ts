import type { JsonObject } from '../../core/json.ts'
import type { OpenDocument } from './open-documents.ts'

/** What the offline model does in one round: call a tool, or answer. */
export type Decision =
  | {
      readonly kind: 'call'
      readonly thinking: string
      readonly notes: string
      readonly toolId: string
      readonly params: JsonObject
      readonly code?: string
    }
  | { readonly kind: 'answer'; readonly thinking: string; readonly text: string; readonly followups: readonly string[] }

/** An answer with at most three suggested followups. */
export const answer = (thinking: string, text: string, followups: readonly string[] = []): Decision => ({
  kind: 'answer',
  thinking,
  text,
  followups: followups.slice(0, 3),
})

/** The decision as the text of a response, with channels. */
export function writeDecision(decision: Decision): string {
  const thinking = `<channel:thinking>${escapeMarkup(decision.thinking)}</channel:thinking>\n`
  if (decision.kind === 'answer') {
    const { text, followups } = decision
    const followup = followups.length === 0 ? '' : `\n<channel:followup>${escapedJson({ followups })}</channel:followup>`
    return `${thinking}<channel:action>${escapedJson({ action: 'complete' })}</channel:action>\n<channel:answer>${text.trim()}</channel:answer>${followup}`
  }
  const { notes, toolId, params, code } = decision
  const action = escapedJson({ action: 'call_tool', notes, tool_call: { tool_id: toolId, params } })
  return `${thinking}<channel:action>${action}</channel:action>${code === undefined ? '' : `\n<channel:code>${code}</channel:code>`}`
}

/** JSON in which every `<` is escaped, so that no value can be read as a channel tag. */
const escapedJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')

/** Makes text of users and documents safe inside an answer: the text can not open a channel, and it can not cite a source. */
export const escapeMarkup = (text: string): string => text.replace(/<(?=\/?channel:)/gi, '‹').replace(/\[\[(?=S:)/g, '[')

/** The name of a document, or its citation if it is in the pool. A citation is shown to users as the name of the file. */
export const mention = ({ sid, name }: Pick<OpenDocument, 'sid' | 'name'>): string =>
  sid === undefined ? `**${escapeMarkup(name)}**` : `[[S:${sid}]]`

/** The text as a Markdown quotation. The caller names the document that is quoted. */
export const quote = (text: string): string => `> ${escapeMarkup(text.replace(/\s+/g, ' ').trim())}`

/** Lists numbers in a short form, such as `rows 1–3, 5, 9`. */
export function listNumbers(numbers: readonly number[], noun: string): string {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b)
  const runs: [first: number, last: number][] = []
  for (const number of sorted) {
    const run = runs.at(-1)
    if (run && run[1] === number - 1) run[1] = number
    else runs.push([number, number])
  }
  const shown = runs
    .slice(0, 12)
    .map(([first, last]) => (first === last ? `${first}` : last === first + 1 ? `${first}, ${last}` : `${first}–${last}`))
  const more = runs.length > shown.length ? ' and more' : ''
  return `${noun}${sorted.length === 1 ? '' : 's'} ${shown.join(', ')}${more}`
}
