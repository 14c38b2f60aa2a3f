import type { SourceMap } from '../../core/citations/replace.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../../core/model-event.ts'
import type { StandardSchemaV1 } from '../../core/standard-schema.ts'
import type { Channel, ChannelFormat } from '../../core/stream/channel.ts'

/** A channel of the call, and how its text is processed. */
export interface ChannelSpec extends Channel {
  /** The shape of a channel whose body is JSON. The result has `obj` if the body is valid, else `error`. */
  readonly schema?: StandardSchemaV1
  /** Replaces citations in the shown text by links. The default is false for raw channels, which are code, else true. */
  readonly replaceCitations?: boolean
  /** Removes `[[USAGE:…]]` from the shown text. The default is false for raw channels, else true. */
  readonly stripUsage?: boolean
  /** Where a client shows the channel. Default `answer`. A channel named `usage` is shown only if it has another marker. */
  readonly emitMarker?: string
}

/** A piece of a channel. `raw` is the model's text, `text` is what the user sees. */
export interface Delta {
  readonly channel: string
  readonly instance: number
  /** The number of the delta in its channel, from 0. For a composite, it is the number in its artifact. */
  readonly index: number
  readonly text: string
  readonly raw: string
  readonly marker: string
  readonly agent: string
  readonly format: ChannelFormat
  readonly artifact_name?: string
  /** True for the last delta of the instance. The text of that delta is empty. */
  readonly completed: boolean
  /** Set when the instance was completed because the model service failed. */
  readonly aborted?: true
  /** The attempt that made the delta. A client discards the output of earlier attempts. */
  readonly extra: { readonly attempt: number }
}

/** Receives the deltas of a call, in order. The call waits for its promise. */
export type Emit = (delta: Delta) => void | Promise<void>
/** Receives the deltas of one channel. */
export type Subscriber = Emit
/** Creates a subscriber for each instance of a channel, when the instance begins. */
export interface SubscriberFactory {
  forInstance(instance: number): Subscriber
}
/** The subscribers of each channel, by its name. They are called in the given order. */
export type ChannelSubscribers = Readonly<Record<string, readonly (Subscriber | SubscriberFactory)[]>>

/** Replaces the text of a JSON channel by deltas of its attributes. `createCompositeReader` makes a composite. */
export interface Composite {
  readonly channel: string
  push(text: string): readonly CompositeDelta[]
  end(): readonly CompositeDelta[]
}
/** A delta of one attribute of a JSON channel. */
export type CompositeDelta = Pick<Delta, 'marker' | 'artifact_name' | 'format' | 'index' | 'text' | 'completed' | 'aborted'>

/** The body of a JSON channel as a value, or why it has none. */
export type ParsedPayload =
  | { readonly ok: true; readonly value: unknown; readonly repairs?: readonly string[] }
  | { readonly ok: false; readonly error: { readonly message: string } }

/** Options of `streamWithChannels`. */
export interface StreamWithChannelsOptions {
  /** The model's events. Pass a function that takes a signal if an abort of the call must reach the model. */
  readonly stream: AsyncIterable<ModelEvent> | ((signal: AbortSignal) => AsyncIterable<ModelEvent>)
  readonly channels: readonly ChannelSpec[]
  readonly emit: Emit
  readonly agent: string
  readonly artifactName?: string
  /** The sources that citations refer to. Called for each citation, so that sources may be added during the call. */
  readonly sources?: () => SourceMap
  readonly subscribers?: ChannelSubscribers
  /** Called with each piece of text before it is parsed. */
  readonly onRaw?: (piece: string) => void | Promise<void>
  readonly composite?: Composite
  /** Parses a body before it is validated. The default tolerates common mistakes of models, and lists them in `repairs`. */
  readonly parse?: (payload: string) => ParsedPayload
  /** The number of the attempt, from 0. */
  readonly attempt?: number
  /** Aborting this signal aborts the call. */
  readonly signal?: AbortSignal
  /** The current time in milliseconds. Without a clock, results have no times. */
  readonly clock?: () => number
}

/** What one channel contained. */
export interface ChannelResult {
  /** The model's text, all instances together. */
  readonly raw: string
  /** The body without its code fence, for structured formats. */
  readonly payload?: string
  readonly obj?: unknown
  readonly error?: string
  /** The mistakes that the parser has repaired. */
  readonly repairs?: readonly string[]
  readonly instances: readonly string[]
  /** How the last instance ended. `cut` means that the stream ended before it did. */
  readonly closed?: 'tag' | 'implied' | 'cut'
  readonly usedSources: readonly number[]
  readonly unresolvedSources: readonly number[]
  readonly usageSources: readonly number[]
  readonly startedAt?: number
  readonly finishedAt?: number
}

/** Facts about the call as a whole. */
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
  /** The first 20 errors of listeners and of the provider that did not end the call. */
  readonly problems: readonly StreamProblem[]
}

/** An error of a listener or of the provider. It did not end the call. */
export interface StreamProblem {
  readonly where: 'emit' | 'subscriber' | 'onRaw' | 'composite' | 'provider'
  readonly channel?: string
  readonly error: unknown
}

/** What `streamWithChannels` resolves with: the result of each channel, and facts about the call. */
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
