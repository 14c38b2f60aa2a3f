import { z } from 'zod'
import { isObject, type Json, omitUndefined, parseJson } from '../json.ts'
import { interruptedPath, notesPath, thinkingPath, toolPath } from '../path/build.ts'
import type { BlobRef, Block, Draft, Meta, Visibility } from './block.ts'
import { latestBlockOfType, oncePerBlock, oncePerBlockOfType, parseJsonAs } from './reader.ts'

/** The turn, round and tool call that made a block, and the time. */
export interface BlockOrigin {
  readonly turnId: string
  readonly callId: string
  readonly iteration: number
  readonly ts: string
}

const roundMeta = ({ callId, iteration }: BlockOrigin): Meta => ({ tool_call_id: callId, iteration })

/**
 * The content of a `react.tool.call` block. The block is appended before the tool runs, so that after a crash the journal shows that the
 * call had begun.
 */
export interface ToolCall {
  readonly tool_id: string
  readonly tool_call_id: string
  readonly params: { readonly [name: string]: unknown }
  readonly ts?: string
}

/**
 * The block of a tool call. `visibility` is set if the call patches a file, and it is the visibility of this file. If the file is internal,
 * users do not see the parameters of the call, because a patch repeats lines of the file. `group` is set if the response has several calls:
 * calls with the same group run at the same time, and a group starts when the results of all earlier groups are in the journal.
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
    meta:
      visibility === undefined && group === undefined
        ? meta
        : { ...meta, ...(visibility !== undefined && { visibility }), ...(group !== undefined && { group }) },
  }
}

/**
 * The call in a `react.tool.call` block. Undefined for other blocks, and when the text is not a call, which may happen in an imported
 * block.
 */
export const readToolCall = latestBlockOfType(['react.tool.call'], ({ text }): ToolCall | undefined => {
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
    meta: result.meta ? { ...roundMeta(origin), ...result.meta } : roundMeta(origin),
  }
}

/**
 * A block that describes `result`, the block of a result: its path, media type, sources and tool. It is made only for a result that is not
 * an artifact. It stands before `result` and has the same path. Prompts leave it out, because the result shows the same information.
 */
export function resultMetadataBlock(
  { callId, iteration, ts }: BlockOrigin,
  result: Draft<'react.tool.result'>,
  { toolId, sourcesPath }: { readonly toolId: string; readonly sourcesPath?: string | undefined },
): Draft<'react.tool.result'> {
  const text = JSON.stringify({
    artifact_path: result.path,
    mime: result.mime,
    kind: 'file',
    visibility: 'internal',
    sources_path: sourcesPath,
    tool_id: toolId,
    tool_call_id: callId,
    ts,
  })
  return { ...result, mime: 'application/json', text, meta: { tool_call_id: callId, iteration, render_role: 'metadata' } }
}

/**
 * True for a block that `resultMetadataBlock` made. Such a block looks like a digest, but it does not belong to an artifact. Lists of
 * artifacts leave it out.
 */
export const isResultMetadata = ({ meta }: Block): boolean => meta?.render_role === 'metadata'

/**
 * The block with the digest of an artifact. Its path is the path of the call's result. A block with the content follows, at the artifact's
 * own path.
 */
export function artifactDigestBlock(origin: BlockOrigin, digest: Digest): Draft<'react.tool.result'> {
  const text = digestText(omitUndefined({ ...digest, tool_call_id: origin.callId, ts: origin.ts }))
  return toolResultBlock(origin, { mime: 'application/json', text })
}

/**
 * The block with the content of an artifact: a text, or a reference to bytes. If neither is given, the block has only `meta`, which says
 * for example where the file is hosted.
 */
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

/** A message of the runtime to the model about the model's own output, such as a broken rule. The model gets no other explanation. */
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

/** The content of a notice. Undefined for other blocks and when the text is not a notice. */
export const readNotice = oncePerBlockOfType(['react.notice'], (block) => parseJsonAs(Notice, block.text))

/**
 * A short description of an artifact. It may be shown to models and clients and written to logs: it has no addresses of hosted files and no
 * absolute paths.
 */
export const Digest = z.looseObject({
  artifact_path: z.string(),
  physical_path: z.string().optional(),
  mime: z.string().optional(),
  kind: z.enum(['file', 'display']).optional(),
  visibility: z.enum(['external', 'internal']).optional(),
  channel: z.string().optional(),
  tool_id: z.string().optional(),
  tool_call_id: z.string().optional(),
  edited: z.boolean().optional(),
  ts: z.string().optional(),
  size_bytes: z.number().optional(),
  text_symbols: z.number().optional(),
  line_count: z.number().optional(),
  /** How many pages or slides a document has. */
  pages: z.number().optional(),
  tokens: z.number().optional(),
  description: z.string().optional(),
  sources_used: z.array(z.number()).optional(),
  write_warning: z.string().optional(),
  /** False when the file is for the user but could not be hosted. The file is then stored, but the user did not get it. */
  handed_over: z.boolean().optional(),
  status: z.string().optional(),
  error: z.union([z.string(), z.looseObject({ code: z.string().optional(), message: z.string().optional() })]).nullish(),
})

export type Digest = z.infer<typeof Digest>

/**
 * Fields that hold the address of a hosted file or a local path. They are never in a digest. The block with the content has them in `meta`.
 */
export const hostingFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path', 'managed'])

/** The digest as it is stored: JSON without empty values and without `hostingFields`. */
export function digestText(digest: Digest): string {
  const entries = Object.entries(digest).filter(
    ([key, value]) => !hostingFields.has(key) && value !== undefined && value !== null && value !== '',
  )
  return JSON.stringify(Object.fromEntries(entries))
}

/** The digest in a block that holds one. Undefined for all other blocks. */
export function readDigest(block: Block): Digest | undefined {
  if (block.type !== 'react.tool.result' && block.type !== 'user.attachment.meta') return undefined
  if (block.mime !== undefined && block.mime !== 'application/json') return undefined
  return block.text?.includes('"artifact_path"') ? parseDigest(block) : undefined // saves parsing the many results without a digest
}

const parseDigest = oncePerBlock((block: Block): Digest | undefined => parseJsonAs(Digest, block.text))

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
