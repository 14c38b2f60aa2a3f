import type { BlobRef, Block } from '../block/block.ts'
import type { Caps } from './caps.ts'

/** One element of the message that a model reads. For stored bytes it contains only the hash. The model adapter loads the bytes. */
export type Part = TextPart | BinaryPart

/** A text of a prompt. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** Set on a part with a mark: the provider may cache the prompt up to the end of this part. */
  readonly cache?: true
}

/** An image or a document of a prompt. */
export interface BinaryPart {
  readonly type: 'image' | 'document'
  readonly media_type: string
  readonly blob: BlobRef
  /**
   * The size in pixels, or the number of pages of a document: providers bill by these numbers. Undefined when the block does not have them.
   */
  readonly width?: number
  readonly height?: number
  readonly pages?: number
  /** The bytes, for a block that is not stored yet. Then `blob` has a size and an empty hash. */
  readonly base64?: string
  readonly cache?: true
}

/** A block as the model sees it. A block that renders to no parts is not in the list `Slice.shown`. */
export interface ShownBlock {
  readonly block: Block
  /** Contains at least one part. */
  readonly parts: readonly Part[]
  /** The round of the block, as an index into `Slice.roundEnds`. Undefined for headers, user input and summaries. */
  readonly round: number | undefined
}

/**
 * The blocks of a timeline that the model sees, oldest first. A *position* is an index into `shown`. Cache points and `react.hide` use the
 * same positions. From a position, `react.hide` knows whether a block is before a cache point. Such a block must not change, because this
 * would invalidate the cached prompt.
 */
export interface Slice {
  readonly shown: readonly ShownBlock[]
  /** The position of the header of the current turn. Undefined when the header is not in `shown`. */
  readonly turnStart: number | undefined
  /**
   * For each round, the position of its last block. Rounds are in the order of their first blocks. The blocks of two rounds may be mixed,
   * for example in imported timelines. In this case the later round gets at least the end position of the earlier round, so that these
   * positions never decrease.
   */
  readonly roundEnds: readonly number[]
}

export interface RenderSettings {
  readonly caps: Caps
  /**
   * Whether the agent has this tool. A prompt names an optional tool only if this function returns true for it. If the function is missing,
   * the prompt names no optional tool.
   */
  readonly hasTool?: ((id: string) => boolean) | undefined
}

/**
 * The values that decide how a block is rendered, besides the block itself. They depend only on the settings and on earlier blocks.
 * Therefore a later block never changes the text of an earlier one, and the cached beginning of the prompt stays valid.
 */
export interface RenderContext extends RenderSettings {
  /** The id of the call that a tool block belongs to. `toolId` is the tool that was called. */
  readonly callId: string | undefined
  readonly toolId: string | undefined
  /**
   * The status in the heading above this block, if this block continues a list of digests. Consecutive digests of one call become lines
   * under one heading, which shows the status of the first one. Undefined for the first line and for all other blocks.
   */
  readonly continuedStatus: string | undefined
  /** True when the prompt already shows the plan with exactly these steps and states. In this case the plan is not shown again. */
  readonly repeatsPlan: boolean
  /**
   * For a block with an image or document that is sent: its number, counted from 1 within its round or within the user's input. If the
   * image or document is not sent, this is the reason.
   */
  readonly attachment: number | RefusalReason | undefined
}

export type RefusalReason = 'media type' | 'not asked for' | 'file size' | 'message size' | 'number'
