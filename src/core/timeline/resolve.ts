import type { Block } from '../block/block.ts'
import { readPlan } from '../block/plan.ts'
import { readCompactionDigest } from '../compaction/digest.ts'
import { summaryView } from '../compaction/summary-view.ts'
import { type FilePath, formatPath, type LatestPlanPath, parsePath, type RecordPath, type ToolPath } from '../path/logical.ts'
import { selectSources } from '../sources/pool.ts'
import type { SourceRow } from '../sources/source.ts'
import { type Artifact, artifactFromBlocks, findArtifact } from './artifacts.ts'
import { blockAt, blocksAtPath, blocksOfTurn, type Timeline } from './timeline.ts'
import { turnIndexText } from './turn-log.ts'

/**
 * Blocks of the journal that the caller has loaded, oldest first. Each function returns undefined when the caller has not loaded these
 * blocks. In this case `resolvePath` returns `lookup_needed`. The caller then loads the blocks and calls `resolvePath` again. An empty list
 * means that the journal has no such blocks.
 */
export interface BlockHistory {
  atPath(path: string): readonly Block[] | undefined
  ofTurn(turnId: string): readonly Block[] | undefined
}

export type Resolution =
  /** The blocks at the path, oldest first. `from` tells whether they are visible or only in the journal. */
  | { readonly status: 'blocks'; readonly path: string; readonly blocks: readonly Block[]; readonly from: 'timeline' | 'history' }
  | { readonly status: 'artifact'; readonly path: string; readonly artifact: Artifact; readonly from: 'timeline' | 'history' | 'digest' }
  /** A text that is computed when it is read: the index of a turn, or a summary with its digest. */
  | { readonly status: 'view'; readonly path: string; readonly text: string }
  | { readonly status: 'sources'; readonly path: string; readonly rows: readonly SourceRow[]; readonly missing: readonly number[] }
  /** The caller must load these blocks of the journal and call `resolvePath` again. */
  | { readonly status: 'lookup_needed'; readonly at: { readonly path: string } | { readonly turn: string } }
  /**
   * The path refers to the knowledge base, a skill or another conversation, which other functions read. Or it refers to a folder, which has
   * no content of its own.
   */
  | { readonly status: 'elsewhere'; readonly path: string; readonly where: 'knowledge' | 'skill' | 'conversation' | 'folder' }
  | { readonly status: 'missing'; readonly path: string }
  | { readonly status: 'not_a_logical_path' }

/** Finds the content at a logical path. It searches the visible timeline first, then the whole journal. Hidden blocks are found too. */
export function resolvePath(timeline: Timeline, text: string, history: BlockHistory): Resolution {
  const parsed = parsePath(text)
  if (parsed === undefined) return { status: 'not_a_logical_path' }
  const path = formatPath(parsed)
  if (parsed.space === 'ks') return { status: 'elsewhere', path, where: 'knowledge' }
  if (parsed.space === 'sk') return { status: 'elsewhere', path, where: 'skill' }
  if (parsed.conversationId !== undefined) return { status: 'elsewhere', path, where: 'conversation' }
  switch (parsed.space) {
    case 'so':
      return { status: 'sources', path, ...selectSources(timeline.sources, parsed.sids) }
    case 'ar':
      return parsed.kind === 'latest-plan'
        ? resolveLatestPlan(timeline, parsed, path, history)
        : resolveRecord(timeline, parsed, path, history)
    case 'su':
    case 'ws':
      return resolveRecord(timeline, parsed, path, history)
    case 'tc':
      return resolveToolRecord(timeline, parsed, path, history)
    case 'fi':
      if (parsed.kind === 'folder') return { status: 'elsewhere', path, where: 'folder' }
      if (parsed.kind === 'file') return resolveFile(timeline, parsed, path, history)
      return resolveToolRecord(timeline, { turn: parsed.turn, call: parsed.call, record: 'code' }, path, history)
    default:
      return parsed satisfies never
  }
}

type CallRecord = Pick<ToolPath, 'turn' | 'call' | 'record'>

function resolveToolRecord(timeline: Timeline, record: CallRecord, path: string, history: BlockHistory): Resolution {
  const found = resolveBlocks(timeline, path, history)
  return found.status === 'missing' ? resolveBlocks(timeline, olderPath(record), history) : found
}

/** The older form of the path of a call, result, notice or program. Blocks of imported timelines may have this path. */
function olderPath({ turn, call, record: name }: CallRecord): string {
  if (name === 'code') return `fi:${turn}.code.${call}`
  return `tc:${turn}.tool_calls.${call}.${{ call: 'in.json', result: 'out.json', notice: 'notice.json' }[name]}`
}

function resolveRecord(timeline: Timeline, { space, turn, record: name }: RecordPath, path: string, history: BlockHistory): Resolution {
  if (space === 'ar' && name === 'react.turn.index') return resolveTurnIndex(timeline, turn, path, history)
  const found = resolveBlocks(timeline, path, history)
  const summary = found.status === 'blocks' ? found.blocks.findLast(({ type }) => type === 'conv.range.summary') : undefined
  return summary ? { status: 'view', path, text: summaryView(summary) } : found
}

