import { setTimeout as sleep } from 'node:timers/promises'
import type { Dialect, FinishReason, ModelEvent, ModelUsage, ServiceError } from '../core/model-event.ts'
import type { Model, ModelRequest } from '../ports/model.ts'

/** A model that gives prepared replies. */
export interface ScriptedModel extends Model {
  /** The requests that the model received, in order. */
  readonly requests: readonly ModelRequest[]
  /** How many replies were not used yet. */
  readonly left: number
}

/** The reply to one call, or a function that returns the reply. A string is a reply with this text. */
export type Reply = string | ScriptedReply | ((request: ModelRequest) => string | ScriptedReply)

/** A reply, and how it is sent. */
export interface ScriptedReply {
  readonly text?: string
  readonly reasoning?: string
  /** Calls of tools in the provider's own form, for a model with the dialect `native`. They are sent after the text. */
  readonly calls?: readonly ScriptedCall[]
  /** The number of characters in each piece of the stream, or the pieces themselves. Default: the text is sent in one piece. */
  readonly chunks?: number | readonly string[]
  readonly finish?: FinishReason
  readonly usage?: Partial<ModelUsage>
  /** The call ends with this error after the text. The error event has token counts only if `usage` is set. */
  readonly error?: Partial<ServiceError>
  /** Milliseconds to wait before each piece. */
  readonly delayMs?: number
  /** After the text, the model sends nothing more until the call is aborted. */
  readonly stall?: true
  /** Called before each piece is sent, with the index of the piece. */
  readonly onChunk?: (index: number) => unknown
}

/** A call in the provider's own form. */
export interface ScriptedCall {
  /** The name that the request gave to the tool, such as `react__read`. */
  readonly name: string
  /** The arguments. A string is sent as it is, so it may be invalid JSON. */
  readonly input: string | object
  /** Set when the response ends before the arguments are complete. */
  readonly open?: true
}

/** Options of `scriptedModel`. */
export interface ScriptSettings {
  readonly name?: string
  readonly window?: number
  /** The media types of documents that the model accepts. Default: any. */
  readonly documents?: readonly string[]
  /** The dialect of the model. Without it, the model speaks `channels`. */
  readonly dialect?: Dialect
  /**
   * The title with which the model answers requests of the role `gate`. If `title` is null, these requests are also answered from
   * `replies`.
   */
  readonly title?: string | null
}

/**
 * Creates a model that gives prepared replies, for tests of agents:
 *
 *   const model = scriptedModel([reply.call('weather.today', { city: 'Rome' }), reply.answer('Sunny.')])
 *
 * Each reply answers one call, in order. When no reply is left, a call ends with an error event.
 */
export function scriptedModel(replies: readonly Reply[], settings: ScriptSettings = {}): ScriptedModel {
  const { name = 'scripted', window = 200_000, title = 'A scripted conversation', documents, dialect } = settings
  const requests: ModelRequest[] = []
  let next = 0

  function replyTo(request: ModelRequest): ScriptedReply {
    if (request.role === 'gate' && title !== null) return { text: titleReply(title) }
    const reply = replies[next++]
    if (reply === undefined) return { error: { message: `the script has only ${replies.length} replies`, error_type: 'ScriptOver' } }
    const result = typeof reply === 'function' ? reply(request) : reply
    return typeof result === 'string' ? { text: result } : result
  }

  return {
    name,
    window,
    ...(documents && { documents }),
    ...(dialect && { dialect }),
    requests,
    get left() {
      return Math.max(0, replies.length - next)
    },
    stream(request, signal) {
      requests.push(request)
      return streamReply(replyTo(request), name, signal)
    },
  }
}

async function* streamReply(reply: ScriptedReply, name: string, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  const { text = '', calls = [] } = reply
  if (reply.reasoning !== undefined) yield { type: 'reasoning.delta', text: reply.reasoning }
  const pieces = text === '' ? [] : splitChunks(text, reply.chunks)
  for (const [index, piece] of pieces.entries()) {
    if (reply.delayMs !== undefined) await sleep(reply.delayMs, undefined, { signal }).catch(ignoreAbort)
    await reply.onChunk?.(index)
    if (signal.aborted)
      return yield errorEvent(name, { kind: 'aborted', message: 'aborted', stage: index === 0 ? 'before_output' : 'after_output' })
    yield { type: 'text.delta', text: piece }
  }
  for (const [index, call] of calls.entries()) yield* streamCall(call, index, reply.chunks)
  if (reply.stall) await untilAborted(signal)
  if (signal.aborted) return yield errorEvent(name, { kind: 'aborted', message: 'aborted', stage: 'after_output' })
  const usage = {
    uncached: 0,
    cacheRead: 0,
    cacheWrite: 0,
    output: Math.ceil((text.length + sizeOf(calls)) / 4),
    reasoning: 0,
    ...reply.usage,
  }
  if (reply.error) {
    const failed = errorEvent(name, { stage: text === '' ? 'before_output' : 'after_output', ...reply.error })
    return yield reply.usage ? { ...failed, usage } : failed
  }
  yield {
    type: 'finish',
    finishReason: reply.finish ?? 'stop',
    modelName: name,
    usage,
  }
}

