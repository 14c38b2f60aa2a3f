import { ellipsize } from '../cut.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import type { FinishReason } from '../model-event.ts'
import type { Channel, ChannelEvent } from '../stream/channel.ts'
import { createChannelParser } from '../stream/channel-parser.ts'
import { isEmptyCall, maxCalls } from '../stream/deciding-keys.ts'
import { type JsonProblem, parseModelJson } from '../stream/json/parse.ts'
import { type ActionKeys, readActionKeys } from './action-keys.ts'
import { keysOfValue, scanActionKeys } from './fast-read.ts'

/** The response of one model call, split into its channels. */
export interface ParsedResponse extends ResponseEnd {
  /** The channels of the response, in the order in which the model first opened them. */
  readonly channels: readonly ReceivedChannel[]
  /** The text before the first channel tag. */
  readonly preamble: string
  readonly raw: string
  /** The calls of a response in the dialect `native`. Undefined for a response in the dialect `channels`. */
  readonly calls?: readonly NativeCall[] | undefined
}

/** A call in the provider's own form. */
export interface NativeCall {
  /** The name under which the provider knows the tool, such as `react__read`. */
  readonly name: string
  /** The arguments as JSON text. */
  readonly input: string
  /** False when the response ended before the arguments were complete. */
  readonly complete: boolean
}

/** How the response ended. */
export interface ResponseEnd {
  readonly finishReason: FinishReason
  /** The limit of output tokens that the model was given. */
  readonly maxTokens: number
  /** The type of the error that interrupted the response. Set only when `finishReason` is `error`. */
  readonly errorType?: string | undefined
}

export interface ReceivedChannel {
  readonly name: string
  /** The text of the channel. If the model opened the channel several times, there is one text for each time, in order. */
  readonly instances: readonly string[]
  /**
   * How the channel ended the last time: by its close tag (`tag`), by the open tag of another channel (`implied`), or by the end of the
   * response (`cut`).
   */
  readonly closed: 'tag' | 'implied' | 'cut'
}

/**
 * The channels of a decision, in the order in which the model should write them. The answer has a channel of its own, so that the model
 * does not have to write it as a JSON string. The code channel is `raw`: channel tags in a program are part of the program.
 */
export const decisionChannels: readonly Channel[] = [
  { name: 'thinking', format: 'markdown' },
  { name: 'action', aliases: ['ReactDecisionOutV2', 'decision'], format: 'json' },
  { name: 'code', format: 'text', raw: true },
  { name: 'answer', format: 'markdown' },
  { name: 'followup', format: 'json' },
  { name: 'usage', format: 'json' },
]

/**
 * Parses the complete text of a response in the dialect `channels`. A running turn parses the response while it arrives.
 */
export function parseResponse(raw: string, end: ResponseEnd): ParsedResponse {
  const parser = createChannelParser(decisionChannels)
  const channels = collectChannels([...parser.push(raw), ...parser.end()])
  return { ...end, channels, preamble: parser.preamble, raw }
}

/** Collects the events of a channel parser into channels. Each channel has one entry, in the order in which the model first opened them. */
export function collectChannels(events: readonly ChannelEvent[]): readonly ReceivedChannel[] {
  const channels: { readonly name: string; readonly instances: string[]; closed: ReceivedChannel['closed'] }[] = []
  for (const event of events) {
    let channel = channels.find(({ name }) => name === event.channel)
    if (!channel) {
      channel = { name: event.channel, instances: [], closed: 'cut' }
      channels.push(channel)
    }
    const last = channel.instances.length - 1
    if (event.type === 'channel.start') channel.instances.push('')
    else if (event.type === 'channel.delta') channel.instances[last] = (channel.instances[last] as string) + event.text
    else channel.closed = event.closed
  }
  return channels
}

export function channelOf(response: Pick<ParsedResponse, 'channels'>, name: string): ReceivedChannel | undefined {
  return response.channels.find((channel) => channel.name === name)
}

/** The text of a channel. If the model opened it several times, the texts are joined. Empty when the channel was never opened. */
export function channelText(response: ParsedResponse, name: string): string {
  return channelOf(response, name)?.instances.join('') ?? ''
}

/** True when the output limit or a content filter cut the response off. */
export const wasCutOff = ({ finishReason }: ParsedResponse): boolean => finishReason === 'length' || finishReason === 'content_filter'

/** What the model decided in one round: to call tools or to answer. `readDecision` reads it from a response. */
export type Decision = CallDecision | FinalDecision

/** The decision to call tools. Its own fields, such as `toolId` and `params`, describe the first call. */
export interface CallDecision extends RequestedCall {
  readonly action: 'call_tool'
  /** A text for the user. It may also report that steps of the current plan are done. */
  readonly notes: string
  /** The calls after the first one, in order. Undefined when the response has one call. */
  readonly further?: readonly RequestedCall[]
}

/** All calls of a decision, in order. */
export const callsOf = (decision: CallDecision): readonly RequestedCall[] => [decision, ...(decision.further ?? [])]

/** A tool call as the model wrote it. */
export interface RequestedCall {
  readonly toolId: string
  /** The parameters as the model wrote them. `checkCall` decides which of them the tool gets. */
  readonly params: Json
  /** The names of the parameters in the order in which the model wrote them. A name that was written twice is listed twice. */
  readonly paramKeys: readonly string[]
  /** The program for an exec tool. */
  readonly code?: string
}

