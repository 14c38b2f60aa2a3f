import { type Block, isHidden } from '../block/block.ts'
import { type ContextSizes, type Estimator, isImageOrPdf, timelineRoom } from '../estimate/estimate.ts'
import { cutToTokens } from '../estimate/tokens.ts'
import type { Slice } from '../render/types.ts'
import { blocksOf, type Timeline } from '../timeline/timeline.ts'
import { turnIdsOf } from '../timeline/turns.ts'
import { foldedByCheckpoint } from './checkpoint.ts'
import { type Cut, cutAfterAll, cutBeforeRecent, findCut, historyStart, turnStarts } from './cut.ts'
import { type Attempt, attempts } from './overflow.ts'
import { type CompactedRange, narrativeOf, summaryTokens } from './summary.ts'
import {
  historyPrompt,
  outputCap,
  prefixPrompt,
  SUMMARY_TEMPERATURE,
  type SummaryRequest,
  serializeBlocks,
  summarySystem,
} from './summary-request.ts'

export interface CompactionOptions extends ContextSizes {
  readonly currentTurnId: string
  /** The estimated tokens of the prompt without the system text: the visible blocks and the tail. */
  readonly renderedTokens: number
  /** The greatest number of tokens that may be sent to the model that writes summaries. */
  readonly summaryLimit: number
  readonly keepRecentTurns: number
  /**
   * True when the provider rejected the prompt as too long. In this case a compaction is planned even if the estimated size is within the
   * limit.
   */
  readonly force?: true
  readonly attempt?: Attempt
  readonly tokens: Estimator
  /**
   * Renders the visible blocks of a timeline. Callers should pass the `slice` function of a renderer, because it renders only blocks that
   * have changed.
   */
  readonly slice: (timeline: Timeline) => Slice
}

export type CompactionKind = 'history' | 'history_with_split_turn' | 'current_turn_prefix' | 'binaries'

/**
 * Describes which blocks a compaction replaces. The caller sends each `request` in the plan to the model that writes summaries. Then it
 * passes the answers to `finishCompaction`.
 */
export interface CompactionPlan {
  readonly id: string
  readonly kind: CompactionKind
  readonly force: boolean
  readonly attempt: Attempt
  readonly currentTurnId: string
  readonly limit: number
  /** The greatest number of tokens that the timeline may have. */
  readonly room: number
  /** The number of tokens of the visible blocks, without the tail. */
  readonly beforeTokens: number
  readonly cutIndex: number
  readonly history?: { readonly range: CompactedRange; readonly afterId: string; readonly request: SummaryRequest }
  readonly prefix?: { readonly ids: readonly string[]; readonly request: SummaryRequest }
  /**
   * The ids of images and documents to hide. The list is empty, except in the last attempt after the provider has rejected the prompt as
   * too long.
   */
  readonly binaries: readonly string[]
}

/**
 * Plans a compaction without changing the timeline. Undefined when the prompt is within the limit, or when nothing can be compacted.
 *
 * A plan replaces whole earlier turns by a summary, the beginning of the current turn by a checkpoint, or both. If necessary, the
 * checkpoint replaces all rounds of the current turn. In the last attempt after the provider rejected the prompt, the plan also hides
 * images and documents.
 */
export function planCompaction(timeline: Timeline, options: CompactionOptions): CompactionPlan | undefined {
  const { systemTokens, renderedTokens, calibration, limit, tokens, currentTurnId } = options
  const force = options.force === true
  if (!force && (systemTokens + renderedTokens) * calibration <= limit) return undefined

  const blocks = blocksOf(timeline)
  const tokensAt = measure(blocks, options.slice(timeline), tokens)
  const beforeTokens = sum(blocks, tokensAt)
  const room = timelineRoom(options)
  const planAt = (
    cut: Cut | undefined,
  ): { readonly cut?: Cut; readonly history?: CompactionPlan['history']; readonly prefix?: CompactionPlan['prefix'] } =>
    cut ? { cut, history: planHistory(timeline, blocks, cut, options), prefix: planPrefix(blocks, cut, options) } : {}
  const attempt = options.attempt ?? 1
  const last = attempt === attempts.length
  const chosen = chooseCut(blocks, tokensAt, beforeTokens, options)
  const kept = sum(blocks.slice(chosen?.cut ?? historyStart(blocks)), (position) =>
    tokensAt((chosen?.cut ?? historyStart(blocks)) + position),
  )
  const whole = !force && (last || kept > room) && !blocks.some((block) => isTooLarge(block, room, options))
  const usual = planAt((whole ? cutAfterAll(blocks, currentTurnId) : undefined) ?? chosen)
  const binaries = force && last ? binariesOf(blocks, usual.cut, currentTurnId) : []
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
    room,
    beforeTokens,
    cutIndex: cut?.cut ?? 0,
    ...(history && { history }),
    ...(prefix && { prefix }),
    binaries,
  }
}

/**
 * True for an image or document of the current turn that has more tokens than the whole timeline may have. If there is such a file, a
 * compaction that is planned before the model call does not replace the last rounds of the current turn. A checkpoint of all rounds would
 * hide the file, and the agent could not use it for its answer.
 */
const isTooLarge = (block: Block, room: number, { currentTurnId, tokens }: CompactionOptions) =>
  block.turn_id === currentTurnId && isImageOrPdf(block) && !isHidden(block) && tokens.content(block) > room

/**
 * `keep` says which share of the available tokens the blocks after the cut may have, in the first, second and third attempt. `recent` is
 * the greatest share that the newest turns (`keepRecentTurns`) may have. If they have more, the cut may be inside them. If few tokens are
 * available, the shares are smaller. Otherwise every following turn would need another compaction.
 */
