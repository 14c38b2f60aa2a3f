import { type Block, type BlockType, isHidden, mimeOf } from '../../block/block.ts'
import { readDigest, readToolCall } from '../../block/round.ts'
import { isObject, parseJson } from '../../json.ts'
import { blocksAtPath, type Timeline } from '../../timeline/timeline.ts'
import type { Caps } from '../caps.ts'
import { clip, joinLines, oneLine, pathWithin, scrubBase64 } from '../text.ts'
import type { RenderContext } from '../types.ts'
import { shownTypes } from './index.ts'

interface Replacement {
  readonly text: string
  /** True for the single line that replaces a block of an old turn. No blank line separates two such lines. */
  readonly stub: boolean
}

/**
 * The text that the prompt shows instead of a hidden block. Undefined when the prompt shows nothing for this block, for example because an
 * earlier block with the same path already shows the text.
 */
export function renderHidden(block: Block, timeline: Timeline, context: RenderContext): Replacement | undefined {
  const { hidden_reason: reason, hidden_scope: scope, replacement_text: given } = block.meta ?? {}
  const { path } = block
  // The checkpoint block of a compaction lists the blocks that it hid, so they get no line of their own.
  if (path === undefined || reason === 'compaction' || !shownTypes.has(block.type)) return undefined
  if (given === undefined && !isFirstHiddenAtPath(block, path, timeline)) return undefined
  const { caps } = context
  const text = clip(scrubBase64(given ?? ''), caps.replacement)
  if (block.type === 'turn.feedback' && text === '') return undefined // newer feedback on the turn replaced this block
  const expired = reason === 'cache_ttl' || reason === 'cache_ttl_light'
  if (!expired) return { text: hiddenLine(text, path, caps), stub: false }
  if (isDroppedOnceExpired(block)) return undefined
  if (scope === 'old_turn') return { text: stub(block, path, text, context), stub: true }
  if (block.type === 'react.tool.result') return { text: prunedResult(path, text, context), stub: false }
  return { text: text.trim() === '' ? hiddenLine(text, path, caps) : text, stub: false }
}

/**
 * Whether this block is the first hidden block at its path. Usually this block has the replacement text, and the later ones are not shown.
 * If the block with the replacement text was compacted or not imported, the first hidden block that is left shows the line `HIDDEN —
 * content removed`. The result depends only on blocks that come before this one in the prompt. Therefore hiding a block never changes the
 * text of the blocks before it.
 */
const isFirstHiddenAtPath = (block: Block, path: string, timeline: Timeline) => blocksAtPath(timeline, path).find(isHidden) === block

function hiddenLine(text: string, path: string, limits: Caps): string {
  const sentence = text.trim().replace(/\.$/, '')
  return `HIDDEN — ${sentence === '' ? 'content removed' : sentence}. Retrieve with react.read(${pathWithin(path, limits.path)})`
}

const droppedOnceExpired: ReadonlySet<BlockType> = new Set(['react.notes', 'react.notice'])
const isDroppedOnceExpired = ({ type, meta }: Block) =>
  droppedOnceExpired.has(type) || (type === 'system.message' && meta?.kind === 'cache_ttl_pruned')

function prunedResult(path: string, text: string, { callId, toolId, caps }: RenderContext): string {
  const id = callId === undefined ? 'tc_????' : oneLine(callId, caps.id)
  return joinLines(
    `[TOOL RESULT ${id}].pruned${toolId === undefined ? '' : ` ${oneLine(toolId, caps.id)}`}`,
    `result_hidden: ${pathWithin(path, caps.path)}`,
    text.trim() === '' ? undefined : text,
  )
}

/** One line for a block of an old turn: its kind, its path and a hint of its content. */
function stub(block: Block, path: string, replacement: string, { callId, toolId, caps }: RenderContext): string {
  const label = labelOf(block, path)
  const isTool = label === 'tool_call' || label === 'tool_result' || block.type === 'react.tool.result'
  const isFile = label === 'file'
  const hint = hintOf(block, label, replacement, caps)
  const fields = [
    `path=${pathWithin(path, caps.path)}`,
    isTool && toolId !== undefined ? `tool=${oneLine(toolId, caps.id)}` : undefined,
    isTool && callId !== undefined ? `call_id=${oneLine(callId, caps.id)}` : undefined,
    isFile ? `mime=${oneLine(readDigest(block)?.mime ?? (mimeOf(block) || '-'), caps.mime)}` : undefined,
    isFile ? `file=${JSON.stringify(oneLine(path.slice(path.lastIndexOf('/') + 1), caps.name))}` : undefined,
    hint === '' ? undefined : `hint=${JSON.stringify(hint)}`,
  ]
  return `${label}: ${fields.filter((field) => field !== undefined).join(' ')}`
}

function labelOf(block: Block, path: string): string {
  if (path.startsWith('fi:') && !block.type.startsWith('react.tool.c')) return 'file'
  if (path.startsWith('sk:')) return 'skill'
  if (path.startsWith('so:')) return 'source'
  return (Object.hasOwn(labels, block.type) ? labels[block.type] : undefined) ?? block.type.replaceAll('.', '_')
}

const labels: { readonly [T in BlockType]?: string } = {
  'user.prompt': 'user',
  'assistant.completion': 'assistant',
  'react.tool.call': 'tool_call',
  'react.tool.result': 'tool_result',
}

function hintOf(block: Block, label: string, replacement: string, limits: Caps): string {
  const call = readToolCall(block)
  if (call) return oneLine(callHint(call.params), limits.hint)
  if (label === 'tool_result') return oneLine(jsonHint(replacement.replace(/^\[TRUNCATED\]\s*/, '')), limits.hint)
  const digest = readDigest(block)
  if (digest) return oneLine(stringOrUndefined(digest.summary) ?? digest.description ?? '', limits.hint)
  return oneLine(scrubBase64(jsonHint(block.text ?? stringOrUndefined(block.meta?.summary) ?? '')), limits.hint)
}

const stringOrUndefined = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** The text of the parameters that usually tell what a call is about. */
function callHint(params: { readonly [name: string]: unknown }): string {
  const names = ['query', 'queries', 'path', 'paths', 'urls', 'url', 'account', 'pattern', 'mode']
  return names
    .flatMap((name) => {
      const value = params[name]
      if (typeof value === 'string') return [`${name}: ${value}`]
      return Array.isArray(value) ? [`${name}: ${value.filter((item) => typeof item === 'string').join(', ')}`] : []
    })
    .join('; ')
}

/**
 * A short hint of the content of a JSON text: its error, its artifact path or its number of rows. The content may also be in a field
 * `result`. A text that is not JSON is returned unchanged.
 */
function jsonHint(text: string): string {
  const payload = parseJson(text) ?? parseJson(text.split('\n', 1)[0]) // if the text has several digests, one per line, the first is used
  if (payload === undefined) return text
  const result = isObject(payload) && 'result' in payload ? payload.result : payload
  if (Array.isArray(result)) return `${result.length} rows`
  if (!isObject(result)) return String(result)
  const { error, artifact_path } = result
  if (typeof error === 'string') return `error: ${error}`
  if (isObject(error)) return `error: ${[error.code, error.message].filter((word) => typeof word === 'string').join(' ')}`
  if (typeof artifact_path === 'string') return artifact_path
  const counts = Object.entries(result).flatMap(([key, value]) => (Array.isArray(value) ? [`${value.length} ${key}`] : []))
  return counts.length === 0 ? 'ok' : `ok: ${counts.slice(0, 4).join(', ')}`
}
