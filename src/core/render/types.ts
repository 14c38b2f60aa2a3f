import type { BlobRef, Block } from '../block/block.ts'
import type { Caps } from './caps.ts'

/** One element of the message a model reads. Bytes stay a reference until an adapter needs them. */
export type Part = TextPart | BinaryPart

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** The provider may cache everything up to and with this part. */
  readonly cache?: true
}

export interface BinaryPart {
  readonly type: 'image' | 'document'
  readonly media_type: string
  readonly blob: BlobRef
  /** What it is billed by, where the block says it. */
  readonly width?: number
  readonly height?: number
  readonly pages?: number
  /** The bytes themselves, of a block that no store has taken yet; the blob then has a size and no hash. */
  readonly base64?: string
  readonly cache?: true
}

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

export interface RenderSettings {
  readonly caps: Caps
}

/**
 * What a block is shown by besides itself. All of it comes from earlier blocks: a later block never changes how an earlier one
 * looks, so the cached prefix holds.
 */
export interface RenderContext {
  readonly caps: Caps
  /** The call a tool block belongs to, and the tool that was called. */
  readonly callId: string | undefined
  readonly toolId: string | undefined
  /** The block before it already showed the summary of this call with this status: one more line will do. */
  readonly continues: boolean
  /** The plan was last shown with the very same steps and states. */
  readonly repeats: boolean
  /** Whether the bytes go along: the number they get in their round or input, or why they do not. */
  readonly attached: number | RefusalReason | undefined
}

export type RefusalReason = 'media type' | 'not asked for' | 'file size' | 'message size' | 'number'
