import { type Block, type BlockType, callIdOf, dropEmptyMeta } from '../block/block.ts'
import { isResultMetadata, mayHaveDigest, readDigest } from '../block/round.ts'
import { canonicalPath } from '../path/logical.ts'

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
  /** Read it with `blocksIn`. Undefined after an edit has moved the list to another buffer. */
  blocks: Block[] | undefined
  /** The edit that has moved the list. */
  edit: BufferEdit | undefined
  /** Undefined until it is first needed. */
  index: BlockIndex | undefined
  outline: Outline | undefined
}

/** An edit of the blocks at some positions. `to` has the edited list, and `replaced` are the blocks before the edit. */
export interface BufferEdit {
  readonly to: BlockBuffer
  /** How many blocks the list had before the edit. */
  readonly size: number
  readonly positions: readonly number[]
  readonly replaced: readonly Block[]
}

/**
 * The positions of blocks by id, path, call and artifact. A new block is added to the index when the index is used next, not when the block
 * is appended.
 */
export interface BlockIndex {
  /** How many blocks the index contains. */
  indexed: number
  readonly byId: Map<string, number>
  readonly byPath: Map<string, number[]>
  readonly byCall: Map<string, number[]>
  /** The positions of digest blocks, by the path of the artifact that they describe. */
  readonly byArtifact: Map<string, number[]>
}

/**
 * The parts of an index that every turn needs. Adding a block to it takes about a fiftieth of the time that the `BlockIndex` needs, so the
 * outline does not make short turns slower.
 */
export interface Outline {
  /** How many blocks the outline contains. */
  outlined: number
  /** The ranges of consecutive blocks of each turn. Most turns have one range. */
  readonly byTurn: Map<string, TurnRange[]>
  /** The range to which the last block belongs. */
  lastRange: TurnRange | undefined
  /** The positions of the blocks of each kind. */
  readonly byKind: { readonly [Kind in BlockKind]: number[] }
  /** The number of characters of all texts. */
  characters: number
}

/** Consecutive blocks of one turn, as positions in the list. `end` is exclusive. */
export interface TurnRange {
  readonly turnId: string
  readonly from: number
  end: number
}

/**
 * The kinds of blocks that are looked for in the whole timeline. A block is `citing` if it lists the sources that it uses. A block is
 * `artifact` if it may have the digest of an artifact.
 */
export type BlockKind = 'plan' | 'summary' | 'publish' | 'call' | 'citing' | 'artifact'

const kinds: ReadonlyMap<BlockType, BlockKind> = new Map<BlockType, BlockKind>([
  ['react.plan', 'plan'],
  ['react.plan.preserved', 'plan'],
  ['conv.range.summary', 'summary'],
  ['react.workspace.publish', 'publish'],
  ['react.tool.call', 'call'],
])

/** A new buffer with a copy of the list. */
export const createBuffer = (blocks: readonly Block[]): BlockBuffer => bufferWith(blocks.slice())

const bufferWith = (blocks: Block[]): BlockBuffer => ({ blocks, edit: undefined, index: undefined, outline: undefined })

const createIndex = (): BlockIndex => ({
  indexed: 0,
  byId: new Map(),
  byPath: new Map(),
  byCall: new Map(),
  byArtifact: new Map(),
})

const createOutline = (): Outline => ({
  outlined: 0,
  byTurn: new Map(),
  lastRange: undefined,
  byKind: { plan: [], summary: [], publish: [], call: [], citing: [], artifact: [] },
  characters: 0,
})

/** The list of the buffer. It may contain blocks of newer timelines. It is valid until the next edit, so callers do not keep it. */
export const blocksIn = (buffer: BlockBuffer): readonly Block[] => buffer.blocks ?? restoreList(buffer)

/** Makes the list of a buffer whose list was moved: a copy of the moved list, in which the edits are undone. */
function restoreList(buffer: BlockBuffer): Block[] {
  const edits: BufferEdit[] = []
  let current = buffer
  while (!current.blocks && current.edit) {
    edits.push(current.edit)
    current = current.edit.to
  }
  const list = (current.blocks ?? []).slice(0, edits[0]?.size)
  for (const { positions, replaced } of edits.reverse()) {
    for (const [index, position] of positions.entries()) if (position < list.length) list[position] = replaced[index] as Block
  }
  buffer.blocks = list
  return list
}

/**
 * Returns a buffer with the first `size` blocks, in which `edit` replaces the blocks at these positions. The new blocks differ from the old
 * ones only in the fields of `meta` about hiding, so the index stays valid. If no newer timeline has added blocks, the list and the index
 * are moved to the new buffer and not copied:
 *
 *   before   list [ b_1  b_2  b_3 ]
 *   after    the edit: position 1 was b_2 ──▶ list [ b_1  b_2'  b_3 ]
 *
 * If an older timeline is read later, the list is copied and the edit is undone.
 */
