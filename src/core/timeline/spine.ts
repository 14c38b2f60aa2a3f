import { readDigest } from '../block/digest.ts'
import { type Block, callOf } from '../block/envelope.ts'
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
export interface Spine {
  readonly blocks: Block[]
  readonly byId: Map<string, number>
  readonly byPath: Map<string, number[]>
  readonly byCall: Map<string, number[]>
  readonly byTurn: Map<string, number[]>
  /** Metadata blocks by the artifact they describe. */
  readonly byArtifact: Map<string, number[]>
}

export function emptySpine(): Spine {
  return { blocks: [], byId: new Map(), byPath: new Map(), byCall: new Map(), byTurn: new Map(), byArtifact: new Map() }
}

export function spineOf(blocks: readonly Block[]): Spine {
  const spine = emptySpine()
  push(spine, blocks)
  return spine
}

/** The spine for `size` blocks plus new ones: the same spine when nobody has grown it since, a copy otherwise. */
export function extended(spine: Spine, size: number, blocks: readonly Block[]): Spine {
  const own = spine.blocks.length === size ? spine : spineOf(spine.blocks.slice(0, size))
  push(own, blocks)
  return own
}

function push(spine: Spine, blocks: readonly Block[]): void {
  for (const block of blocks) {
    const position = spine.blocks.push(block) - 1
    const call = callOf(block)
    spine.byId.set(block.id, position)
    note(spine.byTurn, block.turn_id, position)
    if (block.path !== undefined) note(spine.byPath, block.path, position)
    if (call !== undefined) note(spine.byCall, call, position)
    const described = readDigest(block)?.artifact_path
    if (described !== undefined) note(spine.byArtifact, canonicalPath(described) ?? described, position)
  }
}

function note(index: Map<string, number[]>, key: string, position: number): void {
  const positions = index.get(key)
  if (positions) positions.push(position)
  else index.set(key, [position])
}
