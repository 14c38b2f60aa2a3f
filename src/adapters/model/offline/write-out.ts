import type { Decision } from '../../../offline/decide/decision.ts'
import { escapeMarkup } from './decide/quote.ts'

/** A decision as the protocol wants it. */
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

/** Nothing inside a value may look like a channel. */
const escapedJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')

const pieceLength = 24

/** Small pieces, as a model would send them; never half a character. */
export function* splitPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + pieceLength)
    const last = text.charCodeAt(end - 1)
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end++
    yield text.slice(at, end)
    at = end
  }
}