export function editBuffer(buffer: BlockBuffer, size: number, positions: readonly number[], edit: (block: Block) => Block): BlockBuffer {
  const list = blocksIn(buffer) as Block[]
  const isNewest = list.length === size
  const blocks = isNewest ? list : list.slice(0, size)
  const edited = isNewest ? { blocks, edit: undefined, index: buffer.index, outline: buffer.outline } : bufferWith(blocks)
  const distinct = positions.length > 1 ? [...new Set(positions)] : positions
  const replaced = distinct.map((position) => blocks[position] as Block)
  for (const [index, position] of distinct.entries()) blocks[position] = edit(replaced[index] as Block)
  if (isNewest) {
    buffer.blocks = undefined
    buffer.edit = { to: edited, size, positions: distinct, replaced }
    buffer.index = undefined
    buffer.outline = undefined
  }
  return edited
}

/**
 * The number of blocks at the beginning that are the same in both buffers, if `after` was made from `before` by edits of the newest
 * timeline. Undefined if that is not known.
 */
export const commonLength = (before: BlockBuffer, after: BlockBuffer): number | undefined =>
  shortestEdit(before, after, ({ size, positions }) => Math.min(size, ...positions))

/** Like `commonLength`, but a block that was edited counts as the same, because an edit does not change the text and the bytes of a block. */
export const commonContentLength = (before: BlockBuffer, after: BlockBuffer): number | undefined =>
  shortestEdit(before, after, ({ size }) => size)

/** The lowest value of `lengthOf` for the edits that lead from `before` to `after`. Undefined if there are no such edits. */
function shortestEdit(before: BlockBuffer, after: BlockBuffer, lengthOf: (edit: BufferEdit) => number): number | undefined {
  let common = Number.POSITIVE_INFINITY
  for (let current = before; current !== after; current = current.edit.to) {
    if (!current.edit) return undefined
    common = Math.min(common, lengthOf(current.edit))
  }
  return common
}

/**
 * Returns a buffer with the first `size` blocks and the added blocks. If the buffer has exactly `size` blocks, it is extended. If it has
 * more blocks, they belong to a newer timeline, and the buffer is copied.
 */
export function extendBuffer(buffer: BlockBuffer, size: number, added: readonly Block[]): BlockBuffer {
  const blocks = blocksIn(buffer)
  const extended = blocks.length === size ? buffer : bufferWith(blocks.slice(0, size))
  for (const block of added) extended.blocks?.push(dropEmptyMeta(block))
  return extended
}

/** The complete index of the buffer. It also contains blocks of newer timelines, so callers ignore positions from their own `size` on. */
export function blockIndex(buffer: BlockBuffer): BlockIndex {
  buffer.index ??= createIndex()
  const { index } = buffer
  const blocks = blocksIn(buffer)
  for (; index.indexed < blocks.length; index.indexed++) indexBlock(index, blocks[index.indexed] as Block, index.indexed)
  return index
}

/** The complete outline of the buffer. It also contains blocks of newer timelines, so callers ignore positions from their own `size` on. */
export function outlineOf(buffer: BlockBuffer): Outline {
  buffer.outline ??= createOutline()
  const { outline } = buffer
  const blocks = blocksIn(buffer)
  for (; outline.outlined < blocks.length; outline.outlined++) outlineBlock(outline, blocks[outline.outlined] as Block, outline.outlined)
  return outline
}

function indexBlock(index: BlockIndex, block: Block, position: number): void {
  const callId = callIdOf(block)
  index.byId.set(block.id, position)
  if (block.path !== undefined) addPosition(index.byPath, block.path, position)
  if (callId !== undefined) addPosition(index.byCall, callId, position)
  const artifactPath = readDigest(block)?.artifact_path
  if (artifactPath !== undefined) addPosition(index.byArtifact, canonicalPath(artifactPath) ?? artifactPath, position)
}

function outlineBlock(outline: Outline, block: Block, position: number): void {
  const { type, turn_id, text, meta } = block
  const kind = kinds.get(type)
  if (kind) outline.byKind[kind].push(position)
  if (meta?.sources_used !== undefined) outline.byKind.citing.push(position)
  if (!isResultMetadata(block) && mayHaveDigest(block)) outline.byKind.artifact.push(position)
  if (text !== undefined) outline.characters += text.length
  if (outline.lastRange?.turnId === turn_id) {
    outline.lastRange.end = position + 1
    return
  }
  outline.lastRange = { turnId: turn_id, from: position, end: position + 1 }
  addPosition(outline.byTurn, turn_id, outline.lastRange)
}

function addPosition<Position>(positionsByKey: Map<string, Position[]>, key: string, position: Position): void {
  const positions = positionsByKey.get(key)
  if (positions) positions.push(position)
  else positionsByKey.set(key, [position])
}
