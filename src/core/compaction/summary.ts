import type { Block, Draft } from '../block/block.ts'
import { rangeSummaryBlock } from '../block/turn.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { cutToTokens, type TokenCounter } from '../estimate/tokens.ts'
import { promptPath, shortSourcesPath, summaryPath, turnIndexPath } from '../path/build.ts'
import { cutText, lastLinesWithin, lastWithin, oneLine } from '../render/text.ts'
import { type CompactionDigest, continuedDigest, emptyDigest, extendDigest, latestBy, recoverableResults } from './digest.ts'
import { MAX_PLANS, newestSnapshots, originalPath, planEntry, planHistoryText, planOutcome, preservedCopy } from './plans.ts'
import { currentNotes, type NoteSplit, preferenceDigest, preservedEvents, preservedNotes, splitNotes } from './preserve.ts'

/** The blocks that a new summary replaces, and the blocks before and after them. */
export interface CompactedRange {
  /** The previous summary, if there is one. */
  readonly previous: Block | undefined
  /**
   * All blocks between the previous summary and the cut: first the copies that were preserved with the previous summary, then the turns
   * after it.
   */
  readonly blocks: readonly Block[]
  /** The blocks after the cut. */
  readonly retained: readonly Block[]
  /** The turns that this compaction summarises. Turns that the previous summary covers are not in this list. */
  readonly turnIds: readonly string[]
  /** The SIDs of all sources of the conversation. */
  readonly sids: readonly number[]
}

/** The number of tokens that a summary and the blocks preserved with it may have, if the timeline may have `room` tokens. */
export const summaryTokens = (room: number): number => Math.floor(0.3 * room)

/** The greatest number of tokens of each part of a summary. */
export interface SummaryLimits {
  readonly narrative: number
  /** The limit for each list of paths, and for the list of preferences. */
  readonly list: number
  /** The limit for the list of earlier summaries. The agent needs this list to find the earlier, full volumes of the digest. */
  readonly older: number
  readonly artifacts: number
  readonly notes: number
  readonly events: number
  readonly plans: number
  readonly activePlan: number
}

const unlimited = Number.POSITIVE_INFINITY
/** Sets no token limits. Fixed limits such as `NARRATIVE_CHARS` still apply. */
export const wholeSummary: SummaryLimits = {
  narrative: unlimited,
  list: unlimited,
  older: unlimited,
  artifacts: unlimited,
  notes: unlimited,
  events: unlimited,
  plans: unlimited,
  activePlan: unlimited,
}

/** The limits with which a summary and the blocks preserved with it have about `tokens` tokens. */
export const summaryWithin = (tokens: number): SummaryLimits => ({
  narrative: 0.3 * tokens,
  list: 0.04 * tokens,
  older: 0.12 * tokens,
  artifacts: 0.05 * tokens,
  notes: 0.2 * tokens,
  events: 0.08 * tokens,
  plans: 0.06 * tokens,
  activePlan: 0.1 * tokens,
})

const NARRATIVE_CHARS = 24_000
const MAX_LISTED = 40
/**
 * The greatest number of characters of one list. With this limit, the text of the model, all lists and the preferences together are short
 * enough to be rendered without being cut.
 */
const LISTED_CHARS = 4000
const SELECTOR_CHARS = 1000

/** The part of a summary that a model wrote, without the lists after it. The lists are made again for each summary. */
export function narrativeOf(summary: Block): string {
  const length = summary.meta?.narrative_chars
  return typeof length === 'number' ? (summary.text ?? '').slice(0, length) : (summary.text ?? '')
}

/** The turns that the new summary covers, including the turns that the previous summary covered. */
export const coveredTurnIds = (range: CompactedRange): readonly string[] => {
  const previous = range.previous?.meta?.covered_turn_ids
  const known = Array.isArray(previous) ? previous.filter((id) => typeof id === 'string') : []
  return [...new Set([...known, ...range.turnIds])]
}

