import { type Block, type BlockType, blockId, blockNumber, callIdOf, type Draft } from '../block/block.ts'
import { emptyPool, type SourcePool } from '../sources/pool.ts'
import { type BlockBuffer, type BlockKind, blockIndex, blocksIn, createBuffer, outlineOf } from './block-buffer.ts'
import type { FrozenTexts, ResponseReceived, StoredTurnOptions, Wait } from './change.ts'
import type { InboxEvent } from './inbox-event.ts'

/**
 * The current state of a conversation: the visible blocks, and facts such as the title and the open turn. A timeline is never modified.
 * `applyChange` returns a new one.
 */
export interface Timeline {
  /**
   * Several timelines share this list, so it may contain blocks that do not belong to this timeline. Read it only with the functions of
   * this file.
   */
  readonly buffer: BlockBuffer
  readonly size: number
  /** The number for the id of the next block. The numbers of compacted blocks are not used again. */
  readonly nextBlock: number
  readonly sources: SourcePool
  readonly title: string | undefined
  readonly startedAt: string | undefined
  readonly lastTs: string | undefined
  /** The turn that was opened and not closed yet. It is running, it waits, or a crash interrupted it. */
  readonly openTurn: OpenTurn | undefined
  /** The parts of the system text that stay the same during a whole turn, as the last turn uses them. */
  readonly frozen: FrozenTexts | undefined
  /** The newest response that contains a decision. It has the time, the usage and the record of the prompt, but not the text. */
  readonly lastResponse: Omit<ResponseReceived, 'raw'> | undefined
  /** Events that the conversation has accepted and no turn has read yet, in the order of acceptance. */
  readonly inbox: readonly InboxEvent[]
  readonly lastEvent: { readonly event_id: string; readonly sequence: number } | undefined
  /** The ids of the newest events, also of events that a turn has read. They are used to recognise an event that is delivered twice. */
  readonly knownEvents: readonly string[] | undefined
  readonly cache: CacheTouch | undefined
  readonly feedbackSeen: string | undefined
  readonly forkedFrom: { readonly conversation_id: string; readonly turn_id: string } | undefined
}

/** The turn that was opened and not closed yet. */
export interface OpenTurn {
  readonly turn_id: string
  readonly ts: string
  readonly options?: StoredTurnOptions
  /** What the turn waits for. Undefined when it waits for nothing. */
  readonly waits?: readonly Wait[]
  /** The time since which the turn only waits. Undefined while the turn is running. */
  readonly waiting_since?: string
  /** The total duration of earlier waits of the turn, in milliseconds. The time limit of the turn does not include this time. */
  readonly waited_ms?: number
}

/** When the provider's cache was last used, and for how many seconds it stays valid after that. */
export interface CacheTouch {
  readonly touched_at: string
  readonly ttl_seconds: number | null
}

/** The timeline of a new conversation. */
export function emptyTimeline(): Timeline {
  return {
    buffer: createBuffer([]),
    size: 0,
    nextBlock: 1,
    sources: emptyPool,
    title: undefined,
    startedAt: undefined,
    lastTs: undefined,
    openTurn: undefined,
    frozen: undefined,
    lastResponse: undefined,
    inbox: [],
    lastEvent: undefined,
    knownEvents: undefined,
    cache: undefined,
    feedbackSeen: undefined,
    forkedFrom: undefined,
  }
}

export function blockAt(timeline: Timeline, position: number): Block | undefined {
  return position >= 0 && position < timeline.size ? blocksIn(timeline.buffer)[position] : undefined
}

/** The visible blocks from position `from` on, as a new list. */
export function blocksOf(timeline: Timeline, from = 0): readonly Block[] {
  return blocksIn(timeline.buffer).slice(from, timeline.size)
}

export function positionOf(timeline: Timeline, id: string): number | undefined {
  const position = blockIndex(timeline.buffer).byId.get(id)
  return position !== undefined && position < timeline.size ? position : undefined
}

export function blockById(timeline: Timeline, id: string): Block | undefined {
  const position = positionOf(timeline, id)
  return position === undefined ? undefined : blockAt(timeline, position)
}

/** All visible blocks with this path, oldest first. */
export const blocksAtPath = (timeline: Timeline, path: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byPath.get(path))
export const blocksOfCall = (timeline: Timeline, callId: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byCall.get(callId))

/** All visible blocks of this turn, oldest first. */
export function blocksOfTurn({ buffer, size }: Timeline, turnId: string): readonly Block[] {
  const ranges = outlineOf(buffer).byTurn.get(turnId) ?? []
  const blocks = blocksIn(buffer)
  return ranges.flatMap(({ from, end }) => blocks.slice(from, Math.min(end, size))) // a slice is empty if `from` is not below `size`
}

/** All visible blocks of this kind, oldest first. */
export const blocksOfKind = ({ buffer, size }: Timeline, kind: BlockKind): readonly Block[] =>
  blocksAt({ buffer, size }, outlineOf(buffer).byKind[kind])

/** Whether there is a visible block of this kind at position `from` or later. */
export const hasKind = ({ buffer, size }: Timeline, kind: BlockKind, from = 0): boolean =>
  (outlineOf(buffer).byKind[kind].findLast((position) => position < size) ?? -1) >= from

