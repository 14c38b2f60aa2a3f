import { z } from 'zod'
import { type Block, callIdOf, isHidden } from '../block/block.ts'
import { oncePerBlock } from '../block/reader.ts'
import { type Digest, isResultMetadata, parseDigest, readDigest, readToolCall } from '../block/round.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { isObject, omitUndefined, parseJson } from '../json.ts'
import { sourcesPath } from '../path/build.ts'
import { canonicalPath } from '../path/logical.ts'
import { unsafeReason } from '../path/safety.ts'
import { cutText, oneLine } from '../render/text.ts'
import { replacementOf } from './checkpoint.ts'
import { PlanEntry } from './plans.ts'

const list = <T extends z.ZodType>(item: T) => z.array(item).catch([])

const ArtifactEntry = z.looseObject({
  turn_id: z.string(),
  ts: z.string().optional(),
  artifact_path: z.string(),
  physical_path: z.string().optional(),
  mime: z.string().optional(),
  kind: z.string().optional(),
  visibility: z.string().optional(),
  tool_id: z.string().optional(),
  tool_call_id: z.string().optional(),
  sources_used: z.array(z.number()).optional(),
})
type ArtifactEntry = z.infer<typeof ArtifactEntry>

/**
 * The digest of a summary. It lists everything that is no longer in the prompt but that the agent can still read by its path, oldest first.
 * The lists of paths, such as `written_files`, refer to entries of `artifacts`. A list is limited in length only if its content can be
 * found elsewhere.
 *
 * Each summary copies the digest of the summary before it and adds new entries. A digest is divided into volumes, so that it does not grow
 * without limit. When a volume is full, the next summary begins a new volume. The new volume contains the newest entries and, in `older`,
 * the paths of the summaries with the full volumes. An example with three summaries:
 *
 *   su:t9 [ t1 … t8 ]    su:t15 [ t1 … t14 ] full    su:t20 [ older: su:t15 | newest of t14, t15 … t19 ]
 */
export const CompactionDigest = z.looseObject({
  turns: list(z.looseObject({ turn_id: z.string(), ts: z.string().optional(), request: z.string().optional() })),
  artifacts: list(ArtifactEntry),
  streamed_artifacts: list(z.string()),
  written_files: list(z.string()),
  patched_files: list(z.string()),
  exec_outputs: list(z.string()),
  read_files: list(z.string()),
  memsearches: list(z.looseObject({ query: z.string() })),
  hidden_blocks: list(z.looseObject({ path: z.string() })),
  plans: list(PlanEntry),
  /** The older notes, which are no longer in the prompt. */
  notes: list(z.looseObject({ source_path: z.string(), text: z.string() })),
  /** A path to all sources of the conversation, such as `so:sources_pool[1-5]`. Empty when the conversation has no sources. */
  sources: z.string().catch(''),
  /** The paths of the summaries that hold the full volumes, oldest first. */
  older: list(z.string()),
})
export type CompactionDigest = z.infer<typeof CompactionDigest>

export const emptyDigest: CompactionDigest = {
  turns: [],
  artifacts: [],
  streamed_artifacts: [],
  written_files: [],
  patched_files: [],
  exec_outputs: [],
  read_files: [],
  memsearches: [],
  hidden_blocks: [],
  plans: [],
  notes: [],
  sources: '',
  older: [],
}

/** The digest in a summary. It is empty when the summary has no valid digest, for example because it was imported. */
export const readCompactionDigest = oncePerBlock((summary: Block): CompactionDigest => {
  const parsed = CompactionDigest.safeParse(summary.meta?.compaction_digest ?? {})
  return parsed.success ? parsed.data : emptyDigest
})

const VOLUME_CHARS = 32_000
/**
 * The number of newest artifacts that are copied into a new volume, and the number of newest paths that are copied from each list. The text
 * of a summary shows the same number of entries.
 */
const COPIED_TO_NEXT_VOLUME = 40

/**
 * The digest to which the next summary adds its entries. It is the digest of `summary`, or a new volume if the digest of `summary` is full.
 */
export function continuedDigest(summary: Block): CompactionDigest {
  const digest = readCompactionDigest(summary)
  if (summary.path === undefined || JSON.stringify(digest).length <= VOLUME_CHARS) return digest
  return {
    ...emptyDigest,
    older: [...digest.older, summary.path],
    turns: digest.turns.slice(-1),
    artifacts: digest.artifacts.slice(-COPIED_TO_NEXT_VOLUME),
    written_files: digest.written_files.slice(-COPIED_TO_NEXT_VOLUME),
    patched_files: digest.patched_files.slice(-COPIED_TO_NEXT_VOLUME),
    read_files: digest.read_files.slice(-COPIED_TO_NEXT_VOLUME),
  }
}

