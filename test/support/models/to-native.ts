import { callsOf, channelText, parseResponse, type RequestedCall } from '../../../src/core/decision/decision.ts'
import { readDecision } from '../../../src/core/decision/read.ts'
import type { Reply, ScriptedReply } from '../../../src/testing/scripted-model.ts'

/** Translates a reply in channels to the dialect `native`. A reply that can not be parsed is returned unchanged. */
export function toNative(reply: Reply): Reply {
  if (typeof reply === 'function') return (request) => translate(reply(request))
  return translate(reply)
}

function translate(reply: string | ScriptedReply): ScriptedReply {
  const given = typeof reply === 'string' ? { text: reply } : reply
  const response = parseResponse(given.text ?? '', { finishReason: 'stop', maxTokens: 1_000 })
  const reading = readDecision(response)
  if (!reading.ok) return given
  const { text: _, chunks, ...rest } = given
  const spoken = { ...rest, ...(typeof chunks === 'number' && { chunks }), reasoning: channelText(response, 'thinking') }
  const { decision } = reading
  if (decision.action !== 'call_tool') return { ...spoken, text: decision.answer + followupText(decision.followups) }
  const { notes } = decision
  return { ...spoken, ...(notes !== '' && { text: notes }), calls: callsOf(decision).map(nativeCall) }
}

const nativeCall = ({ toolId, params, code }: RequestedCall) => ({
  name: toolId.replace('.', '__'),
  input: code === undefined ? (params as object) : { ...(params as object), program: code },
})

const followupText = (followups: readonly string[]): string =>
  followups.length === 0 ? '' : `\n<channel:followup>${JSON.stringify({ followups })}</channel:followup>`