function* streamCall({ name, input, open }: ScriptedCall, index: number, chunks: ScriptedReply['chunks']): Generator<ModelEvent> {
  yield { type: 'call.start', index, name }
  const json = typeof input === 'string' ? input : JSON.stringify(input)
  for (const text of splitChunks(json, typeof chunks === 'number' ? chunks : undefined)) yield { type: 'call.delta', index, text }
  if (!open) yield { type: 'call.end', index }
}

const sizeOf = (calls: readonly ScriptedCall[]) => (calls.length === 0 ? 0 : JSON.stringify(calls).length)

function splitChunks(text: string, chunks: ScriptedReply['chunks']): readonly string[] {
  if (chunks === undefined) return [text]
  if (typeof chunks !== 'number') return chunks
  return Array.from({ length: Math.ceil(text.length / chunks) }, (_, index) => text.slice(index * chunks, (index + 1) * chunks))
}

function errorEvent(name: string, error: Partial<ServiceError>): Extract<ModelEvent, { type: 'error' }> {
  return {
    type: 'error',
    error: {
      kind: 'unknown',
      service_name: name,
      provider: 'scripted',
      model_name: name,
      error_type: 'Scripted',
      message: 'the provider failed',
      stage: 'before_output',
      retryable: false,
      ...error,
    },
  }
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })))

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error
}

const thinkingChannel = (thinking: string) => `<channel:thinking>${thinking}</channel:thinking>\n`
const titleReply = (title: string) =>
  `${thinkingChannel('A title.')}<channel:output>${JSON.stringify({ conversation_title: title })}</channel:output>`

/** Builders of well-formed replies, for `scriptedModel` and `createHarness`. */
export const reply = {
  /** A reply that calls a tool. */
  call(toolId: string, params: object = {}, more: { notes?: string; thinking?: string; code?: string } = {}): string {
    const action = { action: 'call_tool', notes: more.notes ?? '', tool_call: { tool_id: toolId, params } }
    const code = more.code === undefined ? '' : `\n<channel:code>${more.code}</channel:code>`
    return `${thinkingChannel(more.thinking ?? 'Next step.')}<channel:action>${JSON.stringify(action)}</channel:action>${code}`
  },

  /** A reply that makes several calls. */
  calls(calls: readonly (readonly [toolId: string, params?: object])[], more: { notes?: string; thinking?: string } = {}): string {
    const tool_calls = calls.map(([tool_id, params = {}]) => ({ tool_id, params }))
    const action = { action: 'call_tool', notes: more.notes ?? '', tool_calls }
    return `${thinkingChannel(more.thinking ?? 'Next step.')}<channel:action>${JSON.stringify(action)}</channel:action>`
  },

  /** A reply that answers and ends the turn. */
  answer(text: string, more: { followups?: readonly string[]; thinking?: string; action?: 'complete' | 'exit' } = {}): string {
    const followup = more.followups ? `\n<channel:followup>${JSON.stringify({ followups: more.followups })}</channel:followup>` : ''
    const action = JSON.stringify({ action: more.action ?? 'complete' })
    return `${thinkingChannel(more.thinking ?? 'Done.')}<channel:action>${action}</channel:action>\n<channel:answer>${text}</channel:answer>${followup}`
  },

  /** Replies of a model with the dialect `native`. */
  native: {
    /** A reply that calls a tool. */
    call(toolId: string, params: object = {}, more: { notes?: string; thinking?: string; code?: string } = {}): ScriptedReply {
      const input = more.code === undefined ? params : { ...params, program: more.code }
      return {
        reasoning: more.thinking ?? 'Next step.',
        ...(more.notes !== undefined && { text: more.notes }),
        calls: [{ name: toolId.replaceAll('.', '__'), input }],
      }
    },

    /** A reply that answers and ends the turn. */
    answer(text: string, more: { followups?: readonly string[]; thinking?: string } = {}): ScriptedReply {
      const followup = more.followups ? `\n<channel:followup>${JSON.stringify({ followups: more.followups })}</channel:followup>` : ''
      return { reasoning: more.thinking ?? 'Done.', text: `${text}${followup}` }
    },
  },
}
