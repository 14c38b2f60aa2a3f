import type { BlobRef, Block } from '../block/block.ts'
import type { Caps } from './caps.ts'

/** One element of the message a model reads. Bytes stay a reference until an adapter needs them. */
export type Part = TextPart | BinaryPart

/** A text of a prompt. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** The provider may cache everything up to and including this part. */
  readonly cache?: true
}

/** An image or a document of a prompt. */
export interface BinaryPart {
  readonly type: 'image' | 'document'
  readonly media_type: string
  readonly blob: BlobRef
  /** Providers bill images by width and height and documents by pages; undefined when the block does not say. */
  readonly width?: number
  readonly height?: number
  readonly pages?: number
  /** The bytes themselves, for a block that is not stored yet; its blob then has a size and no hash. */
  readonly base64?: string
  readonly cache?: true
}

/** A block as the model sees it. Blocks that render to nothing are not in a slice. */
export interface ShownBlock {
  readonly block: Block
  /** Never empty. */
  readonly parts: readonly Part[]
  /** The round it belongs to, as an index into `Slice.roundEnds`; undefined for headers, user input and summaries. */
  readonly round: number | undefined
}

/**
 * The visible blocks of a timeline, oldest first, before cache marks and tails. Cache points, hiding and the editable tail all use
 * positions in `shown`, so that the blocks that must not be edited are exactly the blocks that are marked.
 */
export interface Slice {
  readonly shown: readonly ShownBlock[]
  /** Position of the current turn's header; undefined when the slice has none. */
  readonly turnStart: number | undefined
  /**
   * Position where each round is complete, in order of the rounds' first blocks. Rounds of imported blocks may interleave: a round is
   * not complete before every earlier round is, so the positions never decrease.
   */
  readonly roundEnds: readonly number[]
}

export interface RenderSettings {
  readonly caps: Caps
}

/**
 * Everything besides the block itself that decides how a block is rendered. All of it comes from earlier blocks: a later block never
 * changes how an earlier one looks, so the cached prefix stays valid.
 */
export interface RenderContext {
  readonly caps: Caps
  /** The call that a tool block belongs to, and the tool that was called. */
  readonly callId: string | undefined
  readonly toolId: string | undefined
  /** The previous block already rendered the summary heading of this call with this status: only the artifact line is added. */
  readonly continuesSummary: boolean
  /** The plan was last shown with exactly these steps and states, so it is not shown again. */
  readonly repeatsPlan: boolean
  /** For a block with bytes: its number among the attachments of its round or input, or the reason why the bytes are not sent. */
  readonly attachment: number | RefusalReason | undefined
}

export type RefusalReason = 'media type' | 'not asked for' | 'file size' | 'message size' | 'number'
