import { z } from 'zod'
import { type Block, callIdOf, isHidden } from '../block/block.ts'
import { Digest, readDigest } from '../block/digest.ts'
import { oncePerBlock } from '../block/reader.ts'
import { readToolCall } from '../block/tool.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { isObject, omitUndefined, parseJson } from '../json.ts'
import { sourcesPath } from '../path/build.ts'
import { canonicalPath } from '../path/logical.ts'
import { unsafeReason } from '../path/safety.ts'
import { cutText } from '../render/shorten.ts'
import { oneLine } from '../render/text.ts'
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
export type ArtifactEntry = z.infer<typeof ArtifactEntry>

/**
 * Everything that a summary stands for, as an index: what the model no longer sees and can still ask for. Cumulative, oldest first.
 * A list of paths names entries of `artifacts`; the lists without a bound are the ones that nothing else could replace.
 *
 * Written anew with every summary, an index of everything would cost more than the conversation. So it comes in volumes: one that
 * is full is closed with the summary that holds it, and the next begins with its newest entries and the addresses of those before.
 *
 *   su:t9 [ t1 … t8 ]    su:t15 [ t1 … t14 ] closed    su:t20 [ older: su:t15 | newest of t14, t15 … t19 ]
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
  /** Notes that no longer fit among the preserved ones. */
  notes: list(z.looseObject({ source_path: z.string(), text: z.string() })),
  /** Every source of the conversation, as one selector; empty when there is none. */
  sources: z.string().catch(''),
  /** Summaries that hold the closed volumes, oldest first. */
  older: list(z.string()),
})
export type CompactionDigest = z.infer<typeof CompactionDigest>

export const emptyDigest: CompactionDigest = CompactionDigest.parse({})

/** Empty when the summary carries none: imported ones may hold anything. */
export const readCompactionDigest = oncePerBlock((summary: Block): CompactionDigest => {
  const parsed = CompactionDigest.safeParse(summary.meta?.compaction_digest ?? {})
  return parsed.success ? parsed.data : emptyDigest
})

const VOLUME_CHARS = 32_000
/** As many as a summary shows. */
const CARRIED = 40

/** The index that the next summary goes on with. */
export function continuedDigest(summary: Block): CompactionDigest {
  const digest = readCompactionDigest(summary)
  if (summary.path === undefined || JSON.stringify(digest).length <= VOLUME_CHARS) return digest
  return {
    ...emptyDigest,
    older: [...digest.older, summary.path],
    turns: digest.turns.slice(-1),
    artifacts: digest.artifacts.slice(-CARRIED),
    written_files: digest.written_files.slice(-CARRIED),
    patched_files: digest.patched_files.slice(-CARRIED),
    read_files: digest.read_files.slice(-CARRIED),
  }
}

const MOST_SEARCHES = 50
const MOST_HIDDEN = 200

/** What these blocks add to the index: everything but notes and plans, which have rules of their own. */
export function extendDigest(previous: CompactionDigest, blocks: readonly Block[], sids: readonly number[]): CompactionDigest {
  const tools = new Map(blocks.flatMap((block) => (readToolCall(block) ? [[readToolCall(block)?.tool_call_id, block] as const] : [])))
  const toolOf = (block: Block) => {
    const call = tools.get(callIdOf(block))
    return (call && readToolCall(call)?.tool_id) ?? block.tool_id ?? block.meta?.tool_id
  }
  const found = blocks.flatMap((block) => artifactEntry(block, toolOf(block)) ?? [])
  const made = (wanted: string) => found.filter(({ tool_id }) => toolAction(tool_id) === wanted).map(({ artifact_path }) => artifact_path)
  const streamed = found.filter(({ visibility, kind }) => visibility === 'external' && kind !== undefined)
  return {
    ...previous,
    turns: latestBy(previous.turns, blocks.flatMap(turnEntry), ({ turn_id }) => turn_id),
    artifacts: withArtifacts(previous.artifacts, found),
    streamed_artifacts: distinct(
      previous.streamed_artifacts,
      streamed.map(({ artifact_path }) => artifact_path),
    ),
    written_files: distinct(previous.written_files, made('write')),
    patched_files: distinct(previous.patched_files, made('patch')),
    exec_outputs: distinct(previous.exec_outputs, made('exec')),
    read_files: distinct(previous.read_files, blocks.flatMap(readPathsOf)),
    memsearches: [...previous.memsearches, ...blocks.flatMap((block) => memsearchEntry(block, blocks))].slice(-MOST_SEARCHES),
    hidden_blocks: latestBy(previous.hidden_blocks, blocks.flatMap(hiddenEntry), ({ path }) => path).slice(-MOST_HIDDEN),
    sources: sids.length > 0 ? sourcesPath(sids) : '',
  }
}

