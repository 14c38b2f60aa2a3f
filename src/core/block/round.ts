import { isFlat, isObject, type Json, omitUndefined, parseJson } from '../json.ts'
import { interruptedPath, notesPath, thinkingPath, toolPath } from '../path/build.ts'
import type { Block, Draft, Meta, Visibility } from './block.ts'
import {
  type FieldCheck,
  type FieldChecks,
  isFlag,
  isListOf,
  isMissingOr,
  isNumber,
  isOneOf,
  isText,
  latestBlockOfType,
  oncePerBlock,
  oncePerBlockOfType,
  readFields,
} from './reader.ts'

/** The turn, round and tool call that made a block, and the time. */
export interface BlockOrigin {
  readonly turnId: string
  readonly callId: string
  readonly iteration: number
  readonly ts: string
}

export const roundMeta = ({ callId, iteration }: BlockOrigin): Meta => ({ tool_call_id: callId, iteration })

/** The content of a `react.tool.call` block. It is appended before the tool runs, so after a crash the journal shows that the call began. */
export interface ToolCall {
  readonly tool_id: string
  readonly tool_call_id: string
  readonly params: { readonly [name: string]: unknown }
  readonly ts?: string
}

/**
 * The block of a tool call. `visibility` is set if the call patches a file, and it is the visibility of this file. If the file is internal,
 * the parameters of the call are not shown to users, because a patch repeats lines of the file. `group` is set if the response has several
 * calls: calls with the same group run at the same time, and a group starts when the results of all earlier groups are in the journal.
 */
export function toolCallBlock(
  origin: BlockOrigin,
  call: {
    readonly toolId: string
    readonly params: { readonly [name: string]: Json }
    readonly visibility?: Visibility | undefined
    readonly group?: number | undefined
  },
): Draft<'react.tool.call'> {
  const { visibility, group } = call
  const meta = { tool_call_id: origin.callId, iteration: origin.iteration, tool_id: call.toolId }
  const body = { tool_id: call.toolId, tool_call_id: origin.callId, params: call.params, ts: origin.ts }
  const block: Draft<'react.tool.call'> = {
    type: 'react.tool.call',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'application/json',
    path: toolPath(origin.turnId, origin.callId, 'call'),
    call_id: origin.callId,
    tool_id: call.toolId,
    text: JSON.stringify(body),
    meta:
      visibility === undefined && group === undefined
        ? meta
        : { ...meta, ...(visibility !== undefined && { visibility }), ...(group !== undefined && { group }) },
  }
  // The parameters are copied, because the tool may modify the object that it gets.
  if (isFlat(call.params)) toolCalls.remember(block, { ...body, params: { ...call.params } })
  return block
}

/**
 * The call in a `react.tool.call` block. Undefined for blocks of other types. Also undefined when the text of the block is not a call,
 * which may happen in an imported block.
 */
export const readToolCall = (block: Block): ToolCall | undefined => toolCalls.read(block)

const toolCalls = latestBlockOfType('react.tool.call', ({ text }): ToolCall | undefined => {
  const call = parseJson(text)
  if (!isObject(call) || typeof call.tool_id !== 'string' || typeof call.tool_call_id !== 'string' || !isObject(call.params))
    return undefined
  return call.ts === undefined || typeof call.ts === 'string' ? (call as unknown as ToolCall) : undefined // all fields have been checked
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

/** A tool result that is not an artifact: a text or JSON that the tool returned, or the JSON error of a failed call. */
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
    meta: { tool_call_id: origin.callId, iteration: origin.iteration, ...result.meta },
  }
}

/**
 * A block that describes `result`, the block of a result: its path, media type, sources and tool. It is made only for a result that is not
 * an artifact. It is appended directly before `result` and has the same path. Prompts leave it out, because the result shows the same
 * information.
 */
export function resultMetadataBlock(
  { turnId, callId, iteration, ts }: BlockOrigin,
  { path = toolPath(turnId, callId, 'result'), mime }: Draft<'react.tool.result'>,
  { toolId, sourcesPath }: { readonly toolId: string; readonly sourcesPath?: string | undefined },
): Draft<'react.tool.result'> {
  const text = JSON.stringify({
    artifact_path: path,
    mime,
    kind: 'file',
    visibility: 'internal',
    sources_path: sourcesPath,
    tool_id: toolId,
    tool_call_id: callId,
    ts,
  })
  const meta = { tool_call_id: callId, iteration, render_role: 'metadata' }
  return { type: 'react.tool.result', author: 'tool', turn_id: turnId, ts, mime: 'application/json', path, call_id: callId, text, meta }
}

/**
 * True for a block that `resultMetadataBlock` made. Such a block looks like a digest, but it does not belong to an artifact. Lists of
 * artifacts leave it out.
 */
export const isResultMetadata = ({ meta }: Block): boolean => meta?.render_role === 'metadata'

