import { type Block, callIdOf } from '../block/block.ts'
import { readDigest } from '../block/digest.ts'
import { canonicalPath } from '../path/logical.ts'

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
