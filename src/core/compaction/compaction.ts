import { type Block, isHidden } from '../block/block.ts'
import { type Estimator, isImageOrPdf } from '../estimate/estimate.ts'
import { roughTokens } from '../estimate/tokens.ts'
import type { Slice } from '../render/types.ts'
import { blocksOf, type Timeline, turnIdsOf } from '../timeline/timeline.ts'
import { foldedByCheckpoint } from './checkpoint.ts'
import { type Cut, cutAfterAll, cutBeforeRecent, findCut, historyStart, turnStarts } from './cut.ts'
import { type Attempt, keepShares } from './overflow.ts'
import { type CompactedRange, narrativeOf } from './summary.ts'
import {
  historyPrompt,
  outputCap,
  prefixPrompt,
  SUMMARY_TEMPERATURE,
  type SummaryRequest,
  serializeBlocks,
  summarySystem,
} from './summary-request.ts'

export interface CompactionOptions {
  readonly currentTurnId: string
  /** The most tokens that may be sent to the model. */
  readonly limit: number
  readonly systemTokens: number
  /** Tokens of the whole message as it would be sent, including the tails. */
  readonly renderedTokens: number
  /** The ratio of billed to estimated tokens of the previous call. The estimates are multiplied by it. */
  readonly calibration: number
  readonly keepRecentTurns: number
  /** Set when the provider refused the prompt as too long. Then the estimate is not asked. */
  readonly force?: true
  readonly attempt?: Attempt
  readonly tokens: Estimator
  /** Renders the visible blocks of a timeline. Pass the `slice` of a renderer, which does not render unchanged blocks again. */
  readonly slice: (timeline: Timeline) => Slice
}

export type CompactionKind = 'history' | 'history_with_split_turn' | 'current_turn_prefix' | 'binaries'

/** Which blocks a compaction replaces. The requests to the summarising model have to be answered before `finishCompaction`. */
export interface CompactionPlan {
  readonly id: string
  readonly kind: CompactionKind
  readonly force: boolean
  readonly attempt: Attempt
  readonly currentTurnId: string
  readonly limit: number
  /** Tokens of the visible blocks, without the tails. */
  readonly beforeTokens: number
  readonly cutIndex: number
  readonly history?: { readonly range: CompactedRange; readonly afterId: string; readonly request: SummaryRequest }
  readonly prefix?: { readonly ids: readonly string[]; readonly request: SummaryRequest }
  /** The ids of images and documents to hide. Only the last attempt after an overflow hides them. */
  readonly binaries: readonly string[]
}

/**
 * Plans a compaction; nothing is changed. Undefined when everything fits, or when nothing can be compacted.
 *
 * A plan replaces whole earlier turns by a summary, the beginning of the current turn by a checkpoint, or both. On the last attempt
 * after an overflow it also hides images and documents.
 */
export function planCompaction(timeline: Timeline, options: CompactionOptions): CompactionPlan | undefined {
  const { systemTokens, renderedTokens, calibration, limit, tokens, currentTurnId } = options
  const force = options.force === true
  if (!force && (systemTokens + renderedTokens) * calibration <= limit) return undefined

  const blocks = blocksOf(timeline)
  const tokensAt = measure(blocks, options.slice(timeline), tokens)
  const beforeTokens = sum(blocks, tokensAt)
  const planAt = (cut: Cut | undefined) =>
    cut ? { cut, history: planHistory(timeline, blocks, cut, options), prefix: planPrefix(blocks, cut, options) } : {}
  const usual: ReturnType<typeof planAt> = planAt(chooseCut(blocks, tokensAt, beforeTokens, options))
  const attempt = options.attempt ?? 1
  const binaries = force && attempt === keepShares.length ? binariesOf(blocks, usual.cut, currentTurnId) : []
  const stuck = force && !usual.history && !usual.prefix && binaries.length === 0
  const { cut, history, prefix } = stuck ? planAt(cutAfterAll(blocks, currentTurnId)) : usual
  if (!history && !prefix && binaries.length === 0) return undefined
  return {
    id: `compaction_${currentTurnId}_${timeline.nextBlock}_${attempt}`,
    kind: history ? (prefix ? 'history_with_split_turn' : 'history') : prefix ? 'current_turn_prefix' : 'binaries',
    force,
    attempt,
    currentTurnId,
    limit,
    beforeTokens,
    cutIndex: cut?.cut ?? 0,
    ...(history && { history }),
    ...(prefix && { prefix }),
    binaries,
  }
}

/** Recent turns stay whole only if they take at most this share of the budget. Otherwise the next round would compact again. */
const MAX_RECENT_SHARE = 0.85