/** The position of the first visible block of this turn. If there is none, it is the number of visible blocks. */
export const startOfTurn = ({ buffer, size }: Timeline, turnId: string): number =>
  Math.min(size, outlineOf(buffer).byTurn.get(turnId)?.[0]?.from ?? size)

/** The visible blocks of this kind from position `from` on, newest first. */
export function* newestOfKind(timeline: Timeline, kind: BlockKind, from = 0): Iterable<Block> {
  const positions = outlineOf(timeline.buffer).byKind[kind]
  for (let at = positions.length - 1; at >= 0 && (positions[at] as number) >= from; at--) {
    const block = blockAt(timeline, positions[at] as number)
    if (block) yield block
  }
}

/** The digest blocks of the artifact at this path, oldest first. */
export const digestBlocksOf = (timeline: Timeline, path: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byArtifact.get(path))

export const hasPath = (timeline: Timeline, path: string): boolean => {
  const first = blockIndex(timeline.buffer).byPath.get(path)?.[0]
  return first !== undefined && first < timeline.size
}

function blocksAt(timeline: Pick<Timeline, 'buffer' | 'size'>, positions: readonly number[] | undefined): readonly Block[] {
  if (!positions) return []
  const all = blocksIn(timeline.buffer)
  const blocks: Block[] = []
  for (const position of positions) {
    if (position >= timeline.size) break // positions ascend, so the following ones belong to newer timelines
    blocks.push(all[position] as Block)
  }
  return blocks
}

/** Followups that no turn has read yet, in the order of acceptance. They start the next turn. Other events in the inbox start no turn. */
export const waitingFollowups = ({ inbox }: Timeline): readonly InboxEvent[] => inbox.filter(({ kind }) => kind === 'followup')

/** How many event ids are kept. An event that is delivered again after more than 256 others is not recognised. */
export const MAXIMUM_KNOWN_EVENTS = 256

export const isKnownEvent = ({ knownEvents = [] }: Timeline, eventId: string): boolean => knownEvents.includes(eventId)

/**
 * Gives ids to drafts, in order, and returns them as blocks. The drafts are modified and not copied, because a copy would take 0.8 µs in
 * every round.
 */
export function assignIds(timeline: Pick<Timeline, 'nextBlock'>, drafts: readonly Draft[]): readonly Block[] {
  let next = timeline.nextBlock
  for (const draft of drafts as readonly { id?: string }[]) draft.id = blockId(next++)
  // Each draft is a block now, because it has an id. The list is copied to save memory: an array that has grown has unused capacity, and a
  // copy of it has none.
  return drafts.slice() as readonly unknown[] as readonly Block[]
}

/** The highest block number plus 1, but at least `floor`. */
export function nextBlockNumber(blocks: readonly Block[], floor: number): number {
  let next = floor
  for (const { id } of blocks) next = Math.max(next, (blockNumber(id) ?? 0) + 1)
  return next
}

/** The blocks of one round. `start` and `end` are the positions of its first and its last block. */
export interface Round {
  readonly key: string
  readonly turnId: string
  readonly start: number
  readonly end: number
}

/** Blocks of these types end a turn. The three types that are not a `BlockType` occur only in imported timelines. */
const closingTypes: ReadonlySet<BlockType | 'react.turn.finalize' | 'react.exit' | 'react.state'> = new Set([
  'assistant.completion',
  'react.completion',
  'react.turn.finalize',
  'react.exit',
  'react.state',
  'stage.suggested_followups',
])

/**
 * A key that is the same for all blocks of a round:
 *
 *   turn#iteration   most blocks
 *   turn@call        imported tool blocks, which have no iteration
 *   turn#end         blocks without an iteration that end a turn
 *
 * Undefined for blocks that no decision of the model made: headers, user input, summaries.
 */
export function roundKey(block: Block): string | undefined {
  const iteration = block.meta?.iteration
  if (typeof iteration === 'number') return `${block.turn_id}#${iteration}`
  const call = callIdOf(block)
  if (call !== undefined) return `${block.turn_id}@${call}`
  return closingTypes.has(block.type) ? `${block.turn_id}#end` : undefined
}

/** Returns a function that gives the number of a block's round, counted from 0. Call this function with all blocks in order. */
export function createRoundNumbers(): (block: Block) => number | undefined {
  const numbers = new Map<string, number>()
  let [lastTurn, lastIteration, lastNumber] = ['', -1, -1]
  return (block) => {
    const iteration = block.meta?.iteration
    if (iteration === lastIteration && block.turn_id === lastTurn) return lastNumber // most blocks are in the round of the block before
    const key = roundKey(block)
    if (key === undefined) return undefined
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    if (typeof iteration === 'number') [lastTurn, lastIteration, lastNumber] = [block.turn_id, iteration, number]
    return number
  }
}

/** The rounds of these blocks, in the order of their first blocks. */
export function roundsOf(blocks: readonly Block[]): readonly Round[] {
  const rounds = new Map<string, { turnId: string; start: number; end: number }>()
  blocks.forEach((block, position) => {
    const key = roundKey(block)
    if (key === undefined) return
    const round = rounds.get(key)
    if (round) round.end = position
    else rounds.set(key, { turnId: block.turn_id, start: position, end: position })
  })
  return [...rounds].map(([key, round]) => ({ key, ...round }))
}
