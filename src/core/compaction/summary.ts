import type { Block, Draft } from '../block/block.ts'
import { rangeSummaryBlock } from '../block/turn.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { promptPath, sourcesPath, summaryPath, turnIndexPath } from '../path/build.ts'
import { cutText } from '../render/shorten.ts'
import { lastLinesWithin, oneLine } from '../render/text.ts'
import { type CompactionDigest, continuedDigest, emptyDigest, extendDigest, latestBy, recoverableResults } from './digest.ts'
import {
  type CutPlace,
  MOST_PLANS,
  newestSnapshots,
  planEntry,
  planHistoryText,
  planState,
  preservedCopy,
  preservedSnapshot,
} from './plans.ts'
import { currentNotes, type NoteSplit, preferenceDigest, preservedEvents, preservedNotes, splitNotes } from './preserve.ts'

/** The blocks that leave, and what stands around them. */
export interface CompactedRange {
  /** The latest summary, when there is one. */
  readonly previous: Block | undefined
  /** Everything between it and the cut: what it carried along, then history. */
  readonly blocks: readonly Block[]
  /** The first of these is the block at the cut. */
  readonly retained: readonly Block[]
  /** Turns that leave now. */
  readonly turnIds: readonly string[]
  /** Every source that the conversation knows. */
  readonly sids: readonly number[]
}

const NARRATIVE_CHARS = 24_000
const MOST_LISTED = 40
/** Per list. With the narrative, all lists and the preferences stay below what is shown of a summary; what matters most comes last. */
const LISTED_CHARS = 4000
const SELECTOR_CHARS = 1000

/** The part of a summary that a model wrote, without the lists that are made again each time. */
export function narrativeOf(summary: Block): string {
  const length = summary.meta?.narrative_chars
  return typeof length === 'number' ? (summary.text ?? '').slice(0, length) : (summary.text ?? '')
}

export const coveredTurnIds = (leaving: CompactedRange): readonly string[] => {
  const before = leaving.previous?.meta?.covered_turn_ids
  const known = Array.isArray(before) ? before.filter((id) => typeof id === 'string') : []
  return [...new Set([...known, ...leaving.turnIds])]
}

/**
 * What is put at the cut, in the order it is shown: the summary, notes, what the user threw in, the plans that were made, their
 * newest snapshots, and the plan that is being worked on.
 */
export function summaryBlocks(leaving: CompactedRange, text: string, now: string, tokens: Estimator): readonly Draft[] {
  const turnId = leaving.retained[0]?.turn_id ?? leaving.turnIds.at(-1) ?? ''
  const place: CutPlace = { turnId }
  const notes = splitNotes(currentNotes(leaving.blocks))
  const plans = newestSnapshots(leaving.blocks)
  const digest = nextDigest(leaving, notes)
  const open = new Set(plans.filter(({ plan }) => planState(plan) === 'unfinished').slice(-MOST_PLANS))
  const kept = plans.filter((each, index) => open.has(each) || index >= plans.length - MOST_PLANS)
  return [
    summaryDraft(leaving, text, now, digest, notes, tokens),
    ...preservedNotes(notes.kept, place),
    ...preservedEvents(leaving.blocks, place),
    ...(digest.plans.length > 0 ? [planHistory(digest, place, now)] : []),
    ...kept.map(({ block }) => preservedSnapshot(block, place)),
    ...activePlan(leaving, place),
  ]
}

function nextDigest(leaving: CompactedRange, notes: NoteSplit): CompactionDigest {
  const previous = leaving.previous ? continuedDigest(leaving.previous) : emptyDigest
  const extended = extendDigest(previous, leaving.blocks.filter(isOriginal), leaving.sids)
  const dropped = notes.dropped.map((note) => ({
    source_path: sourcePath(note),
    turn_id: note.turn_id,
    text: cutText(note.text ?? '', 2000),
  }))
  const visible = new Set(notes.kept.map(sourcePath))
  return {
    ...extended,
    plans: latestBy(extended.plans, newestSnapshots(leaving.blocks).map(planEntry), ({ plan_id }) => plan_id),
    notes: latestBy(extended.notes, dropped, ({ source_path }) => source_path).filter(({ source_path }) => !visible.has(source_path)),
  }
}

const isOriginal = ({ meta }: Block) => meta?.preserved_by_compaction !== true
const sourcePath = (note: Block) => (typeof note.meta?.source_path === 'string' ? note.meta.source_path : (note.path ?? note.id))