function chooseCut(
  blocks: readonly Block[],
  tokensAt: (position: number) => number,
  shownTokens: number,
  options: CompactionOptions,
): Cut | undefined {
  const { limit, systemTokens, renderedTokens, calibration, keepRecentTurns, currentTurnId } = options
  const tails = Math.max(0, renderedTokens - shownTokens)
  const preserved = sum(blocks.slice(0, historyStart(blocks)), tokensAt) // the new summary will be about as large as the old one
  const force = options.force === true
  const room = Math.floor(limit / calibration) - systemTokens - tails
  const budget = Math.max(1, (force ? Math.min(room, shownTokens) : room) - preserved) // a refused prompt shows how much is too much
  const share = Math.floor((keepShares[(options.attempt ?? 1) - 1] as number) * budget)
  const recent = force ? 0 : recentTokens(blocks, tokensAt, keepRecentTurns)
  const keep = recent <= MAX_RECENT_SHARE * budget ? Math.max(share, recent) : share
  return findCut(blocks, tokensAt, { keep, currentTurnId }) ?? (force ? cutBeforeRecent(blocks, keepRecentTurns, currentTurnId) : undefined)
}

function recentTokens(blocks: readonly Block[], tokensAt: (position: number) => number, turns: number): number {
  if (turns <= 0) return 0
  const starts = turnStarts(blocks, historyStart(blocks))
  const start = starts[Math.max(0, starts.length - turns)] ?? blocks.length
  return sum(blocks.slice(start), (position) => tokensAt(start + position))
}

/** Makes a function that returns the tokens of the block at a position, as it is shown. It is 0 for blocks that are not shown. */
function measure(blocks: readonly Block[], slice: Slice, tokens: Estimator): (position: number) => number {
  const cost = new Map(slice.shown.map(({ block, parts }) => [block.id, tokens.parts(parts)]))
  return (position) => cost.get(blocks[position]?.id ?? '') ?? 0
}

const sum = (blocks: readonly Block[], tokensAt: (position: number) => number) =>
  blocks.reduce((total, _, position) => total + tokensAt(position), 0)

/** The most characters of conversation in a summarising request: 60 % of the token limit, at three characters per token. */
const serializedChars = (limit: number) => Math.max(12_000, Math.floor(0.6 * 3 * limit))

function planHistory(
  timeline: Timeline,
  blocks: readonly Block[],
  { historyEnd }: Cut,
  options: CompactionOptions,
): CompactionPlan['history'] {
  const start = historyStart(blocks)
  const last = blocks[historyEnd - 1]
  const originals = blocks.slice(start, historyEnd)
  if (!last || !originals.some(isMeaningful)) return undefined
  const previous = blocks.find(({ type }) => type === 'conv.range.summary')
  const compacted = blocks.slice(0, historyEnd).filter((block) => block !== previous)
  const conversation = serializeBlocks(compacted, options.tokens, serializedChars(options.limit))
  const summary = previous && narrativeOf(previous)
  return {
    afterId: last.id,
    range: {
      previous,
      blocks: compacted,
      retained: blocks.slice(historyEnd),
      turnIds: turnIdsOf(originals),
      sids: timeline.sources.rows.map(({ sid }) => sid),
    },
    request: {
      purpose: 'history',
      system: summarySystem,
      user: historyPrompt({ conversation, ...(summary && { previous: summary }) }),
      maxOutputTokens: outputCap(roughTokens(conversation) + roughTokens(summary ?? '')),
      temperature: SUMMARY_TEMPERATURE,
    },
  }
}

const isMeaningful = ({ text, blob, base64, meta }: Block) =>
  Boolean(text?.trim()) || blob !== undefined || base64 !== undefined || Object.keys(meta ?? {}).length > 0

function planPrefix(blocks: readonly Block[], { prefixStart, cut }: Cut, options: CompactionOptions): CompactionPlan['prefix'] {
  const prefix = prefixStart === undefined ? [] : blocks.slice(prefixStart, cut)
  if (foldedByCheckpoint(prefix, options.tokens).length === 0) return undefined
  const conversation = serializeBlocks(prefix, options.tokens, serializedChars(options.limit))
  return {
    ids: prefix.map(({ id }) => id),
    request: {
      purpose: 'turn_prefix',
      system: summarySystem,
      user: prefixPrompt(conversation),
      maxOutputTokens: outputCap(roughTokens(conversation)),
      temperature: SUMMARY_TEMPERATURE,
    },
  }
}

/** The ids of all visible images and documents after the summarised history, except those that the user sent in the current turn. */
function binariesOf(blocks: readonly Block[], cut: Cut | undefined, currentTurnId: string): readonly string[] {
  const isInput = (block: Block) => block.turn_id === currentTurnId && block.type.startsWith('user.')
  return blocks
    .slice(cut?.historyEnd ?? 0)
    .filter((block) => isImageOrPdf(block) && !isHidden(block) && !isInput(block))
    .map(({ id }) => id)
}
