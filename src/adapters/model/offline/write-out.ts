import type { Decision } from './decide/decision.ts'
import { neutral } from './decide/quote.ts'

/** A decision as the protocol wants it. */
export function writeOut(decision: Decision): string {
  const thinking = `<channel:thinking>${neutral(decision.thinking)}</channel:thinking>\n`
  if (decision.kind === 'answer') {
    const { text, followups } = decision
    const followup = followups.length === 0 ? '' : `\n<channel:followup>${json({ followups })}</channel:followup>`
    return `${thinking}<channel:action>${json({ action: 'complete' })}</channel:action>\n<channel:answer>${text.trim()}</channel:answer>${followup}`
  }
  const { notes, toolId, params, code } = decision
  const action = json({ action: 'call_tool', notes, tool_call: { tool_id: toolId, params } })
  return `${thinking}<channel:action>${action}</channel:action>${code === undefined ? '' : `\n<channel:code>${code}</channel:code>`}`
}

/** Nothing inside a value may look like a channel. */
const json = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')

const size = 24

/** Small pieces, as a model would send them; never half a character. */
export function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + size)
    const last = text.charCodeAt(end - 1)
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end++
    yield text.slice(at, end)
    at = end
  }
}
