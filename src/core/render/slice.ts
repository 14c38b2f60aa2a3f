import type { Block } from '../block/block.ts'
import type { Part } from './types.ts'

/** A block that the model is shown, and what it is shown as. Blocks that would show nothing are not in a slice at all. */
export interface ShownBlock {
  readonly block: Block
  /** Never empty. */
  readonly parts: readonly Part[]
  /** The round it belongs to, by its place in `roundEnds`; undefined for headers, user input, summaries. */
  readonly round: number | undefined
}

/**
 * What can be seen, oldest first, before marks and tails. Cache points, hiding and the editable tail all count in positions of
 * `shown`: there is one numbering, so what is protected is exactly what is marked.
 */
export interface Slice {
  readonly shown: readonly ShownBlock[]
  /** Position of the current turn's header; undefined when the slice has none. */
  readonly turnStart: number | undefined
  /**
   * Where each round is over, by order of the rounds' first blocks: the position of its last block, or of an earlier round's. Rounds of
   * imported blocks may interleave, and none is over before those that began before it.
   */
  readonly roundEnds: readonly number[]
}