/**
 * The blocks that replace the compacted range, in this order: the summary, notes, followups and steers, the history of plans, the newest
 * block of each plan, and the plan in progress.
 */
export function summaryBlocks(
  range: CompactedRange,
  text: string,
  now: string,
  tokens: Estimator,
  limits: SummaryLimits = wholeSummary,
): readonly Draft[] {
  const turnId = turnIdAtCut(range)
  const notes = splitNotes(currentNotes(range.blocks), limits.notes, tokens)
  const plans = newestSnapshots(range.blocks)
  const digest = nextDigest(range, notes)
  const open = new Set(plans.filter(({ plan }) => planOutcome(plan) === 'unfinished').slice(-MAX_PLANS))
  const kept = plans.filter((each, index) => open.has(each) || index >= plans.length - MAX_PLANS)
  return [
    summaryDraft(range, text, now, digest, notes, tokens, limits),
    ...preservedNotes(notes.kept, turnId),
    ...preservedEvents(range.blocks, turnId, limits.events, tokens),
    ...(digest.plans.length > 0 ? [planHistoryBlock(digest, turnId, now, tokens.text, limits.plans)] : []),
    // The path `ar:plan.latest:<id>` refers to these copies.
    ...kept.map(({ block }) => preservedCopy(block, 'react.plan.preserved', turnId)),
    // If the plan in progress has too many tokens, it is left out. The announce still shows it.
    ...activePlan(range, turnId).filter((plan) => tokens.text(plan.text ?? '') <= limits.activePlan),
  ]
}

function nextDigest(range: CompactedRange, notes: NoteSplit): CompactionDigest {
  const previous = range.previous ? continuedDigest(range.previous) : emptyDigest
  const extended = extendDigest(previous, range.blocks.filter(isOriginal), range.sids)
  const dropped = notes.dropped.map((note) => ({
    source_path: sourcePath(note),
    turn_id: note.turn_id,
    text: cutText(note.text ?? '', 2000),
  }))
  const visible = new Set(notes.kept.map(sourcePath))
  return {
    ...extended,
    plans: latestBy(extended.plans, newestSnapshots(range.blocks).map(planEntry), ({ plan_id }) => plan_id),
    notes: latestBy(extended.notes, dropped, ({ source_path }) => source_path).filter(({ source_path }) => !visible.has(source_path)),
  }
}

const turnIdAtCut = ({ retained, turnIds }: CompactedRange) => retained[0]?.turn_id ?? turnIds.at(-1) ?? ''
const isOriginal = ({ meta }: Block) => meta?.preserved_by_compaction !== true
const sourcePath = (note: Block) => originalPath(note) ?? note.id

function summaryDraft(
  range: CompactedRange,
  text: string,
  now: string,
  digest: CompactionDigest,
  notes: NoteSplit,
  tokens: Estimator,
  limits: SummaryLimits,
): Draft<'conv.range.summary'> {
  const { previous, blocks } = range
  const narrative = cutToTokens(cutText(text.trim(), NARRATIVE_CHARS), limits.narrative, tokens.text)
  const turnId = turnIdAtCut(range)
  const originals = blocks.filter(isOriginal)
  const before = previous?.meta ?? {}
  const startTs = stringOrUndefined(before.compacted_range_start_ts) ?? originals[0]?.ts
  const endTs = originals.at(-1)?.ts ?? stringOrUndefined(before.compacted_range_end_ts)
  const firstMessageTs = stringOrUndefined(before.conversation_first_message_ts) ?? originals.find(({ type }) => type === 'user.prompt')?.ts
  const draft = rangeSummaryBlock(turnId, now, {
    text: [narrative, ...appendix(digest, notes, range.sids, originals, summaryPath(turnId), tokens, limits)].join('\n\n'),
    coveredTurnIds: coveredTurnIds(range),
    digest,
    ...(startTs !== undefined && { startTs }),
    ...(endTs !== undefined && { endTs }),
    ...(firstMessageTs !== undefined && { firstMessageTs }),
  })
  const shown = lastWithin(digest.artifacts, limits.artifacts, (artifact) => tokens.text(JSON.stringify(artifact)))
  const shownArtifacts = shown.length < digest.artifacts.length ? { shown_artifacts: shown.length } : {}
  return { ...draft, meta: { ...draft.meta, narrative_chars: narrative.length, ...shownArtifacts } }
}

