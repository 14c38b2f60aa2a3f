import type { Notice } from '../block/round.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import { conflictingKeys, maxCalls } from '../stream/deciding-keys.ts'
import { parseModelJson, stripFence } from '../stream/json/parse.ts'
import { callsInText } from './call-in-text.ts'
import { type CallDecision, channelText, type NativeCall, type ParsedResponse, type RequestedCall } from './decision.ts'
import { toolIdOf } from './native-names.ts'
import * as nativeNotices from './native-violations.ts'
import type { ToolSignatures } from './signature.ts'
import * as notices from './violations.ts'

/** The calls of a native response, or the notice about the first rule that they broke. */
export type NativeReading =
  | { readonly kind: 'calls'; readonly decision: CallDecision }
  | { readonly kind: 'refused'; readonly violation: Notice }
  /** The response has no call, so its text is the answer. */
  | { readonly kind: 'answer' }

/** Values that are needed to read a native response, besides the response itself. */
interface NativeContext {
  readonly tools: ToolSignatures | undefined
  /** True when the user has seen a part of this response. */
  readonly shown: boolean
}

/** The parameter of an exec tool that holds the program. */
const programParameter = 'program'

/**
 * Reads the calls of a native response. If the response has a call, even a broken one, its text becomes the notes of the call. A call that
 * the model wrote into its text is also used, with a warning.
 */
export function readNativeCalls(
  response: ParsedResponse,
  calls: readonly NativeCall[],
  context: NativeContext,
  warnings: Notice[],
): NativeReading {
  const text = channelText(response, 'answer')
  if (calls.length > 0) return readCalls(response, calls, text.trim(), context, warnings)
  const written = callsInText(text, (name) => isToolName(name, context.tools))
  if (written === undefined) return { kind: 'answer' }
  if (written.length === 0) return refuse(nativeNotices.unreadableTextCall(context.shown))
  warnings.push(nativeNotices.callInText())
  return readCalls(
    response,
    written.map((call) => ({ ...call, complete: true })),
    '',
    context,
    warnings,
  )
}

/** Whether a name in a response is the name or the id of a tool. */
export const isToolName = (name: string, tools: ToolSignatures | undefined): boolean => tools?.find(idOf(name, tools)) !== undefined

/** The id of the tool that a name in a response means. */
export const idOf = (name: string, tools: ToolSignatures | undefined): string => toolIdOf(name, tools?.requestedIds ?? tools?.ids ?? [])

function readCalls(
  response: ParsedResponse,
  calls: readonly NativeCall[],
  notes: string,
  context: NativeContext,
  warnings: Notice[],
): NativeReading {
  if (calls.length > maxCalls) return refuse(nativeNotices.tooManyCalls(calls.length, maxCalls, context.shown))
  const requested: RequestedCall[] = []
  for (const call of calls) {
    const read = readCall(response, call, context, warnings)
    if ('violation' in read) return refuse(read.violation)
    requested.push(read)
  }
  const [first, ...further] = requested as [RequestedCall, ...RequestedCall[]] // there is at least one call
  const decision: CallDecision = { action: 'call_tool', notes, ...first }
  return { kind: 'calls', decision: further.length === 0 ? decision : { ...decision, further } }
}

const refuse = (violation: Notice): NativeReading => ({ kind: 'refused', violation })

function readCall(
  response: ParsedResponse,
  { name, input, complete }: NativeCall,
  { tools, shown }: NativeContext,
  warnings: Notice[],
): RequestedCall | { readonly violation: Notice } {
  if (name.trim() === '') return { violation: nativeNotices.namelessCall(shown) }
  const toolId = idOf(name, tools)
  const parsed = input.trim() === '' ? noArguments : parseModelJson(input)
  // The check of `complete` is not enough, because some providers close a call that the output limit has cut off.
  if (response.finishReason === 'length' && !(complete && parsed.ok))
    return { violation: nativeNotices.callTruncated(toolId, parsed.ok ? '' : parsed.error.path.join('.'), response, shown) }
  if (!parsed.ok) return { violation: nativeNotices.unreadableArguments(toolId, parsed.error, shown) }
  if (parsed.repairs.length > 0) warnings.push(nativeNotices.argumentsRepaired(toolId, parsed.repairs))
  const conflicts = repeatsDecidingKey(input) ? conflictingKeys(`{"tool_call":{"params":${input}}}`) : []
  if (conflicts.length > 0) return { violation: notices.duplicateKey(conflicts, shown) }
  const value = parsed.value as Json
  const program = tools?.find(toolId)?.exec && isObject(value) ? value[programParameter] : undefined
  // The order of the arguments is often chosen by the provider, so it is not checked: `paramKeys` is empty.
  if (typeof program !== 'string') return { toolId, params: value, paramKeys: noKeys }
  const code = program.trimStart().startsWith('```') ? stripFence(program).body : program
  return { toolId, params: withoutProgram(value as JsonObject), paramKeys: noKeys, ...(code.trim() !== '' && { code }) }
}

const noKeys: readonly string[] = []
const noArguments = { ok: true as const, value: {}, repairs: [] as readonly string[] }

/** If a call has one of these keys twice with different values, it is not clear what the call should do. */
const decidingKeys = ['"path"', '"channel"', '"kind"']
const repeatsDecidingKey = (input: string): boolean => decidingKeys.some((key) => input.indexOf(key) !== input.lastIndexOf(key))

function withoutProgram({ [programParameter]: _, ...params }: JsonObject): JsonObject {
  return params
}
