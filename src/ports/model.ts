import type { BlobRef } from '../core/block/index.ts'
import type { JsonObject } from '../core/json.ts'
import type { Dialect, ModelEvent } from '../core/model-event.ts'
import type { Part } from '../core/render/types.ts'

/** The purpose of a model call. It selects the model, and reports list the costs of each role separately. */
export type ModelRole = 'decision' | 'gate' | 'compaction'

/** One call of a model. */
export interface ModelRequest {
  readonly role: ModelRole
  /** The system text. It is the same in all rounds of a turn, so that the provider can cache it. */
  readonly system: string
  /**
   * The parts of the single user message. A part may carry a cache mark. A part for an image or document has a `BlobRef`, not the bytes.
   */
  readonly parts: readonly Part[]
  /**
   * The tools that the model may call in the provider's own form. They are sent only in the dialect `native`, always in the same order and
   * without a tool choice, so that the provider can cache them together with the system text.
   */
  readonly tools?: readonly RequestTool[]
  readonly maxTokens: number
  readonly temperature: number
  /** A key that is the same for all calls of a conversation, so that the provider can route them to the same cache. */
  readonly cacheKey: string
  /** Returns the bytes of a blob to which a part refers. */
  read(blob: BlobRef): Promise<Uint8Array>
}

/** A tool in the form that providers expect. */
export interface RequestTool {
  /** Letters, digits, `_` and `-`, at most 64 characters. */
  readonly name: string
  readonly description: string
  /** A JSON Schema of the type `object`. */
  readonly schema: JsonObject
}

/**
 * A language model. `stream` does not throw when the provider fails. It yields an `error` event instead. The last event of a stream is
 * `finish` or `error`. After the signal is aborted, the stream ends soon.
 */
export interface Model {
  readonly name: string
  /** The maximum number of tokens of prompt and response together. */
  readonly window: number
  /**
   * MIME types of the documents that the model accepts. If the list is missing, the model accepts every document. A document of another
   * type is not sent, but the model can read its extracted text with `react.read`.
   */
  readonly documents?: readonly string[]
  /**
   * The dialect in which the model works best. The setting `dialect` of the agent can choose the other dialect. A model without this field
   * can not call tools in the provider's form, so it always speaks `channels`.
   */
  readonly dialect?: Dialect
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}
