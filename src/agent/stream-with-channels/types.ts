import type { SourceMap } from '../../core/citations/replace.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../../core/model-event.ts'
import type { StandardSchemaV1 } from '../../core/standard-schema.ts'
import type { Channel, ChannelFormat } from '../../core/stream/channel.ts'

/** A channel of the call, and how its text is processed. */
export interface ChannelSpec extends Channel {
  /** The body is JSON of this shape: the result has `obj` if it is valid, else `error`. */
  readonly schema?: StandardSchemaV1
  /** Default true; false for raw channels, which are code. */
  readonly replaceCitations?: boolean
  /** Removes `[[USAGE:…]]` from the shown text. Default true; false for raw channels. */
  readonly stripUsage?: boolean
  /** Where a client shows it. Default `answer`. A channel named `usage` is shown only if it has another marker. */
  readonly emitMarker?: string
}

/** A piece of a channel. `raw` is the model's text, `text` is what the user sees. */
export interface Delta {
  readonly channel: string
  readonly instance: number
  /** Counts the deltas of the channel from 0; for a composite, those of each artifact. */
  readonly index: number
  readonly text: string
  readonly raw: string
  readonly marker: string
  readonly agent: string
  readonly format: ChannelFormat
  readonly artifact_name?: string
  /** The last delta of the instance; its text is empty. */
  readonly completed: boolean
  /** The instance was completed because the service failed. */
  readonly aborted?: true
  /** A client discards the output of an earlier attempt when it gets a later one. */
  readonly extra: { readonly attempt: number }
}

export type Emit = (delta: Delta) => void | Promise<void>
export type Subscriber = Emit
/** Creates a subscriber for each instance of a channel, when the instance begins. */
export interface SubscriberFactory {
  forInstance(instance: number): Subscriber
}
/** By channel name. They are called in the given order. */
export type ChannelSubscribers = Readonly<Record<string, readonly (Subscriber | SubscriberFactory)[]>>

/** Replaces the text of a JSON channel by deltas of its attributes. `createCompositeReader` makes one. */
export interface Composite {
  readonly channel: string
  push(text: string): readonly CompositeDelta[]
  end(): readonly CompositeDelta[]
}
export type CompositeDelta = Pick<Delta, 'marker' | 'artifact_name' | 'format' | 'index' | 'text' | 'completed' | 'aborted'>

export type ParsedPayload =
  | { readonly ok: true; readonly value: unknown; readonly repairs?: readonly string[] }
  | { readonly ok: false; readonly error: { readonly message: string } }

export interface StreamWithChannelsOptions {
  /** The model's events; as a function of a signal, so that the call can be aborted. */
  readonly stream: AsyncIterable<ModelEvent> | ((signal: AbortSignal) => AsyncIterable<ModelEvent>)
  readonly channels: readonly ChannelSpec[]
  readonly emit: Emit
  readonly agent: string
  readonly artifactName?: string
  /** Called for each citation. */
  readonly sources?: () => SourceMap
  readonly subscribers?: ChannelSubscribers
  /** Gets each piece before it is parsed. */
  readonly onRaw?: (piece: string) => void | Promise<void>
  readonly composite?: Composite
  /** Parses a body before it is validated. The default tolerates common mistakes of models, and lists them in `repairs`. */
  readonly parse?: (payload: string) => ParsedPayload
  /** The number of the attempt, from 0. */
  readonly attempt?: number
  /** Aborts the call. */
  readonly signal?: AbortSignal
  /** In milliseconds; without it results have no times. */
  readonly clock?: () => number
}

export interface ChannelResult {
  /** The model's text, all instances together. */
  readonly raw: string
  /** For structured formats: the body without its code fence. */
  readonly payload?: string
  readonly obj?: unknown
  readonly error?: string
  /** The mistakes that the parser has repaired. */
  readonly repairs?: readonly string[]
  readonly instances: readonly string[]
  /** How the last instance ended; `cut`: by the end of the stream. */
  readonly closed?: 'tag' | 'implied' | 'cut'
  readonly usedSources: readonly number[]
  readonly unresolvedSources: readonly number[]
  readonly usageSources: readonly number[]
  readonly startedAt?: number
  readonly finishedAt?: number
}

export interface StreamMeta {
  /** The whole text of the model. */
  readonly raw: string
  readonly serviceError?: ServiceError
  readonly usage?: ModelUsage
  readonly modelName?: string
  readonly providerMessageId?: string
  readonly finishReason?: FinishReason
  /** The model's reasoning, if the provider sends it. */
  readonly thoughts: string
  readonly preamble: string
  readonly strayTags: readonly string[]
  readonly unknownChannels: readonly string[]
  /** Errors of listeners, the first 20. */
  readonly problems: readonly StreamProblem[]
}

export interface StreamProblem {
  readonly where: 'emit' | 'subscriber' | 'onRaw' | 'composite' | 'provider'
  readonly channel?: string
  readonly error: unknown
}

export interface ChannelStream {
  readonly results: ReadonlyMap<string, ChannelResult>
  readonly meta: StreamMeta
}

/** Thrown by a listener to abort the call. `streamWithChannels` rethrows it. */
export class StreamPolicyViolation extends Error {
  override readonly name = 'StreamPolicyViolation'
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(message)
    this.code = code
    this.details = details
  }
}