const MAX_SEARCHES = 50
const MAX_HIDDEN = 200

/** Adds entries for the blocks to a digest. Notes and plans are added by `nextDigest` in summary.ts. */
export function extendDigest(previous: CompactionDigest, blocks: readonly Block[], sids: readonly number[]): CompactionDigest {
  const tools = new Map(blocks.flatMap((block) => (readToolCall(block) ? [[readToolCall(block)?.tool_call_id, block] as const] : [])))
  const toolOf = (block: Block) => {
    const call = tools.get(callIdOf(block))
    return (call && readToolCall(call)?.tool_id) ?? block.tool_id ?? block.meta?.tool_id
  }
  const artifacts = blocks.flatMap((block) => artifactEntry(block, toolOf(block)) ?? [])
  const madeBy = (action: ToolAction) =>
    artifacts.filter(({ tool_id }) => toolAction(tool_id) === action).map(({ artifact_path }) => artifact_path)
  const streamed = artifacts.filter(({ visibility, kind }) => visibility === 'external' && kind !== undefined)
  return {
    ...previous,
    turns: latestBy(previous.turns, blocks.flatMap(turnEntry), ({ turn_id }) => turn_id),
    artifacts: mergeArtifacts(previous.artifacts, artifacts),
    streamed_artifacts: distinct(
      previous.streamed_artifacts,
      streamed.map(({ artifact_path }) => artifact_path),
    ),
    written_files: distinct(previous.written_files, madeBy('write')),
    patched_files: distinct(previous.patched_files, madeBy('patch')),
    exec_outputs: distinct(previous.exec_outputs, madeBy('exec')),
    read_files: distinct(previous.read_files, blocks.flatMap(readPathsOf)),
    memsearches: [...previous.memsearches, ...blocks.flatMap((block) => memsearchEntry(block, blocks))].slice(-MAX_SEARCHES),
    hidden_blocks: latestBy(previous.hidden_blocks, blocks.flatMap(hiddenEntry), ({ path }) => path).slice(-MAX_HIDDEN),
    sources: sids.length > 0 ? sourcesPath(sids) : '',
  }
}

/** Joins two lists. If several entries have the same key, only the last of them stays. */
export function latestBy<T>(before: readonly T[], added: readonly T[], keyOf: (entry: T) => string): T[] {
  const entries = new Map<string, T>()
  for (const entry of [...before, ...added]) {
    entries.delete(keyOf(entry))
    entries.set(keyOf(entry), entry)
  }
  return [...entries.values()]
}

/**
 * Adds entries to a list of artifacts. If an artifact has an entry already, the new entry replaces it but keeps the fields that only the
 * old entry has.
 */
function mergeArtifacts(before: readonly ArtifactEntry[], added: readonly ArtifactEntry[]): ArtifactEntry[] {
  const known = new Map(before.map((entry) => [entry.artifact_path, entry]))
  const merged = added.map((entry) => {
    const complete = { ...known.get(entry.artifact_path), ...entry }
    known.set(entry.artifact_path, complete)
    return complete
  })
  return latestBy(before, merged, ({ artifact_path }) => artifact_path)
}

const distinct = (before: readonly string[], added: readonly string[]) => latestBy(before, added, (path) => path)

function artifactEntry(block: Block, toolId: string | undefined): ArtifactEntry | undefined {
  const digest = isResultMetadata(block) ? undefined : (readDigest(block) ?? contentDigest(block))
  if (!digest) return undefined
  return omitUndefined({
    turn_id: block.turn_id,
    ts: block.ts,
    artifact_path: digest.artifact_path,
    physical_path:
      digest.physical_path !== undefined && unsafeReason(digest.physical_path) === undefined ? digest.physical_path : undefined,
    mime: digest.mime,
    kind: digest.kind,
    visibility: digest.visibility,
    tool_id: toolId,
    tool_call_id: digest.tool_call_id ?? callIdOf(block),
    sources_used: digest.sources_used,
  })
}

/**
 * The digest of an artifact, made from the block with its content. If the block has a copy of the digest in `meta`, the result is this copy
 * with the visibility of the block. Otherwise the result has only the path and the type.
 */
