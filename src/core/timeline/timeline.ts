import { type Block, blockNumber } from '../block/block.ts'
import { emptyPool, type SourcePool } from '../sources/pool.ts'
import type { InboxEvent, ResponseReceived } from './change.ts'
import { type BlockBuffer, blockIndex, emptyBuffer } from './spine.ts'

/** The value: everything visible, and what a turn needs to know besides. Changed only by `applyChange`. */
export interface Timeline {
  /** Shared with other values: look only through the functions below. */
  readonly buffer: BlockBuffer
  readonly size: number
  /** The number the next block gets. Numbers of compacted blocks are never given again. */
  readonly nextBlock: number
  readonly sources: SourcePool
  readonly title?: string
  readonly startedAt?: string
  readonly lastTs?: string
  /** A turn without its close: running, or left behind by a crash. */
  readonly openTurn?: OpenTurn
  /** The latest model response, without its text: when it came, what it cost, what was cached. */
  readonly lastResponse?: Omit<ResponseReceived, 'raw'>
  /** Events that were accepted and not yet folded into a turn, in order of acceptance. */
  readonly inbox: readonly InboxEvent[]
  readonly lastEvent?: { readonly event_id: string; readonly sequence: number }
  /** Ids of the latest events, folded or not: a second delivery is known by them. */
  readonly knownEvents?: readonly string[]
  readonly cache?: CacheTouch
  readonly feedbackSeen?: string
  readonly forkedFrom?: { readonly conversation_id: string; readonly turn_id: string }
}

export interface OpenTurn {
  readonly turn_id: string
  readonly ts: string
}

/** When the provider's cache was last used, and for how long it then promised to keep. */
export interface CacheTouch {
  readonly touched_at: string
  readonly ttl_seconds: number | null
}

export function emptyTimeline(): Timeline {
  return { buffer: emptyBuffer(), size: 0, nextBlock: 1, sources: emptyPool, inbox: [] }
}

export function blockAt(timeline: Timeline, position: number): Block | undefined {
  return position < timeline.size ? timeline.buffer.blocks[position] : undefined
}

/** A copy from `from` on; ask for what you need. */
export function blocksOf(timeline: Timeline, from = 0): readonly Block[] {
  return timeline.buffer.blocks.slice(from, timeline.size)
}

export function positionOf(timeline: Timeline, id: string): number | undefined {
  const position = blockIndex(timeline.buffer).byId.get(id)
  return position !== undefined && position < timeline.size ? position : undefined
}

export function blockById(timeline: Timeline, id: string): Block | undefined {
  const position = positionOf(timeline, id)
  return position === undefined ? undefined : timeline.buffer.blocks[position]
}

/** The path group, oldest first. */
export const blocksAtPath = (timeline: Timeline, path: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byPath.get(path))
export const blocksOfCall = (timeline: Timeline, callId: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byCall.get(callId))
export const blocksOfTurn = (timeline: Timeline, turnId: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byTurn.get(turnId))

/** Metadata blocks that describe the artifact, oldest first. */
export const digestBlocksOf = (timeline: Timeline, path: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byArtifact.get(path))

export const hasPath = (timeline: Timeline, path: string): boolean => {
  const first = blockIndex(timeline.buffer).byPath.get(path)?.[0]
  return first !== undefined && first < timeline.size
}

function blocksAt(timeline: Timeline, positions: readonly number[] | undefined): readonly Block[] {
  if (!positions) return []
  const blocks: Block[] = []
  for (const position of positions) {
    if (position >= timeline.size) break // positions ascend; the rest belongs to newer values
    blocks.push(timeline.buffer.blocks[position] as Block)
  }
  return blocks
}

/** What users said that no turn has taken in, in order of acceptance: it becomes the next turn. Whatever else waits, waits for that turn. */
export const waitingFollowups = ({ inbox }: Timeline): readonly InboxEvent[] => inbox.filter(({ kind }) => kind === 'followup')

/** How many events back a second delivery is still known as one. */
export const MAXIMUM_KNOWN_EVENTS = 256

export const isKnownEvent = ({ knownEvents = [] }: Timeline, eventId: string): boolean => knownEvents.includes(eventId)

/** One past the highest number among these blocks, or `floor` if that is higher. */
export function nextBlockNumber(blocks: readonly Block[], floor: number): number {
  let next = floor
  for (const { id } of blocks) next = Math.max(next, (blockNumber(id) ?? 0) + 1)
  return next
}
