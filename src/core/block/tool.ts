import { z } from 'zod'
import { isObject, type Json, omitUndefined, parseJson } from '../json.ts'
import { toolPath } from '../path/build.ts'
import type { BlobRef, Draft, Meta } from './block.ts'
import { type Digest, digestText } from './digest.ts'
import { latestBlockOfType, oncePerBlockOfType, parseJsonAs } from './reader.ts'

/** Which turn, round and tool call made a block, and when. */
export interface BlockOrigin {
  readonly turnId: string
  readonly callId: string
  readonly iteration: number
  readonly ts: string
}

const roundMeta = ({ callId, iteration }: BlockOrigin): Meta => ({ tool_call_id: callId, iteration })

/** The payload of a `react.tool.call` block. The block is appended before the tool runs, so that the journal shows it after a crash. */
export interface ToolCall {
  readonly tool_id: string
  readonly tool_call_id: string
  readonly params: { readonly [name: string]: unknown }
  readonly ts?: string
}

export function toolCallBlock(
  origin: BlockOrigin,
  call: { readonly toolId: string; readonly params: { readonly [name: string]: Json } },
): Draft<'react.tool.call'> {
  const body = { tool_id: call.toolId, tool_call_id: origin.callId, params: call.params, ts: origin.ts }
  return {
    type: 'react.tool.call',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'application/json',
    path: toolPath(origin.turnId, origin.callId, 'call'),
    call_id: origin.callId,
    tool_id: call.toolId,
    text: JSON.stringify(body),
    meta: { tool_call_id: origin.callId, iteration: origin.iteration, tool_id: call.toolId },
  }
}

/** The call in a `react.tool.call` block. Undefined for other blocks and when the text, for example an imported one, is not a call. */
export const readToolCall = latestBlockOfType(['react.tool.call'], ({ text }): ToolCall | undefined => {
  const call = parseJson(text)
  if (!isObject(call) || typeof call.tool_id !== 'string' || typeof call.tool_call_id !== 'string' || !isObject(call.params))
    return undefined
  return call.ts === undefined || typeof call.ts === 'string' ? (call as unknown as ToolCall) : undefined // every field is checked
})

/** The program that a tool call runs. */
export function toolCodeBlock(origin: BlockOrigin, code: string): Draft<'react.tool.code'> {
  return {
    type: 'react.tool.code',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/plain',
    path: toolPath(origin.turnId, origin.callId, 'code'),
    call_id: origin.callId,
    text: code,
    meta: roundMeta(origin),
  }
}

/** A tool result that is not an artifact: a report, rows, a status, or the JSON error of a failed call. */
export function toolResultBlock(
  origin: BlockOrigin,
  result: { readonly mime: string; readonly text: string; readonly meta?: Meta },
): Draft<'react.tool.result'> {
  return {
    type: 'react.tool.result',
    author: 'tool',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: result.mime,
    path: toolPath(origin.turnId, origin.callId, 'result'),
    call_id: origin.callId,
    text: result.text,
    meta: result.meta ? { ...roundMeta(origin), ...result.meta } : roundMeta(origin),
  }
}

/** The metadata of an artifact. Its path is the call's result path; the content block follows at the artifact's own path. */
export function artifactDigestBlock(origin: BlockOrigin, digest: Digest): Draft<'react.tool.result'> {
  const text = digestText(omitUndefined({ ...digest, tool_call_id: origin.callId, ts: origin.ts }))
  return toolResultBlock(origin, { mime: 'application/json', text })
}

/** The content of an artifact: text or a reference to bytes. A block with neither only holds the hosting handles. */
export function artifactContentBlock(
  origin: BlockOrigin,
  artifact: {
    readonly path: string
    readonly mime: string
    readonly text?: string
    readonly blob?: BlobRef
    readonly digest: Digest
    readonly meta?: Meta
  },
): Draft<'react.tool.result'> {
  return omitUndefined({
    type: 'react.tool.result' as const,
    author: 'tool',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: artifact.mime,
    path: artifact.path,
    call_id: origin.callId,
    text: artifact.text,
    blob: artifact.blob,
    meta: { ...roundMeta(origin), ...artifact.meta, digest: digestText({ ...artifact.digest, tool_call_id: origin.callId }) },
  })
}

/** A message from the runtime to the model about a problem with the model's output. The model gets no other explanation of it. */
export const Notice = z.looseObject({ code: z.string(), message: z.string() })
export type Notice = z.infer<typeof Notice>

export function noticeBlock(origin: BlockOrigin, message: Notice, rel: 'call' | 'result' = 'call'): Draft<'react.notice'> {
  return {
    type: 'react.notice',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'application/json',
    path: toolPath(origin.turnId, origin.callId, 'notice'),
    call_id: origin.callId,
    text: JSON.stringify(message, null, 2),
    meta: { tool_call_id: origin.callId, iteration: origin.iteration, rel },
  }
}

/** The content of a notice; undefined for other blocks. */
export const readNotice = oncePerBlockOfType(['react.notice'], (block) => parseJsonAs(Notice, block.text))
