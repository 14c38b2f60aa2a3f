import type { Caps } from './caps.ts'

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
