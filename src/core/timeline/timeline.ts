import { type Block, blockId, blockNumber, callIdOf, type Draft } from '../block/block.ts'
import { readDigest } from '../block/digest.ts'
import { canonicalPath } from '../path/logical.ts'
import { emptyPool, type SourcePool } from '../sources/pool.ts'
import type { InboxEvent, ResponseReceived } from './change.ts'

/**
 * The visible state of a conversation, as an immutable value: its blocks and the facts that a turn needs. Only `applyChange` makes a
 * new one.
 */
export interface Timeline {
  /** Shared with other values: read it only through the functions below. */
  readonly buffer: BlockBuffer
  readonly size: number
  /** The number of the next block's id. Numbers of compacted blocks are not reused. */
  readonly nextBlock: number
  readonly sources: SourcePool
  readonly title?: string
  readonly startedAt?: string
  readonly lastTs?: string
  /** A turn that was opened and not closed: it is running, or a crash interrupted it. */
  readonly openTurn?: OpenTurn
  /** The latest response to a decision, without its text: its time, its usage and its prompt record. */
  readonly lastResponse?: Omit<ResponseReceived, 'raw'>
  /** Events that were accepted and not yet folded into a turn, in order of acceptance. */
  readonly inbox: readonly InboxEvent[]
  readonly lastEvent?: { readonly event_id: string; readonly sequence: number }
  /** Ids of the latest events, folded or not: by them a second delivery is recognised. */
  readonly knownEvents?: readonly string[]
  readonly cache?: CacheTouch
  readonly feedbackSeen?: string
  readonly forkedFrom?: { readonly conversation_id: string; readonly turn_id: string }
}

/** The turn that has begun and not ended. */
export interface OpenTurn {
  readonly turn_id: string
  readonly ts: string
}

/** When the provider's cache was last used, and how long its entries then live. */
export interface CacheTouch {
  readonly touched_at: string
  readonly ttl_seconds: number | null
}

/** The timeline of a new conversation. */
export function emptyTimeline(): Timeline {
  return { buffer: createBuffer([]), size: 0, nextBlock: 1, sources: emptyPool, inbox: [] }
}

export function blockAt(timeline: Timeline, position: number): Block | undefined {
  return position < timeline.size ? timeline.buffer.blocks[position] : undefined
}

/** A copy of the visible blocks from position `from` on. */
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

/** The path group: all visible blocks with this path, oldest first. */
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

/** Followups that are not part of a turn yet, in order of acceptance. They start the next turn; other events wait for that turn. */
export const waitingFollowups = ({ inbox }: Timeline): readonly InboxEvent[] => inbox.filter(({ kind }) => kind === 'followup')

/** How many event ids are kept to recognise a second delivery. */
export const MAXIMUM_KNOWN_EVENTS = 256

export const isKnownEvent = ({ knownEvents = [] }: Timeline, eventId: string): boolean => knownEvents.includes(eventId)

/** Gives drafts their ids, in order. */
export function assignIds(timeline: Pick<Timeline, 'nextBlock'>, drafts: readonly Draft[]): readonly Block[] {
  return drafts.map((draft, index) => ({ ...draft, id: blockId(timeline.nextBlock + index) }))
}

/** One more than the highest number among these blocks, but at least `floor`. */
export function nextBlockNumber(blocks: readonly Block[], floor: number): number {
  let next = floor
  for (const { id } of blocks) next = Math.max(next, (blockNumber(id) ?? 0) + 1)
  return next
}

/**
 * The blocks of a timeline, shared between its successive values, so that appending costs only the new blocks:
 *
 *   buffer  [ b_1  b_2  b_3  b_4  b_5 ]      shared, only ever grows
 *   value A  └──── size 3 ──┘                still sees three blocks
 *   value B  └────────── size 5 ────┘        made by appending two to A
 *
 * Appending to the newest value pushes onto the shared buffer; appending to an older value copies the buffer first. Code that holds
 * a value reads only below its size, so that a value never changes.
 */
export interface BlockBuffer {
  readonly blocks: Block[]
  readonly index: BlockIndex
}

/** Positions of blocks by id, path, call, turn and artifact. Updated on lookup, so that appending stays cheap. */
export interface BlockIndex {
  /** How many blocks are indexed so far. */
  indexed: number
  readonly byId: Map<string, number>
  readonly byPath: Map<string, number[]>
  readonly byCall: Map<string, number[]>
  readonly byTurn: Map<string, number[]>
  /** Metadata blocks by the artifact they describe. */
  readonly byArtifact: Map<string, number[]>
}

/** A new buffer with a copy of these blocks. */
export function createBuffer(blocks: readonly Block[]): BlockBuffer {
  const index = { indexed: 0, byId: new Map(), byPath: new Map(), byCall: new Map(), byTurn: new Map(), byArtifact: new Map() }
  return { blocks: [...blocks], index }
}

/** Appends to the first `size` blocks: in place if the buffer ends there, else in a copy. */
export function extendBuffer(buffer: BlockBuffer, size: number, added: readonly Block[]): BlockBuffer {
  const extended = buffer.blocks.length === size ? buffer : createBuffer(buffer.blocks.slice(0, size))
  for (const block of added) extended.blocks.push(block)
  return extended
}

/** The up-to-date index of the whole buffer. It includes blocks of newer values: callers compare positions with the size of theirs. */
export function blockIndex({ blocks, index }: BlockBuffer): BlockIndex {
  for (; index.indexed < blocks.length; index.indexed++) indexBlock(index, blocks[index.indexed] as Block, index.indexed)
  return index
}

function indexBlock(index: BlockIndex, block: Block, position: number): void {
  const callId = callIdOf(block)
  index.byId.set(block.id, position)
  addPosition(index.byTurn, block.turn_id, position)
  if (block.path !== undefined) addPosition(index.byPath, block.path, position)
  if (callId !== undefined) addPosition(index.byCall, callId, position)
  const artifactPath = readDigest(block)?.artifact_path
  if (artifactPath !== undefined) addPosition(index.byArtifact, canonicalPath(artifactPath) ?? artifactPath, position)
}

function addPosition(positionsByKey: Map<string, number[]>, key: string, position: number): void {
  const positions = positionsByKey.get(key)
  if (positions) positions.push(position)
  else positionsByKey.set(key, [position])
}
