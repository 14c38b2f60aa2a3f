import { isObject, type Json } from '../json.ts'
import { parseModelJson } from '../stream/json/parse.ts'

/** A call that a model wrote into its text, in place of calling the tool. */
export interface WrittenCall {
  readonly name: string
  /** The arguments as JSON text. */
  readonly input: string
}

/**
 * Finds calls that a model wrote as text. Small models do this, and so do models on a server that does not know the format in which the
 * model writes calls. These forms are recognised:
 *
 *   <tool_call>{"name": …, "arguments": {…}}</tool_call>     one or more, the format of Hermes and Qwen
 *   [TOOL_CALLS][{"name": …, "arguments": {…}}]              the format of Mistral
 *   {"name": …, "parameters": {…}}                           alone, at the end of the text, or in a code fence
 *
 * In the last form, `isTool` must be true for the name, because an answer may show JSON with a field `name`. Returns undefined for a text
 * without calls. Returns an empty list when a tag begins a call that can not be read.
 */
export function callsInText(text: string, isTool: (name: string) => boolean): readonly WrittenCall[] | undefined {
  if (!text.includes('{') && !text.includes(hermesTag)) return undefined
  const tagged = taggedCalls(text)
  if (tagged !== undefined) return tagged
  if (!hasCallKeys(text)) return undefined
  const calls = toCalls(lastObject(text))
  return calls.length > 0 && calls.every(({ name }) => isTool(name)) ? calls : undefined
}

const hermesTag = '<tool_call>'
const mistralTag = '[TOOL_CALLS]'

function taggedCalls(text: string): readonly WrittenCall[] | undefined {
  const mistral = text.indexOf(mistralTag)
  if (mistral !== -1) return toCalls(parsed(text.slice(mistral + mistralTag.length)))
  if (!text.includes(hermesTag) || isQuoted(text, text.indexOf(hermesTag))) return undefined
  const written = text.split(hermesTag).slice(1, 1 + maxWrittenCalls)
  const calls = written.map((rest) => toCalls(parsed(rest.split('</tool_call>')[0] ?? '')))
  return calls.some((each) => each.length === 0) ? [] : calls.flat()
}

const maxWrittenCalls = 16

/** Whether there is a backtick directly before the position. If so, the text only mentions the tag. */
const isQuoted = (text: string, at: number): boolean => text[at - 1] === '`'

/** A quick test before the JSON is parsed. It is false for most answers that contain other JSON. */
const hasCallKeys = (text: string): boolean =>
  (text.includes('"name"') || text.includes('"tool"') || text.includes('"function"') || text.includes('"tool_id"')) &&
  (text.includes('"arguments"') || text.includes('"parameters"') || text.includes('"params"'))

/** The JSON value at the end of a text: after prose, in a code fence, or alone. Undefined when other text follows it. */
function lastObject(text: string): Json | undefined {
  const trimmed = text.trimEnd()
  const body = trimmed.endsWith('```') ? trimmed.slice(0, -3).trimEnd() : trimmed
  if (!body.endsWith('}') && !body.endsWith(']')) return undefined
  const line = /(?:^|\n)[ \t]{0,8}[{[]/.exec(body)
  const start = line ? line.index : body.indexOf('{')
  return start === -1 ? undefined : parsed(body.slice(start))
}

function parsed(text: string): Json | undefined {
  const result = parseModelJson(text)
  return result.ok ? (result.value as Json) : undefined
}

/** Reads one call or a list of calls. The result is empty when any value is not a call. */
function toCalls(value: Json | undefined): readonly WrittenCall[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  const calls = list.map(toCall)
  return calls.includes(undefined) ? [] : (calls as readonly WrittenCall[])
}

function toCall(value: unknown): WrittenCall | undefined {
  if (!isObject(value)) return undefined
  const inner = isObject(value.function) ? value.function : isObject(value.tool_call) ? value.tool_call : value
  const name = [inner.name, inner.tool_id, inner.tool, inner.function].find((each) => typeof each === 'string')
  const input = inner.arguments ?? inner.parameters ?? inner.params ?? {}
  if (typeof name !== 'string' || name.trim() === '') return undefined
  return { name, input: typeof input === 'string' ? input : JSON.stringify(input) }
}
