import { createHash } from 'node:crypto'
import { type Block, readToolCall } from '../core/block/index.ts'
import { type CallDecision, callsOf, type RequestedCall } from '../core/decision/decision.ts'
import { parseRecordedResponse } from '../core/decision/native-response.ts'
import { readDecision } from '../core/decision/read.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { maxCalls } from '../core/stream/deciding-keys.ts'
import type { ResponseReceived } from '../core/timeline/change.ts'

/**
 * The id of a call in a response. The first call has the id that was made for the response. The ids of the other calls are derived from
 * this id, so that recovery and replay find the same ids.
 */
export const callIdAt = (first: string, index: number): string =>
  index === 0 ? first : createHash('sha256').update(`${first}/${index}`).digest('hex').slice(0, 12)

/** Whether the response with the id `first` can contain the call. */
export const isCallOf = (first: string, callId: string): boolean =>
  Array.from({ length: maxCalls }, (_, index) => index).some((index) => callIdAt(first, index) === callId)

/** The call with this id in the decision of the response with the id `first`. */
export const callWithId = (decision: CallDecision, first: string, callId: string): RequestedCall | undefined =>
  callsOf(decision).find((_, index) => callIdAt(first, index) === callId)

const shortenedParams = /"full_value_ref":|\.\.\. \[see |"\.\.\.":"\d+ more keys"|"\.\.\. \(\d+ more\)"/

/**
 * The complete parameters of a call whose block shows them shortened. They are read from the response of the model. Undefined when the
 * block has all parameters, or when the response is not known.
 */
export async function completeParams(
  block: Block,
  responseOf: (callId: string) => Promise<ResponseReceived | undefined>,
): Promise<Json | undefined> {
  const shown = readToolCall(block)
  if (!shown || !shortenedParams.test(block.text ?? '')) return undefined
  const response = await responseOf(shown.tool_call_id)
  if (!response) return undefined
  const finishReason = response.finish_reason === 'length' ? 'length' : 'stop'
  const reading = readDecision(parseRecordedResponse(response, { finishReason, maxTokens: 0 }), {})
  if (!reading.ok || reading.decision.action !== 'call_tool') return undefined
  const requested = callWithId(reading.decision, response.call_id, shown.tool_call_id)
  return requested && withoutProgram(requested.params, shown.params)
}

/** The parameters without the program of a native call, which has a block of its own. */
function withoutProgram(params: Json, shown: unknown): Json {
  if (!isObject(params) || !('program' in params) || (isObject(shown) && 'program' in shown)) return params
  const { program: _, ...rest } = params as JsonObject
  return rest
}