const shares = {
  large: { keep: [0.7, 0.35, 0.17], recent: 0.85 },
  small: { keep: [0.4, 0.2, 0.1], recent: 0.4 },
} as const
const LARGE_BUDGET = 16_000

/** The number of tokens that the first summary of a conversation is expected to have. */
const EXPECTED_SUMMARY = 6_000

function chooseCut(
  blocks: readonly Block[],
  tokensAt: (position: number) => number,
  shownTokens: number,
  options: CompactionOptions,
): Cut | undefined {
  const { keepRecentTurns, currentTurnId } = options
  const force = options.force === true
  const room = timelineRoom(options)
  // The provider rejected the prompt, so its size is too large even if it is below the estimated limit.
  const space = force ? Math.min(room, shownTokens) : room
  // The new summary and the blocks preserved with it will probably have as many tokens as the current summary with its preserved blocks.
  const present = sum(blocks.slice(0, historyStart(blocks)), tokensAt)
  const summary = Math.max(present, Math.min(EXPECTED_SUMMARY, summaryTokens(space)))
  const budget = Math.max(1, space - summary)
  const { keep, recent } = force || budget >= LARGE_BUDGET ? shares.large : shares.small
  const share = Math.floor((keep[(options.attempt ?? 1) - 1] as number) * budget)
  const recentTurns = force || (options.attempt ?? 1) > 1 ? 0 : recentTokens(blocks, tokensAt, keepRecentTurns)
  const kept = recentTurns <= recent * budget ? Math.max(share, recentTurns) : share
  return (
    findCut(blocks, tokensAt, { keep: kept, currentTurnId }) ??
    (force ? cutBeforeRecent(blocks, keepRecentTurns, currentTurnId) : undefined)
  )
}

function recentTokens(blocks: readonly Block[], tokensAt: (position: number) => number, turns: number): number {
  if (turns <= 0) return 0
  const starts = turnStarts(blocks, historyStart(blocks))
  const start = starts[Math.max(0, starts.length - turns)] ?? blocks.length
  return sum(blocks.slice(start), (position) => tokensAt(start + position))
}

/**
 * Makes a function that returns the number of tokens that the block at a position has in the prompt. It is 0 for blocks that are not in the
 * prompt.
 */
function measure(blocks: readonly Block[], slice: Slice, tokens: Estimator): (position: number) => number {
  const cost = new Map(slice.shown.map(({ block, parts }) => [block.id, tokens.parts(parts)]))
  return (position) => cost.get(blocks[position]?.id ?? '') ?? 0
}

const sum = (blocks: readonly Block[], tokensAt: (position: number) => number) =>
  blocks.reduce((total, _, position) => total + tokensAt(position), 0)

/**
 * The greatest number of tokens that the text of the conversation may have in a request for a summary. It is 45 % of the limit of the
 * request, but at least 3,000. It is lower if the instructions and the previous summary (`otherTokens`) leave less room in the request.
 */
function conversationTokens({ summaryLimit, calibration }: CompactionOptions, otherTokens: number): number {
  const limit = Math.floor(summaryLimit / calibration)
  return Math.max(0, Math.min(Math.max(3_000, Math.floor(0.45 * limit)), limit - otherTokens))
}

/**
 * The output limit for a summary. It stays below the share of the timeline that a summary may have, because a longer summary would be cut.
 */
const maxOutput = (inputTokens: number, room: number) =>
  Math.min(outputCap(inputTokens), Math.max(200, Math.floor(0.8 * summaryTokens(room))))

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
  const { tokens } = options
  const room = timelineRoom(options)
  const summary = previous && cutToTokens(narrativeOf(previous), summaryTokens(room), tokens.text)
  const fixed = tokens.text(summarySystem) + tokens.text(historyPrompt({ conversation: '', ...(summary && { previous: summary }) }))
  const conversation = serializeBlocks(compacted, tokens, conversationTokens(options, fixed))
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
      maxOutputTokens: maxOutput(tokens.text(conversation) + tokens.text(summary ?? ''), room),
      temperature: SUMMARY_TEMPERATURE,
    },
  }
}

const isMeaningful = ({ text, blob, base64, meta }: Block) =>
  Boolean(text?.trim()) || blob !== undefined || base64 !== undefined || Object.keys(meta ?? {}).length > 0

function planPrefix(blocks: readonly Block[], { prefixStart, cut }: Cut, options: CompactionOptions): CompactionPlan['prefix'] {
  const prefix = prefixStart === undefined ? [] : blocks.slice(prefixStart, cut)
  const { tokens } = options
  const room = timelineRoom(options)
  if (foldedByCheckpoint(prefix, tokens, room).length === 0) return undefined
  const fixed = tokens.text(summarySystem) + tokens.text(prefixPrompt(''))
  const conversation = serializeBlocks(prefix, tokens, conversationTokens(options, fixed))
  return {
    ids: prefix.map(({ id }) => id),
    request: {
      purpose: 'turn_prefix',
      system: summarySystem,
      user: prefixPrompt(conversation),
      maxOutputTokens: maxOutput(tokens.text(conversation), room),
      temperature: SUMMARY_TEMPERATURE,
    },
  }
}

/**
 * The ids of all visible images and documents that the summary does not replace. Files that the user sent in the current turn are left out.
 */
function binariesOf(blocks: readonly Block[], cut: Cut | undefined, currentTurnId: string): readonly string[] {
  const isInput = (block: Block) => block.turn_id === currentTurnId && block.type.startsWith('user.')
  return blocks
    .slice(cut?.historyEnd ?? 0)
    .filter((block) => isImageOrPdf(block) && !isHidden(block) && !isInput(block))
    .map(({ id }) => id)
}
