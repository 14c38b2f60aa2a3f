import type { BlobRef } from '../core/block/index.ts'
import type { ModelEvent } from '../core/model-event.ts'
import type { Part } from '../core/render/types.ts'

/** The purpose of a call. It selects the model and groups the costs. */
export type ModelRole = 'decision' | 'gate' | 'compaction'

/** One call of a model. */
export interface ModelRequest {
  readonly role: ModelRole
  /** The system text. It is the same in all rounds of a turn, so that the provider can cache it. */
  readonly system: string
  /** The parts of the single user message. A part may have a cache mark. A part may refer to bytes, which `read` returns. */
  readonly parts: readonly Part[]
  readonly maxTokens: number
  readonly temperature: number
  /** A key that is the same for all calls of a conversation, so that the provider can route them to the same cache. */
  readonly cacheKey: string
  /** The bytes to which a part refers. */
  read(blob: BlobRef): Promise<Uint8Array>
}

/**
 * A language model. `stream` reports a provider's failure as an `error` event and does not throw. It ends after one `finish` or one
 * `error`, and soon after the signal is aborted.
 */
export interface Model {
  readonly name: string
  /** The maximum tokens of prompt and answer together. */
  readonly window: number
  /** MIME types of the documents that the model accepts; without a list it accepts all. Others are sent as text, where possible. */
  readonly documents?: readonly string[]
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}