function contentDigest(block: Block): Digest | undefined {
  if (!block.path?.startsWith('fi:') || block.type === 'react.note') return undefined
  const parsed = parseDigest(block.meta?.digest)
  if (!parsed) return omitUndefined({ artifact_path: block.path, mime: block.mime })
  // The digest of a patched file may be internal although the file is for users. Therefore the visibility is taken from the block, which
  // has the visibility of the file.
  return { ...parsed, visibility: block.meta?.visibility ?? parsed.visibility }
}

function turnEntry(block: Block): CompactionDigest['turns'] {
  return block.type === 'user.prompt' ? [{ turn_id: block.turn_id, ts: block.ts, request: oneLine(block.text ?? '', 160) }] : []
}

function memsearchEntry(block: Block, blocks: readonly Block[]): CompactionDigest['memsearches'] {
  const call = readToolCall(block)
  if (call?.tool_id !== 'react.memsearch') return []
  const { query, targets, top_k, days } = call.params
  const result = blocks.find((other) => other.type === 'react.tool.result' && callIdOf(other) === call.tool_call_id && !readDigest(other))
  const payload = parseJson(result?.text)
  const rows = isObject(payload) ? payload.hits : payload
  const hits = Array.isArray(rows) ? rows.filter(isObject) : []
  const strings = (values: readonly unknown[]) => [...new Set(values.filter((value) => typeof value === 'string'))].slice(0, 20)
  const snippets = hits.flatMap(({ snippets: inside }) => (Array.isArray(inside) ? inside.filter(isObject) : []))
  return [
    omitUndefined({
      query: oneLine(typeof query === 'string' ? query : '', 256),
      targets,
      top_k,
      days,
      hits_count: hits.length,
      turn_ids: strings(hits.map(({ turn_id }) => turn_id)),
      paths: strings(snippets.map(({ path }) => path)),
    }),
  ]
}

/**
 * The entry of a hidden block. There is no entry for a block that was hidden only because a checkpoint replaced it. There may be thousands
 * of such blocks, and `react.read` lists them in the index of their turn. There is also no entry for feedback that newer feedback replaced.
 */
function hiddenEntry(block: Block): CompactionDigest['hidden_blocks'] {
  const replacement_text = replacementOf(block)
  if (!isHidden(block) || block.path === undefined) return []
  if ((block.meta?.hidden_reason === 'compaction' || block.type === 'turn.feedback') && !replacement_text) return []
  const { path, type, turn_id, ts, mime } = block
  return [omitUndefined({ path, type, turn_id, ts, mime, replacement_text: replacement_text && cutText(replacement_text, 200) })]
}

type ToolAction = 'read' | 'write' | 'patch' | 'exec' | 'other'

/**
 * What a tool does to files, derived from its name. For example, `rendering_tools.write_pdf` writes and `exec_tools.execute_code_python`
 * executes.
 */
function toolAction(toolId: string | undefined): ToolAction {
  const name = toolId?.slice(toolId.lastIndexOf('.') + 1) ?? ''
  if (name === 'read' || name === 'patch') return name
  if (name === 'write' || name.startsWith('write_')) return 'write'
  return name.startsWith('execute_code') ? 'exec' : 'other'
}

/** The logical paths that a read tool was called with. Other strings in its parameters are ignored. */
function readPathsOf(block: Block): readonly string[] {
  const call = readToolCall(block)
  if (!call || toolAction(call.tool_id) !== 'read') return []
  const { paths, items } = call.params
  const asked = [
    ...(Array.isArray(paths) ? paths : [paths]),
    ...(Array.isArray(items) ? items.map((item) => (isObject(item) ? item.path : item)) : []),
  ]
  return asked.flatMap((path) => (typeof path === 'string' ? (canonicalPath(path) ?? []) : []))
}

const LARGE_RESULT = 12_000
const MAX_ROWS = 20

/** One line for each tool result that is too large for a summary, with the path at which the agent can read it. Newest first. */
export function recoverableResults(blocks: readonly Block[], tokens: Estimator): readonly string[] {
  const tools = new Map(blocks.flatMap((block) => (readToolCall(block) ? [[callIdOf(block), readToolCall(block)?.tool_id] as const] : [])))
  return blocks
    .toReversed()
    .filter((block) => block.type === 'react.tool.result' && block.path !== undefined && !readDigest(block))
    .filter((block) => tokens.reaches(block.text ?? '', LARGE_RESULT))
    .slice(0, MAX_ROWS)
    .map((block) => {
      const callId = callIdOf(block)
      const facts = [`tool=${tools.get(callId) ?? 'unknown'}`, ...(callId === undefined ? [] : [`call_id=${callId}`])]
      return `- ${block.path} | ${facts.join(' | ')} | tokens=${tokens.content(block)}`
    })
}
