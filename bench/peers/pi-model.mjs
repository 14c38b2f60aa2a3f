// The scripted model in the protocol of pi-ai, which pi and Flue share.

import { isStatus, play, roundOf, toolName } from './script.ts'

const usage = {
  input: 100,
  output: 50,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 150,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
}

/** A model object without prices. */
export const model = {
  id: 'steady',
  name: 'steady',
  api: 'scripted',
  provider: 'scripted',
  baseUrl: 'http://127.0.0.1',
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1e9,
  maxTokens: 100_000,
}

/** A function of the type StreamFn: it returns a stream of events at once, and fills it while the script plays. */
export function scriptedStream(script, createAssistantMessageEventStream) {
  return (_model, context) => {
    const stream = createAssistantMessageEventStream()
    fill(script, context, stream).catch((error) => {
      stream.push({ type: 'error', reason: 'error', error: { ...blankMessage(), stopReason: 'error', errorMessage: error.message } })
    })
    return stream
  }
}

const blankMessage = () => ({
  role: 'assistant',
  content: [],
  api: model.api,
  provider: model.provider,
  model: model.id,
  usage,
  stopReason: 'stop',
  timestamp: Date.now(),
})

/** A status of pi and a signal of Flue are also messages with the role `user`, but they do not start a turn. */
function roleOf({ role, content }) {
  if (role === 'assistant') return 'assistant'
  if (role !== 'user') return 'other'
  const text = typeof content === 'string' ? content : (content[0]?.text ?? '')
  return isStatus(text) || text.startsWith('<signal') ? 'other' : 'user'
}

async function fill(script, context, stream) {
  script.onRequest?.(recordedRequest(context))
  const response = script.respond(roundOf(context.messages, roleOf))
  const message = blankMessage()
  const text = { type: 'text', text: '' }
  message.content.push(text)
  stream.push({ type: 'start', partial: message })
  stream.push({ type: 'text_start', contentIndex: 0, partial: message })
  for await (const delta of play(script, response)) {
    text.text += delta
    stream.push({ type: 'text_delta', contentIndex: 0, delta, partial: message })
  }
  stream.push({ type: 'text_end', contentIndex: 0, content: text.text, partial: message })
  for (const { id, args } of response.calls) {
    const toolCall = { type: 'toolCall', id, name: toolName, arguments: args }
    const contentIndex = message.content.push(toolCall) - 1
    stream.push({ type: 'toolcall_start', contentIndex, partial: message })
    stream.push({ type: 'toolcall_delta', contentIndex, delta: JSON.stringify(args), partial: message })
    stream.push({ type: 'toolcall_end', contentIndex, toolCall, partial: message })
  }
  message.stopReason = response.calls.length > 0 ? 'toolUse' : 'stop'
  stream.push({ type: 'done', reason: message.stopReason, message })
}

/**
 * The request as Anthropic's cache sees it. pi-ai marks the system text, the tools and the last message (its file api/anthropic-messages).
 * Consecutive results are the content of one message of Anthropic, and its search for a cached prefix counts them as one step.
 */
function recordedRequest({ systemPrompt, messages }) {
  const parts = []
  let system = systemPrompt ?? ''
  let last
  for (const message of messages) {
    const text = typeof message.content === 'string' ? message.content : JSON.stringify(message.content)
    if (message.role === 'system' && parts.length === 0) system += text
    else if (message.role === 'toolResult' && last === 'toolResult') parts[parts.length - 1] += text
    else parts.push(text)
    last = message.role
  }
  return { system, isSystemMarked: true, parts: parts.map((text, index) => ({ text, isMarked: index === parts.length - 1 })) }
}
