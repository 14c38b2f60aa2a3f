import type { SourceMap } from '../../core/citations/replace.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../../core/model-event.ts'
import type { StandardSchemaV1 } from '../../core/standard-schema.ts'
import type { Channel, ChannelFormat } from '../../core/stream/channel.ts'

/** A channel of the response, and how its text is processed. */
export interface ChannelSpec extends Channel {
  /** The schema of a channel whose body is JSON. If the body is valid, the result has `obj`. Otherwise the result has `error`. */
  readonly schema?: StandardSchemaV1
  /** Whether citations in the shown text are replaced by links. Default: true, but false for raw channels, which contain code. */
  readonly replaceCitations?: boolean
  /** Whether `[[USAGE:…]]` is removed from the shown text. Default: true, but false for raw channels. */
  readonly stripUsage?: boolean
  /** Tells clients where to show the channel. Default: `answer`. A channel named `usage` is shown only if it has another marker. */
  readonly emitMarker?: string
}

/**
 * A piece of a channel. `raw` is the text that the model wrote. `text` is the text for users. If the response contains the channel several
 * times, `instance` is the number of the section, from 0.
 */
export interface Delta {
  readonly channel: string
  readonly instance: number
  /** The number of the delta in its channel. It counts from 0. If a composite reads the channel, each `artifact_name` has its own count. */
  readonly index: number
  readonly text: string
  readonly raw: string
  readonly marker: string
  readonly agent: string
  readonly format: ChannelFormat
  readonly artifact_name?: string
  /** True for the last delta of the instance. Its text is empty. */
  readonly completed: boolean
  /** Set when the instance was completed because the model service failed. */
  readonly aborted?: true
  /** The attempt of the model call that made the delta. A client discards the output of earlier attempts. */
  readonly extra: { readonly attempt: number }
}

/** Receives the deltas of a call, in order. The next delta comes after the returned promise has resolved. */
export type Emit = (delta: Delta) => void | Promise<void>
/** Receives the deltas of one channel. */
export type Subscriber = Emit
/** Creates a subscriber for each instance of a channel, when the instance begins. */
export interface SubscriberFactory {
  forInstance(instance: number): Subscriber
}
/** The subscribers of each channel, by the name of the channel. They are called in the given order. */
export type ChannelSubscribers = Readonly<Record<string, readonly (Subscriber | SubscriberFactory)[]>>

/**
 * Reads the text of a channel with JSON and makes deltas for the single attributes of the JSON. These deltas are emitted instead of the
 * channel's text. `createCompositeReader` makes a composite.
 */
export interface Composite {
  readonly channel: string
  push(text: string): readonly CompositeDelta[]
  end(): readonly CompositeDelta[]
}
/** A delta of one attribute of a JSON channel. */
export type CompositeDelta = Pick<Delta, 'marker' | 'artifact_name' | 'format' | 'index' | 'text' | 'completed' | 'aborted'>

/** The parsed body of a JSON channel, or the reason why it can not be parsed. */
export type ParsedPayload =
  | { readonly ok: true; readonly value: unknown; readonly repairs?: readonly string[] }
  | { readonly ok: false; readonly error: { readonly message: string } }

/** Options of `streamWithChannels`. */
export interface StreamWithChannelsOptions {
  /** The events of the model. To pass an abort of the call on to the model, pass a function. It gets the signal. */
  readonly stream: AsyncIterable<ModelEvent> | ((signal: AbortSignal) => AsyncIterable<ModelEvent>)
  readonly channels: readonly ChannelSpec[]
  readonly emit: Emit
  readonly agent: string
  readonly artifactName?: string
  /** Returns the sources that citations refer to. It is called for each citation, because sources may be added while the model writes. */
  readonly sources?: () => SourceMap
  readonly subscribers?: ChannelSubscribers
  /** Called with each piece of text before the piece is parsed. */
  readonly onRaw?: (piece: string) => void | Promise<void>
  readonly composite?: Composite
  /** Parses a body before it is validated. The default parser tolerates common mistakes of models and lists them in `repairs`. */
  readonly parse?: (payload: string) => ParsedPayload
  /** The number of the attempt. It counts from 0. */
  readonly attempt?: number
  /** Aborting this signal aborts the call. */
  readonly signal?: AbortSignal
  /** The current time in milliseconds. Without this function, results contain no times. */
  readonly clock?: () => number
}

/** The result of one channel. */
export interface ChannelResult {
  /** The text that the model wrote, of all instances together. */
  readonly raw: string
  /** The body without its code fence. Only set for structured formats such as JSON. */
  readonly payload?: string
  readonly obj?: unknown
  readonly error?: string
  /** The mistakes in the JSON that the parser has repaired. */
  readonly repairs?: readonly string[]
  readonly instances: readonly string[]
  /**
   * How the last instance ended. `tag`: with its closing tag. `implied`: another channel began. `cut`: the stream ended before the instance
   * did.
   */
  readonly closed?: 'tag' | 'implied' | 'cut'
  readonly usedSources: readonly number[]
  readonly unresolvedSources: readonly number[]
  readonly usageSources: readonly number[]
  readonly startedAt?: number
  readonly finishedAt?: number
}

/** Data about the whole call. */
export interface StreamMeta {
  /** The whole text that the model wrote. */
  readonly raw: string
  readonly serviceError?: ServiceError
  readonly usage?: ModelUsage
  readonly modelName?: string
  readonly providerMessageId?: string
  readonly finishReason?: FinishReason
  /** The reasoning of the model, if the provider sends it. */
  readonly thoughts: string
  readonly preamble: string
  readonly strayTags: readonly string[]
  readonly unknownChannels: readonly string[]
  /** The first 20 errors that did not end the call. They come from functions of the caller or from the provider. */
  readonly problems: readonly StreamProblem[]
}

/** An error that did not end the call, from a function of the caller or from the provider. */
export interface StreamProblem {
  readonly where: 'emit' | 'subscriber' | 'onRaw' | 'composite' | 'provider'
  readonly channel?: string
  readonly error: unknown
}

/** The result of `streamWithChannels`: the result of each channel, and data about the whole call. */
export interface ChannelStream {
  readonly results: ReadonlyMap<string, ChannelResult>
  readonly meta: StreamMeta
}

/** A function of the caller throws this error to abort the call. `streamWithChannels` throws it again. */
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
