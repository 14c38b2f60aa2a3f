import type { BlobRef, Block } from '../block/block.ts'
import type { Caps } from './caps.ts'

/** One element of the message that a model reads. Stored bytes are only referenced; an adapter loads them. */
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
  /** Providers bill images by width and height, and documents by pages. Undefined when the block does not tell. */
  readonly width?: number
  readonly height?: number
  readonly pages?: number
  /** The bytes of a block that is not stored yet. Its `blob` then has a size and an empty hash. */
  readonly base64?: string
  readonly cache?: true
}

/** A block as the model sees it. Blocks that render to nothing are not in a slice. */
export interface ShownBlock {
  readonly block: Block
  /** Never empty. */
  readonly parts: readonly Part[]
  /** The block's round, as an index into `Slice.roundEnds`. Undefined for headers, user input and summaries. */
  readonly round: number | undefined
}

/**
 * The blocks of a timeline that the model sees, oldest first. A position is an index into `shown`. Cache points and hiding both use
 * these positions, so that hiding never changes a block before a frozen cache point.
 */
export interface Slice {
  readonly shown: readonly ShownBlock[]
  /** The position of the current turn's header. Undefined when the slice has no such header. */
  readonly turnStart: number | undefined
  /**
   * For each round, the position at which it is complete. Rounds are ordered by their first blocks. Rounds of imported blocks may
   * interleave. A round is not complete before every earlier round is, so these positions never decrease.
   */
  readonly roundEnds: readonly number[]
}

export interface RenderSettings {
  readonly caps: Caps
  /** Whether the agent has this tool. Tools that not every agent has are named only if this is true. Undefined: it has none of them. */
  readonly hasTool?: ((id: string) => boolean) | undefined
}

/**
 * What decides how a block is rendered, besides the block itself. It depends only on the settings and on earlier blocks. A later block
 * never changes how an earlier one looks, so the cached prefix stays valid.
 */
export interface RenderContext extends RenderSettings {
  /** The call that a tool block belongs to, and the tool that was called. */
  readonly callId: string | undefined
  readonly toolId: string | undefined
  /** The status in the summary heading that this block continues with one more artifact. Undefined when it continues none. */
  readonly continuedStatus: string | undefined
  /** True when the plan was last shown with exactly these steps and states. Then it is not shown again. */
  readonly repeatsPlan: boolean
  /** The block's number among the attachments of its round or input, or the reason why its bytes are not sent. Undefined without bytes. */
  readonly attachment: number | RefusalReason | undefined
}

export type RefusalReason = 'media type' | 'not asked for' | 'file size' | 'message size' | 'number'