/** The blocks at a path. Copies that a compaction preserved are returned only if there is no original. */
function resolveBlocks(timeline: Timeline, path: string, history: BlockHistory): Resolution {
  const visible = blocksAtPath(timeline, path)
  const own = visible.filter(({ meta }) => meta?.preserved_by_compaction !== true)
  if (own.length > 0) return { status: 'blocks', path, blocks: own, from: 'timeline' }
  const older = history.atPath(path)
  if (older === undefined) return { status: 'lookup_needed', at: { path } }
  const originals = older.filter(({ meta }) => meta?.preserved_by_compaction !== true)
  if (originals.length > 0) return { status: 'blocks', path, blocks: originals, from: 'history' }
  if (visible.length > 0) return { status: 'blocks', path, blocks: visible, from: 'timeline' }
  return older.length > 0 ? { status: 'blocks', path, blocks: older, from: 'history' } : { status: 'missing', path }
}

/**
 * The index of a turn. It is made from the blocks of the turn in the journal. If retention has removed the blocks from the journal, the
 * index is made from the visible blocks.
 */
function resolveTurnIndex(timeline: Timeline, turn: string, path: string, history: BlockHistory): Resolution {
  const logged = history.ofTurn(turn)
  if (logged === undefined) return { status: 'lookup_needed', at: { turn } }
  const blocks = logged.length > 0 ? logged : blocksOfTurn(timeline, turn)
  if (blocks.length === 0) return { status: 'missing', path }
  const header = blocks.find(({ type }) => type === 'turn.header')
  const ended = timeline.openTurn?.turn_id === turn ? null : (blocks.at(-1)?.ts ?? null)
  return { status: 'view', path, text: turnIndexText({ turn_id: turn, ts: header?.ts ?? null, end_ts: ended, blocks, sources_used: [] }) }
}

/** The artifact at a file path. Blocks with content are preferred to a digest without content. */
function resolveFile(timeline: Timeline, { turn }: FilePath, path: string, history: BlockHistory): Resolution {
  const visible = findArtifact(timeline, path)
  if (visible && hasContent(visible)) return { status: 'artifact', path, artifact: visible, from: 'timeline' }
  const older = history.atPath(path)
  if (older === undefined) return { status: 'lookup_needed', at: { path } }
  const past = artifactFromBlocks(older, path)
  if (past && hasContent(past)) return { status: 'artifact', path, artifact: visible ? { ...past, ...visible } : past, from: 'history' }
  if (visible) return { status: 'artifact', path, artifact: visible, from: 'timeline' }
  if (past) return { status: 'artifact', path, artifact: past, from: 'history' }
  const logged = history.ofTurn(turn)
  if (logged === undefined) return { status: 'lookup_needed', at: { turn } }
  const described = artifactFromBlocks(logged, path)
  if (described) return { status: 'artifact', path, artifact: described, from: 'history' }
  const indexed = artifactFromDigest(timeline, path)
  return indexed ? { status: 'artifact', path, artifact: indexed, from: 'digest' } : { status: 'missing', path }
}

const hasContent = ({ text, blob, base64 }: Artifact) => text !== undefined || blob !== undefined || base64 !== undefined

/** The digest in the newest summary. It includes the digests of earlier summaries. */
const compactionDigestOf = (timeline: Timeline) => {
  const first = blockAt(timeline, 0)
  return first?.type === 'conv.range.summary' ? readCompactionDigest(first) : undefined
}

function artifactFromDigest(timeline: Timeline, path: string): Artifact | undefined {
  const entry = compactionDigestOf(timeline)?.artifacts.find(({ artifact_path }) => artifact_path === path)
  if (!entry) return undefined
  const { tool_id: toolId, tool_call_id: callId, kind, mime, physical_path: physical } = entry
  return {
    path,
    kind: kind === 'file' ? 'file' : 'display',
    metadata: { artifact_path: path, ...(mime !== undefined && { mime }), ...(physical !== undefined && { physical_path: physical }) },
    ...(callId !== undefined && { callId }),
    ...(toolId !== undefined && { toolId }),
  }
}

function resolveLatestPlan(timeline: Timeline, { planId }: LatestPlanPath, path: string, history: BlockHistory): Resolution {
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    if (block && readPlan(block)?.plan_id === planId) return { status: 'blocks', path, blocks: [block], from: 'timeline' }
  }
  const snapshot = compactionDigestOf(timeline)?.plans.find(({ plan_id }) => plan_id === planId)?.snapshot_path
  if (snapshot === undefined) return { status: 'missing', path }
  const older = history.atPath(snapshot)
  if (older === undefined) return { status: 'lookup_needed', at: { path: snapshot } }
  const newest = older.findLast((block) => readPlan(block)?.plan_id === planId)
  return newest ? { status: 'blocks', path, blocks: [newest], from: 'history' } : { status: 'missing', path }
}