export interface FinalDecision {
  readonly action: 'complete' | 'exit'
  readonly answer: string
  /** At most six suggestions for the user's next message. */
  readonly followups: readonly string[]
  /** True when the output limit or a content filter cut the answer off. */
  readonly truncated: boolean
  /** Set when the user stopped the turn while the model was writing the answer. `answer` is the part that users saw. */
  readonly stopped?: true
  /** The object in the `usage` channel as the model wrote it. It is meant for programs and is not shown to the user. */
  readonly usage?: JsonObject
  /** The questions to the user that the action lists. */
  readonly questions?: readonly string[]
  /** The value in `answer`, if the turn has an output schema and the answer matches it. `answer` is then JSON. */
  readonly output?: { readonly value: Json }
}

/** The checked fields of an action. */
export interface ActionFields {
  /** The name of the action, trimmed and in lower case. */
  readonly action: string
  readonly notes: string
  /**
   * The tool call of the action, or the first call in its list. Undefined when the action has no call, or when the call is null or empty.
   */
  readonly toolCall: WrittenCall | undefined
  /** All calls of the list `tool_calls`, including the first one. Undefined when the action has no such list. */
  readonly callList?: readonly WrittenCall[] | undefined
  readonly finalAnswer: string
  readonly followups: readonly string[]
  readonly questions: readonly string[]
}

interface WrittenCall {
  readonly toolId: string
  readonly params: Json
}

/** The JSON value of an action, the mistakes in its JSON that were repaired, and its keys. */
export type ParsedAction =
  | { readonly ok: true; readonly value: Json; readonly repairs: readonly string[]; readonly keys: ActionKeys }
  | { readonly ok: false; readonly error: JsonProblem }

const noKeys: ActionKeys = { params: [], repeated: [] }
const maxPhrases = 6
const maxPhraseLength = 300

/** Parses the text of the action channel. */
export function parseAction(text: string): ParsedAction {
  const parsed = parseModelJson(text)
  if (!parsed.ok) return parsed
  const { value, repairs } = parsed
  if (!isObject(value)) return { ok: true, value, repairs, keys: noKeys }
  const keys = repairs.length > 0 ? readActionKeys(text) : (keysOfValue(value, text) ?? scanActionKeys(text))
  return { ok: true, value, repairs, keys }
}

/**
 * Checks the fields of an action. `action`, `notes`, `tool_call`, `tool_calls` and `final_answer` must have the right types. Followups and
 * questions of a wrong type are dropped. Unknown fields are ignored.
 */
export function parseActionFields(
  value: Json,
): { readonly ok: true; readonly fields: ActionFields } | { readonly ok: false; readonly problem: string } {
  if (!isObject(value)) return fieldProblem(`The action must be one JSON object, not ${describeType(value)}.`)
  const { action, notes = null, tool_call: call = null, final_answer: answer = null } = value
  if (typeof action !== 'string') return fieldProblem(`"action" must be a string, not ${describeType(action)}.`)
  if (notes !== null && typeof notes !== 'string') return fieldProblem(`"notes" must be a string, not ${describeType(notes)}.`)
  if (answer !== null && typeof answer !== 'string') return fieldProblem(`"final_answer" must be a string, not ${describeType(answer)}.`)
  if (call !== null && !isObject(call)) return fieldProblem(`"tool_call" must be an object or null, not ${describeType(call)}.`)
  let toolCall = call === null ? undefined : parseToolCall(call)
  const listed = value.tool_calls === undefined ? undefined : parseCallList(value.tool_calls)
  if (typeof listed === 'string') return fieldProblem(listed)
  if (listed && toolCall) return fieldProblem('Send the calls either in "tool_call" or in "tool_calls", not in both.')
  if (listed) toolCall = listed[0]
  const fields: ActionFields = {
    action: action.trim().toLowerCase(),
    notes: notes ?? '',
    toolCall,
    finalAnswer: answer ?? '',
    followups: parsePhrases(value.suggested_followups),
    questions: parsePhrases(value.clarification_questions ?? value.questions),
  }
  return { ok: true, fields: listed ? { ...fields, callList: listed } : fields }
}

const fieldProblem = (problem: string) => ({ ok: false as const, problem })

/** The calls of a list. Undefined when the list has no call. If the list is invalid, the result is a text that says why. */
function parseCallList(list: unknown): readonly WrittenCall[] | string | undefined {
  if (isEmptyCall(list) || (Array.isArray(list) && list.every(isEmptyCall))) return undefined
  if (!Array.isArray(list)) return `"tool_calls" must be a list of calls, not ${describeType(list)}. Send one call in "tool_call".`
  if (list.length > maxCalls) return `"tool_calls" has ${list.length} calls, and one response may have at most ${maxCalls}.`
  const wrong = list.findIndex((call) => !isObject(call))
  if (wrong !== -1) return `"tool_calls"[${wrong}] must be an object, not ${describeType(list[wrong])}.`
  return list.map((call) => parseToolCall(call) ?? { toolId: '', params: {} })
}

function parseToolCall(call: { readonly [key: string]: unknown }): WrittenCall | undefined {
  const toolId = typeof call.tool_id === 'string' ? call.tool_id.trim() : ''
  if (toolId === '' && isEmptyCall(call)) return undefined
  return { toolId, params: (call.params ?? {}) as Json } // the call was parsed from JSON
}

/** Reads short texts for the user from a list or a single string. Blank and repeated texts are left out. At most six are returned. */
export function parsePhrases(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  const phrases = items.filter((item) => typeof item === 'string').map((item) => ellipsize(item.trim(), maxPhraseLength))
  return [...new Set(phrases.filter((phrase) => phrase !== ''))].slice(0, maxPhrases)
}

/** The type of a JSON value, in words that fit into a sentence for the model. */
export function describeType(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
