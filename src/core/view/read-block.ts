import { type Block, callIdOf } from '../block/block.ts'
import { readPlan } from '../block/plan.ts'
import { type Digest, isResultMetadata, readDigest, readNotice, readToolCall } from '../block/round.ts'
import { isObject, type JsonObject, parseJson } from '../json.ts'
import { parsePath } from '../path/logical.ts'
import type { BlockEvent, FileView } from './visible-event.ts'

/** The events of the blocks of one entry. The last `assistant.completion` block is the answer of the turn. */
export function readBlocks(blocks: readonly Block[]): readonly BlockEvent[] {
  const answer = blocks.findLast(({ type }) => type === 'assistant.completion')
  return blocks.flatMap((block) => readBlock(block, block === answer))
}

/** The events of a block. Empty for blocks that are only for the model, and for imported blocks of unknown types. */
function readBlock(block: Block, isFinal: boolean): readonly BlockEvent[] {
  const { turn_id: turnId, ts, text = '', meta } = block
  const origin = { blockId: block.id, turnId, ts }
  const iteration = meta?.iteration ?? 0
  switch (block.type) {
    case 'turn.header':
      return [{ ...origin, kind: 'header' }]
    case 'user.prompt':
      return [{ ...origin, kind: 'prompt', text }]
    case 'user.attachment.meta':
      return [{ ...origin, kind: 'attachment', file: attachmentOf(block, readDigest(block)), part: 'description' }]
    case 'user.attachment':
      return [{ ...origin, kind: 'attachment', file: attachmentOf(block, digestOfContent(block)), part: 'content' }]
    case 'react.thinking':
      if (text === '') return [] // this user may not see the thinking, so the server has removed the text
      return [{ ...origin, kind: 'thinking', iteration, text }]
    case 'react.notes':
      return [{ ...origin, kind: 'notes', iteration, text }]
    case 'react.tool.code':
      if (text === '') return []
      return [{ ...origin, kind: 'tool.code', callId: callIdOf(block), iteration, text }]
    case 'react.tool.call': {
      const call = readToolCall(block)
      const toolId = call?.tool_id ?? block.tool_id
      return [{ ...origin, kind: 'tool.call', callId: callIdOf(block), toolId, iteration: meta?.iteration, call }]
    }
    case 'react.tool.result':
      return isResultMetadata(block) ? [] : [...deliveredFile(block), toolResult(block)]
    case 'react.notice': {
      const notice = readNotice(block)
      return notice ? [{ ...origin, kind: 'notice', callId: callIdOf(block), code: notice.code, message: notice.message }] : []
    }
    case 'react.plan':
      return [{ ...origin, kind: 'plan', plan: readPlan(block) }]
    case 'user.followup':
      return [{ ...origin, kind: 'message', from: 'followup', text }]
    case 'user.steer':
      return [{ ...origin, kind: 'message', from: 'steer', text }]
    case 'event.external':
      return [{ ...origin, kind: 'message', from: 'external', text }]
    case 'conv.range.summary':
      if (text === '') return []
      return [{ ...origin, kind: 'summary', text }]
    case 'assistant.completion':
      return [answerEvent(block, isFinal ? 'final' : 'superseded')]
    case 'assistant.completion.attempt':
      return [answerEvent(block, 'attempt')]
    case 'stage.suggested_followups':
      return [{ ...origin, kind: 'followups', items: stringsIn(meta?.items) }]
    case 'stage.clarification':
      return [{ ...origin, kind: 'questions', items: stringsIn(meta?.questions) }]
    default:
      return []
  }
}

function answerEvent(block: Block, state: 'attempt' | 'superseded' | 'final'): BlockEvent {
  const { id: blockId, turn_id: turnId, ts, text = '', meta } = block
  return {
    blockId,
    turnId,
    ts,
    kind: 'answer',
    iteration: meta?.iteration ?? 0,
    text,
    sourcesUsed: meta?.sources_used ?? [],
    truncated: meta?.truncated === true,
    stopped: meta?.stopped === true,
    usage: isObject(meta?.usage) ? (meta.usage as JsonObject) : undefined, // blocks are parsed from JSON
    state,
    first: state !== 'attempt' && (meta?.completion_index ?? 1) === 1,
  }
}

/**
 * Whether the block is about a file that its turn made. When a tool reads an attachment or a file of another turn, it also appends a block
 * with the resource name of that file. The result is false for such a block.
 */
function isOwnFile({ path, turn_id }: Block): boolean {
  const parsed = parsePath(path ?? '')
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.turn === turn_id && parsed.area !== 'attachments'
}

/** The event of a file for the user. Only files with a resource name (`rn`) are hosted, so other artifacts are only for the model. */
function deliveredFile(block: Block): readonly BlockEvent[] {
  const { id: blockId, turn_id: turnId, ts, mime, meta } = block
  const rn = meta?.rn
  if (rn === undefined || !isOwnFile(block)) return []
  return [{ blockId, turnId, ts, kind: 'file', file: { ...fileOf(block, block.path ?? '', digestOfContent(block)), rn }, mime }]
}

function toolResult(block: Block): BlockEvent {
  const { id: blockId, turn_id: turnId, ts, path, mime, text, meta } = block
  const outcome = execFailure(meta?.exec_report) ?? readFailure(text)
  const isOutput = path?.startsWith('tc:') ?? false
  return { blockId, turnId, ts, kind: 'tool.result', callId: callIdOf(block), path, mime, text, ...outcome, isOutput }
}

/** The error in the report of an exec tool. Undefined for other results, and when the program and its files have no error. */
function execFailure(report: unknown) {
  if (!isObject(report) || report.status !== 'error') return undefined
  const [problem] = Array.isArray(report.file_errors) ? report.file_errors : []
  const error = isObject(report.runtime_error) ? report.runtime_error : problem
  return { failed: true, error: isObject(error) ? { code: String(error.code), message: String(error.message) } : undefined }
}

function readFailure(text: string | undefined) {
  const mayFail = text?.includes('false') && text.includes('"ok"') // a quick test, so that most results are not parsed
  const value = mayFail ? parseJson(text) : undefined
  if (!isObject(value) || value.ok !== false) return { failed: false, error: undefined }
  const { error } = value
  return { failed: true, error: isObject(error) ? { code: String(error.code), message: String(error.message) } : undefined }
}

/**
 * The digest that the runtime stores in `meta` of a content block. The content is not parsed, because a tool could write a false file name
 * into it.
 */
function digestOfContent({ meta }: Block): Partial<Digest> | undefined {
  const digest = parseJson(meta?.digest)
  return isObject(digest) ? digest : undefined
}

function attachmentOf(block: Block, digest: Partial<Digest> | undefined): FileView {
  const file = fileOf(block, digest?.artifact_path ?? block.path ?? '', digest)
  return typeof block.meta?.filename === 'string' ? { ...file, filename: block.meta.filename } : file
}

function fileOf(block: Block, path: string, digest: Partial<Digest> = {}): FileView {
  const { meta } = block
  const size = meta?.size_bytes ?? digest.size_bytes
  return {
    path,
    filename: path.split('/').at(-1) ?? path,
    mime: digest.mime ?? block.mime,
    size: typeof size === 'number' ? size : undefined,
    rn: meta?.rn,
    description: typeof digest.description === 'string' ? digest.description : undefined,
  }
}

const stringsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])