const stringOrUndefined = (value: unknown) => (typeof value === 'string' ? value : undefined)

/**
 * The lists after the text of the model: paths, sources, preferences. They are made from the blocks and not by the model, so that they are
 * complete even if the text of the model is not.
 */
function appendix(
  digest: CompactionDigest,
  notes: NoteSplit,
  sids: readonly number[],
  originals: readonly Block[],
  path: string,
  tokens: Estimator,
  limits: SummaryLimits,
): readonly string[] {
  const within = (lines: readonly string[], maxTokens = limits.list) =>
    lastWithin(lastLinesWithin(lines, LISTED_CHARS), maxTokens, (line) => tokens.text(line) + 1)
  const modified = new Set([...digest.written_files, ...digest.patched_files])
  const read = digest.read_files.filter((file) => !modified.has(file))
  const recoverable = within(recoverableResults(originals, tokens).toReversed()).toReversed()
  const preferences = preferenceDigest(notes.kept, within)
  const last = digest.turns.at(-1)
  const index = [
    ...(sids.length > 0 ? [`sources: ${shortSourcesPath(sids, SELECTOR_CHARS)}`] : []),
    ...(last ? [`last_covered_request: ${promptPath(last.turn_id)} | ${oneLine(last.request ?? '', 160)}`] : []),
    ...(last ? [`turn_index: ${turnIndexPath(last.turn_id)} (any covered turn has one)`] : []),
    `complete_index: ${path}${digest.older.length > 0 ? ', continued from' : ''}`,
    ...within(digest.older, limits.older).map((volume) => `- ${volume}`),
  ]
  return [
    ...pathList('read-files', read, path, within),
    ...pathList('modified-files', [...modified], path, within),
    ...(recoverable.length > 0 ? [`<recoverable-tool-results>\n${recoverable.join('\n')}\n</recoverable-tool-results>`] : []),
    index.join('\n'),
    ...(preferences === undefined ? [] : [preferences]),
  ]
}

/**
 * A list of the newest paths, sorted. Paths that do not fit are left out. `path` is the path at which the agent can read the complete list.
 */
function pathList(
  name: string,
  paths: readonly string[],
  path: string,
  within: (lines: readonly string[]) => readonly string[],
): readonly string[] {
  if (paths.length === 0) return []
  const shown = within([...new Set(paths)].slice(-MAX_LISTED)).toSorted()
  const more = new Set(paths).size - shown.length
  return [[`<${name}>`, ...shown, ...(more > 0 ? [`... ${more} more in ${path}`] : []), `</${name}>`].join('\n')]
}

function planHistoryBlock(
  digest: CompactionDigest,
  turnId: string,
  now: string,
  count: TokenCounter,
  maxTokens: number,
): Draft<'react.plan.history'> {
  return {
    type: 'react.plan.history',
    author: 'system',
    turn_id: turnId,
    ts: now,
    mime: 'text/markdown',
    path: `ar:${turnId}.react.plan.history`,
    text: planHistoryText(digest.plans, count, maxTokens),
    meta: { preserved_by_compaction: true },
  }
}

/**
 * A copy of the plan in progress, so that it stays visible. The result is empty when the blocks after the cut contain a newer block of this
 * plan.
 */
function activePlan({ blocks, retained }: CompactedRange, turnId: string): readonly Draft[] {
  const retainedIds = new Set(newestSnapshots(retained).map(({ plan }) => plan.plan_id))
  const active = newestSnapshots(blocks).findLast(({ plan }) => planOutcome(plan) === 'unfinished' && plan.current !== false)
  return active && !retainedIds.has(active.plan.plan_id) ? [preservedCopy(active.block, 'react.plan', turnId)] : []
}