function summaryDraft(
  leaving: CompactedRange,
  text: string,
  now: string,
  digest: CompactionDigest,
  notes: NoteSplit,
  tokens: Estimator,
): Draft<'conv.range.summary'> {
  const { previous, blocks, retained, turnIds } = leaving
  const narrative = cutText(text.trim(), NARRATIVE_CHARS)
  const turnId = retained[0]?.turn_id ?? turnIds.at(-1) ?? ''
  const originals = blocks.filter(isOriginal)
  const before = previous?.meta ?? {}
  const startTs = stringOrUndefined(before.compacted_range_start_ts) ?? originals[0]?.ts
  const endTs = originals.at(-1)?.ts ?? stringOrUndefined(before.compacted_range_end_ts)
  const firstMessageTs = stringOrUndefined(before.conversation_first_message_ts) ?? originals.find(({ type }) => type === 'user.prompt')?.ts
  const draft = rangeSummaryBlock(turnId, now, {
    text: [narrative, ...appendix(digest, notes, leaving.sids, originals, summaryPath(turnId), tokens)].join('\n\n'),
    coveredTurnIds: coveredTurnIds(leaving),
    digest,
    ...(startTs !== undefined && { startTs }),
    ...(endTs !== undefined && { endTs }),
    ...(firstMessageTs !== undefined && { firstMessageTs }),
  })
  return { ...draft, meta: { ...draft.meta, narrative_chars: narrative.length } }
}

const stringOrUndefined = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** What must not depend on how well a model summarises: addresses, sources, preferences. */
function appendix(
  digest: CompactionDigest,
  notes: NoteSplit,
  sids: readonly number[],
  originals: readonly Block[],
  path: string,
  tokens: Estimator,
): readonly string[] {
  const modified = new Set([...digest.written_files, ...digest.patched_files])
  const read = digest.read_files.filter((file) => !modified.has(file))
  const recoverable = lastLinesWithin(recoverableResults(originals, tokens).toReversed(), LISTED_CHARS).toReversed()
  const last = digest.turns.at(-1)
  const index = [
    ...(sids.length > 0 ? [`sources: ${selectorOf(sids)}`] : []),
    ...(last ? [`last_covered_request: ${promptPath(last.turn_id)} | ${oneLine(last.request ?? '', 160)}`] : []),
    ...(last ? [`turn_index: ${turnIndexPath(last.turn_id)} (any covered turn has one)`] : []),
    `complete_index: ${path}${digest.older.length > 0 ? ', continued from' : ''}`,
    ...lastLinesWithin(digest.older, LISTED_CHARS).map((volume) => `- ${volume}`),
  ]
  return [
    ...pathList('read-files', read, path),
    ...pathList('modified-files', [...modified], path),
    ...(recoverable.length > 0 ? [`<recoverable-tool-results>\n${recoverable.join('\n')}\n</recoverable-tool-results>`] : []),
    index.join('\n'),
    ...([preferenceDigest([...notes.dropped, ...notes.kept])].filter((text) => text !== undefined) as readonly string[]),
  ]
}

/** Scattered numbers may fill pages: then the range that holds them all. */
function selectorOf(sids: readonly number[]): string {
  const exact = sourcesPath(sids)
  return exact.length <= SELECTOR_CHARS ? exact : `so:sources_pool[${sids[0]}-${sids.at(-1)}]`
}

/** The newest of them, sorted. */
function pathList(name: string, paths: readonly string[], path: string): readonly string[] {
  if (paths.length === 0) return []
  const shown = lastLinesWithin([...new Set(paths)].slice(-MOST_LISTED), LISTED_CHARS).toSorted()
  const more = new Set(paths).size - shown.length
  return [[`<${name}>`, ...shown, ...(more > 0 ? [`... ${more} more in ${path}`] : []), `</${name}>`].join('\n')]
}

function planHistory(digest: CompactionDigest, { turnId }: CutPlace, now: string): Draft<'react.plan.history'> {
  return {
    type: 'react.plan.history',
    author: 'system',
    turn_id: turnId,
    ts: now,
    mime: 'text/markdown',
    path: `ar:${turnId}.react.plan.history`,
    text: planHistoryText(digest.plans),
    meta: { preserved_by_compaction: true },
  }
}

/** The plan in progress stays a plan, unless what is retained shows a newer state of it. */
function activePlan({ blocks, retained }: CompactedRange, place: CutPlace): readonly Draft[] {
  const still = new Set(newestSnapshots(retained).map(({ plan }) => plan.plan_id))
  const active = newestSnapshots(blocks).findLast(({ plan }) => planState(plan) === 'unfinished' && plan.current !== false)
  return active && !still.has(active.plan.plan_id) ? [preservedCopy(active.block, 'react.plan', place)] : []
}
