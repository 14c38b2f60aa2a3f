import { type Block, type BlockType, blockId, blockNumber, callIdOf, type Draft } from '../block/block.ts'
import { readDigest } from '../block/round.ts'
import { canonicalPath } from '../path/logical.ts'
import { emptyPool, type SourcePool } from '../sources/pool.ts'
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
  readonly title?: string
  readonly startedAt?: string
  readonly lastTs?: string
  /** The turn that was opened and not closed yet. It is running, it waits, or a crash interrupted it. */
  readonly openTurn?: OpenTurn
  /** The parts of the system text that stay the same during a whole turn, as the last turn uses them. */
  readonly frozen?: FrozenTexts
  /** The newest response that contains a decision. It has the time, the usage and the record of the prompt, but not the text. */
  readonly lastResponse?: Omit<ResponseReceived, 'raw'>
  /** Events that the conversation has accepted and no turn has read yet, in the order of acceptance. */
  readonly inbox: readonly InboxEvent[]
  readonly lastEvent?: { readonly event_id: string; readonly sequence: number }
  /** The ids of the newest events, also of events that a turn has read. They are used to recognise an event that is delivered twice. */
  readonly knownEvents?: readonly string[]
  readonly cache?: CacheTouch
  readonly feedbackSeen?: string
  readonly forkedFrom?: { readonly conversation_id: string; readonly turn_id: string }
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
  return { buffer: createBuffer([]), size: 0, nextBlock: 1, sources: emptyPool, inbox: [] }
}

export function blockAt(timeline: Timeline, position: number): Block | undefined {
  return position < timeline.size ? timeline.buffer.blocks[position] : undefined
}

/** The visible blocks from position `from` on, as a new list. */
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

/** All visible blocks with this path, oldest first. */
export const blocksAtPath = (timeline: Timeline, path: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byPath.get(path))
export const blocksOfCall = (timeline: Timeline, callId: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byCall.get(callId))
export const blocksOfTurn = (timeline: Timeline, turnId: string): readonly Block[] =>
  blocksAt(timeline, blockIndex(timeline.buffer).byTurn.get(turnId))

/** The digest blocks of the artifact at this path, oldest first. */
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
    if (position >= timeline.size) break // positions ascend, so the following ones belong to newer timelines
    blocks.push(timeline.buffer.blocks[position] as Block)
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

/**
 * A list of blocks that timelines share. An append therefore does not copy the earlier blocks:
 *
 *   buffer     [ b_1  b_2  b_3  b_4  b_5 ]      shared, blocks are only added
 *   timeline A  └──── size 3 ──┘                still sees three blocks
 *   timeline B  └────────── size 5 ────┘        is A with two more blocks
 *
 * An append to the newest timeline adds the blocks to the shared list. An append to an older timeline copies the list first. A timeline
 * reads only the first `size` blocks, so it never changes.
 */
export interface BlockBuffer {
  readonly blocks: Block[]
  index: BlockIndex
}

/**
 * The positions of blocks by id, path, call, turn and artifact. A new block is added to the index when the index is used next, not when the
 * block is appended.
 */
export interface BlockIndex {
  /** How many blocks the index contains. */
  indexed: number
  readonly byId: Map<string, number>
  readonly byPath: Map<string, number[]>
  readonly byCall: Map<string, number[]>
  readonly byTurn: Map<string, number[]>
  /** The positions of digest blocks, by the path of the artifact that they describe. */
  readonly byArtifact: Map<string, number[]>
}

/** A new buffer with a copy of the list. */
export const createBuffer = (blocks: readonly Block[]): BlockBuffer => ({ blocks: blocks.slice(), index: createIndex() })

const createIndex = (): BlockIndex => ({
  indexed: 0,
  byId: new Map(),
  byPath: new Map(),
  byCall: new Map(),
  byTurn: new Map(),
  byArtifact: new Map(),
})

/**
 * A copy of the first `size` blocks, in which `edit` replaces the blocks at these positions. The new blocks have the ids, paths, calls,
 * turns and texts of the old ones. Therefore the index is moved to the copy. If an older timeline needs an index later, the index is
 * computed again.
 */
export function editBuffer(buffer: BlockBuffer, size: number, positions: readonly number[], edit: (block: Block) => Block): BlockBuffer {
  const isNewest = buffer.blocks.length === size
  const edited = { blocks: buffer.blocks.slice(0, size), index: isNewest ? buffer.index : createIndex() }
  if (isNewest) buffer.index = createIndex()
  for (const position of positions) edited.blocks[position] = edit(edited.blocks[position] as Block)
  return edited
}

/**
 * Returns a buffer with the first `size` blocks and the added blocks. If the buffer has exactly `size` blocks, it is extended. If it has
 * more blocks, they belong to a newer timeline, and the buffer is copied.
 */
export function extendBuffer(buffer: BlockBuffer, size: number, added: readonly Block[]): BlockBuffer {
  const extended = buffer.blocks.length === size ? buffer : createBuffer(buffer.blocks.slice(0, size))
  for (const block of added) extended.blocks.push(block)
  return extended
}

/** The complete index of the buffer. It also contains blocks of newer timelines, so callers ignore positions from their own `size` on. */
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
