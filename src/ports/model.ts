import type { BlobRef } from '../core/block/index.ts'
import type { ModelEvent } from '../core/model-event.ts'
import type { Part } from '../core/render/types.ts'

/** Who is asking: it decides the model, the price line and what a person debugging sees. */
export type ModelRole = 'decision' | 'gate' | 'compaction'

export interface ModelRequest {
  readonly role: ModelRole
  /** Byte-stable across the rounds of a turn; a cache mark stands after it. */
  readonly system: string
  /** One user message. Marks are on the parts; bytes are references that `read` resolves. */
  readonly parts: readonly Part[]
  readonly maxTokens: number
  readonly temperature: number
  /** The same for every call of a conversation, so that a provider can keep its calls together. */
  readonly cacheKey: string
  /** The bytes of a part. */
  read(blob: BlobRef): Promise<Uint8Array>
}

/**
 * A language model. `stream` never throws for what a provider does: failures are `error` events. It ends after one `finish` or
 * one `error`, and soon after the signal fires.
 */
export interface Model {
  readonly name: string
  /** Tokens that fit into prompt and answer together. */
  readonly window: number
  /** Types of documents that it can be shown; of others it is given the text, where that can be had. Any, when it is not said. */
  readonly documents?: readonly string[]
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}
