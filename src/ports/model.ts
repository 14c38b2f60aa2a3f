import type { BlobRef } from '../core/block/index.ts'
import type { ModelEvent } from '../core/model-event.ts'
import type { Part } from '../core/render/types.ts'

/** The purpose of a call. It selects the model and groups the costs. */
export type ModelRole = 'decision' | 'gate' | 'compaction'

/** One call of a model. */
export interface ModelRequest {
  readonly role: ModelRole
  /** The system text, with the same bytes in all rounds of a turn, so that the provider can cache it. */
  readonly system: string
  /** One user message. Cache marks are on the parts; `read` resolves references to bytes. */
  readonly parts: readonly Part[]
  readonly maxTokens: number
  readonly temperature: number
  /** A key that is the same for all calls of a conversation, so that the provider can route them to the same cache. */
  readonly cacheKey: string
  /** The bytes of a part. */
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
  /** MIME types of documents that it accepts; others are sent as text, where possible. Absent: all types. */
  readonly documents?: readonly string[]
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}
