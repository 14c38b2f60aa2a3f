import type { SourceMap } from '../../core/citations/replace.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../../core/model-event.ts'
import type { StandardSchemaV1 } from '../../core/standard-schema.ts'
import type { Channel, ChannelFormat } from '../../core/stream/channel.ts'

/** One logical output of the call, and what is done with it on its way out. */
export interface ChannelSpec extends Channel {
  /** The body is JSON of this shape; `obj` or `error` of the result says whether it was. */
  readonly schema?: StandardSchemaV1
  /** Default true; false for raw channels, which are code. */
  readonly replaceCitations?: boolean
  /** Takes `[[USAGE:…]]` out of what is shown. Default true; false for raw channels. */
  readonly stripUsage?: boolean
  /** Where a client shows it. Default `answer`; a channel named `usage` is never shown there, and without another marker nowhere. */
  readonly emitMarker?: string
}

/** A piece of a channel. `raw` is what the model wrote, `text` is what a person sees of it. */
export interface Delta {
  readonly channel: string
  readonly instance: number
  /** From 0, one more with each delta of the channel; deltas of a composite count per artifact. */
  readonly index: number
  readonly text: string
  readonly raw: string
  readonly marker: string
  readonly agent: string
  readonly format: ChannelFormat
  readonly artifactName?: string
  /** The last delta of the instance; its text is empty. */
  readonly completed: boolean
  /** Completed because the service broke, not because it was whole. */
  readonly aborted?: true
  /** A client drops what it has of an earlier attempt when it sees a later one. */
  readonly extra: { readonly attempt: number }
}

export type Emit = (delta: Delta) => void | Promise<void>
export type Subscriber = Emit
/** Makes a subscriber for each instance, when that instance opens. */
export interface SubscriberFactory {
  forInstance(instance: number): Subscriber
}
/** By channel name, in the order in which they are called. */
export type ChannelSubscribers = Readonly<Record<string, readonly (Subscriber | SubscriberFactory)[]>>

/** Reads a JSON channel and says what is shown of it instead of its text. `createCompositeReader` makes one. */
export interface Composite {
  readonly channel: string
  push(text: string): readonly CompositeDelta[]
  end(): readonly CompositeDelta[]
}
export type CompositeDelta = Pick<Delta, 'marker' | 'artifactName' | 'format' | 'index' | 'text' | 'completed' | 'aborted'>

export type ParsedPayload =
  | { readonly ok: true; readonly value: unknown; readonly repairs?: readonly string[] }
  | { readonly ok: false; readonly error: { readonly message: string } }

export interface StreamWithChannelsOptions {
  /** The model's answer; as a function of a signal, so that a policy violation can stop it. */
  readonly stream: AsyncIterable<ModelEvent> | ((signal: AbortSignal) => AsyncIterable<ModelEvent>)
  readonly channels: readonly ChannelSpec[]
  readonly emit: Emit
  readonly agent: string
  readonly artifactName?: string
  /** Asked at each citation. */
  readonly sources?: () => SourceMap
  readonly subscribers?: ChannelSubscribers
  /** Sees each piece before it is parsed. */
  readonly onRaw?: (piece: string) => void | Promise<void>
  readonly composite?: Composite
  /** How a body becomes a value before its schema sees it. Default: as models write JSON, with what had to be forgiven in `repairs`. */
  readonly parse?: (payload: string) => ParsedPayload
  /** Which try this is, from 0. */
  readonly attempt?: number
  /** Stops the call from outside. */
  readonly signal?: AbortSignal
  /** Milliseconds; without it results carry no times. */
  readonly clock?: () => number
}

export interface ChannelResult {
  /** What the model wrote, all instances together. */
  readonly raw: string
  /** For structured formats: the body without its wrapping fence. */
  readonly payload?: string
  readonly obj?: unknown
  readonly error?: string
  /** What had to be mended before the body was JSON. */
  readonly repairs?: readonly string[]
  readonly instances: readonly string[]
  /** How the last instance ended; `cut`: the stream was over first. */
  readonly closed?: 'tag' | 'implied' | 'cut'
  readonly usedSources: readonly number[]
  readonly unresolvedSources: readonly number[]
  readonly usageSources: readonly number[]
  readonly startedAt?: number
  readonly finishedAt?: number
}

export interface StreamMeta {
  /** Every word of the model, and nothing else. */
  readonly raw: string
  readonly serviceError?: ServiceError
  readonly usage?: ModelUsage
  readonly modelName?: string
  readonly providerMessageId?: string
  readonly finishReason?: FinishReason
  /** What the model thought aloud beside its answer. */
  readonly thoughts: string
  readonly preamble: string
  readonly strayTags: readonly string[]
  readonly unknownChannels: readonly string[]
  /** Listeners that failed while the stream went on, the first 20 times. */
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

/** Thrown by a listener that must stop the model: the call is aborted and the caller gets the violation. */
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