/**
 * A message of the runtime to the model about the model's own output, such as a broken rule. The model gets no other explanation of what
 * was wrong.
 */
export interface Notice {
  [field: string]: unknown
  code: string
  message: string
}

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

/** The content of a notice. Undefined for other blocks and when the text is not a notice. */
export const readNotice = oncePerBlockOfType(['react.notice'], (block) =>
  readFields<Notice>({ code: isText, message: isText }, parseJson(block.text)),
)

/**
 * A short description of an artifact. It may be shown to models and clients and written to logs: it has no addresses of hosted files and no
 * absolute paths.
 */
export interface Digest {
  [field: string]: unknown
  artifact_path: string
  physical_path?: string | undefined
  mime?: string | undefined
  kind?: 'file' | 'display' | undefined
  visibility?: 'external' | 'internal' | undefined
  channel?: string | undefined
  tool_id?: string | undefined
  tool_call_id?: string | undefined
  edited?: boolean | undefined
  ts?: string | undefined
  size_bytes?: number | undefined
  text_symbols?: number | undefined
  line_count?: number | undefined
  /** How many pages or slides a document has. */
  pages?: number | undefined
  tokens?: number | undefined
  description?: string | undefined
  sources_used?: number[] | undefined
  write_warning?: string | undefined
  /** False when the file is for the user but could not be hosted. The file is then stored, but the user did not get it. */
  handed_over?: boolean | undefined
  status?: string | undefined
  error?: string | { [field: string]: unknown; code?: string | undefined; message?: string | undefined } | null | undefined
}

const [optionalText, optionalNumber, optionalFlag] = [isMissingOr(isText), isMissingOr(isNumber), isMissingOr(isFlag)]

const isDigestError: FieldCheck = (value) =>
  value === undefined || value === null || isText(value) || (isObject(value) && optionalText(value.code) && optionalText(value.message))

const digestChecks: FieldChecks<Digest> = {
  artifact_path: isText,
  physical_path: optionalText,
  mime: optionalText,
  kind: isMissingOr(isOneOf('file', 'display')),
  visibility: isMissingOr(isOneOf('external', 'internal')),
  channel: optionalText,
  tool_id: optionalText,
  tool_call_id: optionalText,
  edited: optionalFlag,
  ts: optionalText,
  size_bytes: optionalNumber,
  text_symbols: optionalNumber,
  line_count: optionalNumber,
  pages: optionalNumber,
  tokens: optionalNumber,
  description: optionalText,
  sources_used: isMissingOr(isListOf(isNumber)),
  write_warning: optionalText,
  handed_over: optionalFlag,
  status: optionalText,
  error: isDigestError,
}

/** The digest in a JSON text. Undefined when the text is not a digest. */
export const parseDigest = (text: string | undefined): Digest | undefined => readFields(digestChecks, parseJson(text))

/** The digest in a block that has one. Undefined for blocks without a digest. */
export const readDigest = (block: Block): Digest | undefined => (mayHaveDigest(block) ? digestOf(block) : undefined)

/** Whether the block has to be parsed to know if it has a digest. Most results have no digest, and are not parsed. */
export const mayHaveDigest = ({ type, mime, text }: Block): boolean =>
  (type === 'react.tool.result' || type === 'user.attachment.meta') &&
  (mime === undefined || mime === 'application/json') &&
  text?.includes('"artifact_path"') === true

const digestOf = oncePerBlock((block: Block): Digest | undefined => parseDigest(block.text))

/**
 * The sentence that the model writes to the user together with a tool call. A `react.note`, without an s, is something else: the agent
 * writes it for itself.
 */
export function decisionNotesBlock(origin: BlockOrigin, text: string, toolId?: string): Draft<'react.notes'> {
  return {
    type: 'react.notes',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/markdown',
    path: notesPath(origin.turnId, origin.callId),
    call_id: origin.callId,
    text,
    meta: omitUndefined({ channel: 'timeline_text', tool_call_id: origin.callId, iteration: origin.iteration, tool_id: toolId }),
  }
}

/** The text of the `thinking` channel in one round. */
export function thinkingBlock(origin: BlockOrigin, text: string): Draft<'react.thinking'> {
  return {
    type: 'react.thinking',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/markdown',
    path: thinkingPath(origin.turnId, origin.iteration),
    text,
    meta: { channel: 'thinking', tool_call_id: origin.callId, iteration: origin.iteration },
  }
}

/** The beginning of a response that a steer interrupted. The model sees it in later prompts, because the user has already seen it. */
export function rawDecisionBlock(origin: BlockOrigin, text: string): Draft<'react.decision.raw'> {
  return {
    type: 'react.decision.raw',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/plain',
    path: interruptedPath(origin.turnId, origin.iteration),
    call_id: origin.callId,
    text,
    meta: { channel: 'raw', tool_call_id: origin.callId, iteration: origin.iteration, interrupted: true },
  }
}
