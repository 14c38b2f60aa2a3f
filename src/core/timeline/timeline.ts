import { type Block, blockId, blockNumber, callIdOf, type Draft } from '../block/block.ts'
import { readDigest } from '../block/digest.ts'
import { completeBlock, type IncompleteBlock } from '../block/parse.ts'
import { canonicalPath } from '../path/logical.ts'
import { emptyPool, type SourcePool } from '../sources/pool.ts'
import type { InboxEvent, ResponseReceived } from './change.ts'

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

/**
 * What makes a timeline a value that costs only what is new.
 *
 *   spine   [ b_1  b_2  b_3  b_4  b_5 ]      shared, only ever grows
 *   value A  └──── size 3 ──┘                still sees three blocks
 *   value B  └────────── size 5 ────┘        made by appending two to A
 *
 * Appending to the newest value pushes onto the shared spine; appending to an older one copies first. Whoever holds a value
 * looks only below its size, so no value ever changes.
 */
export interface BlockBuffer {
  readonly blocks: Block[]
  readonly index: BlockIndex
}

/** Where blocks are, by what they say of themselves. Filled in when someone looks, so that entering a block stays cheap. */
export interface BlockIndex {
  /** How many blocks it knows. */
  indexed: number
  readonly byId: Map<string, number>
  readonly byPath: Map<string, number[]>
  readonly byCall: Map<string, number[]>
  readonly byTurn: Map<string, number[]>
  /** Metadata blocks by the artifact they describe. */
  readonly byArtifact: Map<string, number[]>
}

export const emptyBuffer = (): BlockBuffer => createBuffer([])

export function createBuffer(blocks: readonly Block[]): BlockBuffer {
  const index = { indexed: 0, byId: new Map(), byPath: new Map(), byCall: new Map(), byTurn: new Map(), byArtifact: new Map() }
  return { blocks: [...blocks], index }
}

/** The spine for `size` blocks plus new ones, each as `form` gives it: the same spine when nobody has grown it since, a copy otherwise. */
export function extendBuffer(spine: BlockBuffer, size: number, blocks: readonly Block[], form: (block: Block) => Block): BlockBuffer {
  const own = spine.blocks.length === size ? spine : createBuffer(spine.blocks.slice(0, size))
  for (const block of blocks) own.blocks.push(form(block))
  return own
}

/** The index of everything on the spine, whoever's value it belongs to. */
export function blockIndex({ blocks, index }: BlockBuffer): BlockIndex {
  for (; index.indexed < blocks.length; index.indexed++) indexBlock(index, blocks[index.indexed] as Block, index.indexed)
  return index
}

function indexBlock(index: BlockIndex, block: Block, position: number): void {
  const call = callIdOf(block)
  index.byId.set(block.id, position)
  addPosition(index.byTurn, block.turn_id, position)
  if (block.path !== undefined) addPosition(index.byPath, block.path, position)
  if (call !== undefined) addPosition(index.byCall, call, position)
  const described = readDigest(block)?.artifact_path
  if (described !== undefined) addPosition(index.byArtifact, canonicalPath(described) ?? described, position)
}

function addPosition(positionsOf: Map<string, number[]>, key: string, position: number): void {
  const positions = positionsOf.get(key)
  if (positions) positions.push(position)
  else positionsOf.set(key, [position])
}

/** Numbers drafts in the order they are entered. */
export function assignIds(timeline: Pick<Timeline, 'nextBlock'>, drafts: readonly Draft[]): readonly Block[] {
  return drafts.map((draft, index) => numbered(draft, blockId(timeline.nextBlock + index)))
}

/**
 * A copy, then its number: the other way round costs three times as much. What every round enters is copied at a place of its own,
 * because a place that meets few shapes copies three times as fast as one that meets all.
 */
function numbered(draft: Draft, id: string): Block {
  switch (draft.type) {
    case 'react.thinking':
      return { ...draft, id }
    case 'react.notes':
      return { ...draft, id }
    case 'react.tool.call':
      return { ...draft, id }
    case 'react.tool.result':
      return { ...draft, id }
    default:
      return { ...draft, id }
  }
}

/** The same for blocks that a stranger hands in: what they lack is filled from the turn at hand. */
export function enterLoose(
  timeline: Pick<Timeline, 'nextBlock'>,
  blocks: readonly IncompleteBlock[],
  turn: { readonly turnId: string; readonly now: string },
): readonly Block[] {
  return blocks.map((block, index) => completeBlock(block, { ...turn, number: timeline.nextBlock + index }))
}
