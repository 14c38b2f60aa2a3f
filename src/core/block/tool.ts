import { z } from 'zod'
import { isObject, type Json, omitUndefined, parseJson } from '../json.ts'
import { toolPath } from '../path/build.ts'
import type { BlobRef, Draft, Meta } from './block.ts'
import { type Digest, digestText } from './digest.ts'
import { oncePerBlockOfType, parseJsonAs, rememberLatestBlock } from './reader.ts'

/** A round's place: which turn, which decision of it, which call. Every block of a round carries it. */
export interface BlockOrigin {
  readonly turnId: string
  readonly callId: string
  readonly iteration: number
  readonly ts: string
}

const roundMeta = ({ callId, iteration }: BlockOrigin): Meta => ({ tool_call_id: callId, iteration })

/** The agent asked for a tool. Appended before the tool runs, so a crash leaves a trace. */
export interface ToolCall {
  readonly tool_id: string
  readonly tool_call_id: string
  readonly params: { readonly [name: string]: unknown }
  readonly ts?: string
}

export function toolCallBlock(
  place: BlockOrigin,
  call: { readonly toolId: string; readonly params: { readonly [name: string]: Json } },
): Draft<'react.tool.call'> {
  const body = { tool_id: call.toolId, tool_call_id: place.callId, params: call.params, ts: place.ts }
  return {
    type: 'react.tool.call',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'application/json',
    path: toolPath(place.turnId, place.callId, 'call'),
    call_id: place.callId,
    tool_id: call.toolId,
    text: JSON.stringify(body),
    meta: { tool_call_id: place.callId, iteration: place.iteration, tool_id: call.toolId },
  }
}

/** Undefined when the text is not a call: imported timelines may hold anything. */
export const readToolCall = rememberLatestBlock(['react.tool.call'], ({ text }): ToolCall | undefined => {
  const call = parseJson(text)
  if (!isObject(call) || typeof call.tool_id !== 'string' || typeof call.tool_call_id !== 'string' || !isObject(call.params))
    return undefined
  return call.ts === undefined || typeof call.ts === 'string' ? (call as unknown as ToolCall) : undefined // every field was just checked
})

export function toolCodeBlock(place: BlockOrigin, code: string): Draft<'react.tool.code'> {
  return {
    type: 'react.tool.code',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'text/plain',
    path: toolPath(place.turnId, place.callId, 'code'),
    call_id: place.callId,
    text: code,
    meta: roundMeta(place),
  }
}

/** What a tool gave back that is not an artifact: a report, rows, a status, or the one JSON error of a failed call. */
export function toolResultBlock(
  place: BlockOrigin,
  result: { readonly mime: string; readonly text: string; readonly meta?: Meta },
): Draft<'react.tool.result'> {
  return {
    type: 'react.tool.result',
    author: 'tool',
    turn_id: place.turnId,
    ts: place.ts,
    mime: result.mime,
    path: toolPath(place.turnId, place.callId, 'result'),
    call_id: place.callId,
    text: result.text,
    meta: result.meta ? { ...roundMeta(place), ...result.meta } : roundMeta(place),
  }
}

/** What is known of an artifact, at the call's result path. Its content block follows under the artifact's own path. */
export function artifactDigestBlock(place: BlockOrigin, digest: Digest): Draft<'react.tool.result'> {
  const text = digestText(omitUndefined({ ...digest, tool_call_id: place.callId, ts: place.ts }))
  return toolResultBlock(place, { mime: 'application/json', text })
}

/** The artifact itself: text, a reference to bytes, or neither (then it only anchors the hosting handles). */
export function artifactContentBlock(
  place: BlockOrigin,
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
    turn_id: place.turnId,
    ts: place.ts,
    mime: artifact.mime,
    path: artifact.path,
    call_id: place.callId,
    text: artifact.text,
    blob: artifact.blob,
    meta: { ...roundMeta(place), ...artifact.meta, digest: digestText({ ...artifact.digest, tool_call_id: place.callId }) },
  })
}

/** What the runtime tells the model about its own output: it must carry the diagnosis itself. */
export const Notice = z.looseObject({ code: z.string(), message: z.string() })
export type Notice = z.infer<typeof Notice>

export function noticeBlock(place: BlockOrigin, said: Notice, rel: 'call' | 'result' = 'call'): Draft<'react.notice'> {
  return {
    type: 'react.notice',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'application/json',
    path: toolPath(place.turnId, place.callId, 'notice'),
    call_id: place.callId,
    text: JSON.stringify(said, null, 2),
    meta: { tool_call_id: place.callId, iteration: place.iteration, rel },
  }
}

export const readNotice = oncePerBlockOfType(['react.notice'], (block) => parseJsonAs(Notice, block.text))