/** A later entry takes the place of an earlier one with the same name, at the end. */
export function latestBy<T>(before: readonly T[], added: readonly T[], nameOf: (entry: T) => string): T[] {
  const entries = new Map<string, T>()
  for (const entry of [...before, ...added]) {
    entries.delete(nameOf(entry))
    entries.set(nameOf(entry), entry)
  }
  return [...entries.values()]
}

/** What a later block does not say of an artifact, an earlier one may have said. */
function withArtifacts(before: readonly ArtifactEntry[], found: readonly ArtifactEntry[]): ArtifactEntry[] {
  const known = new Map(before.map((entry) => [entry.artifact_path, entry]))
  const grown = found.map((entry) => {
    const merged = { ...known.get(entry.artifact_path), ...entry }
    known.set(entry.artifact_path, merged)
    return merged
  })
  return latestBy(before, grown, ({ artifact_path }) => artifact_path)
}

const distinct = (before: readonly string[], added: readonly string[]) => latestBy(before, added, (path) => path)

function artifactEntry(block: Block, toolId: string | undefined): ArtifactEntry | undefined {
  const digest = readDigest(block) ?? contentDigest(block)
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

/** A file whose metadata block is missing still says in its own meta what it is; at the least it has an address. */
function contentDigest(block: Block): Digest | undefined {
  if (!block.path?.startsWith('fi:') || block.type === 'react.note') return undefined
  const parsed = Digest.safeParse(parseJson(block.meta?.digest))
  return parsed.success ? parsed.data : omitUndefined({ artifact_path: block.path, mime: block.mime })
}

function turnEntry(block: Block): CompactionDigest['turns'] {
  return block.type === 'user.prompt' ? [{ turn_id: block.turn_id, ts: block.ts, request: oneLine(block.text ?? '', 160) }] : []
}

function memsearchEntry(block: Block, blocks: readonly Block[]): CompactionDigest['memsearches'] {
  const call = readToolCall(block)
  if (call?.tool_id !== 'react.memsearch') return []
  const { query, targets, top_k, days } = call.params
  const result = blocks.find((other) => other.type === 'react.tool.result' && callIdOf(other) === call.tool_call_id && !readDigest(other))
  const found = parseJson(result?.text)
  const rows = isObject(found) ? found.hits : found
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

function hiddenEntry(block: Block): CompactionDigest['hidden_blocks'] {
  if (!isHidden(block) || block.path === undefined) return []
  const { path, type, turn_id, ts, mime } = block
  const replacement_text = block.meta?.replacement_text
  return [omitUndefined({ path, type, turn_id, ts, mime, replacement_text: replacement_text && cutText(replacement_text, 200) })]
}

export type ToolAction = 'read' | 'write' | 'patch' | 'exec' | 'other'

/** What a tool does to files, by its name: `react.write`, `rendering_tools.write_pdf`, `exec_tools.execute_code_python`. */
export function toolAction(toolId: string | undefined): ToolAction {
  const name = toolId?.slice(toolId.lastIndexOf('.') + 1) ?? ''
  if (name === 'read' || name === 'patch') return name
  if (name === 'write' || name.startsWith('write_')) return 'write'
  return name.startsWith('execute_code') ? 'exec' : 'other'
}

/** The logical paths that a `react.read` asked for. Whatever else a model may have written there is not repeated. */
export function readPathsOf(block: Block): readonly string[] {
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
const MOST_ROWS = 20

/** Results too large for a summary to hold, and where each can be read again; newest first. */
export function recoverableResults(blocks: readonly Block[], tokens: Estimator): readonly string[] {
  const tools = new Map(blocks.flatMap((block) => (readToolCall(block) ? [[callIdOf(block), readToolCall(block)?.tool_id] as const] : [])))
  return blocks
    .toReversed()
    .filter((block) => block.type === 'react.tool.result' && block.path !== undefined && !readDigest(block))
    .filter((block) => tokens.reaches(block.text ?? '', LARGE_RESULT))
    .slice(0, MOST_ROWS)
    .map((block) => {
      const callId = callIdOf(block)
      const said = [`tool=${tools.get(callId) ?? 'unknown'}`, ...(callId === undefined ? [] : [`call_id=${callId}`])]
      return `- ${block.path} | ${said.join(' | ')} | tokens=${tokens.content(block)}`
    })
}
