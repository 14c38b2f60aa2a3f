import type { Notice } from '../../core/block/index.ts'
import type { NativeCall, ReceivedChannel } from '../../core/decision/decision.ts'
import type { LaneEvent } from '../../core/event.ts'
import type { Dialect, FinishReason, ModelUsage, ServiceError } from '../../core/model-event.ts'
import type { Channel } from '../../core/stream/channel.ts'
import type { Lanes } from '../../core/stream/lanes.ts'
import type { NativeEvent } from '../../core/stream/native-parts.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import type { LiveOutput } from './live-output.ts'

/** One response of the model, split into channels. */
export interface ModelResponse {
  readonly raw: string
  /** The channels in the order in which they were first opened. */
  readonly channels: readonly ReceivedChannel[]
  readonly preamble: string
  /** The calls of a response in the dialect `native`. Undefined in the dialect `channels`. */
  readonly calls: readonly NativeCall[] | undefined
  /** The response as text that the model can read. It differs from `raw` in the dialect `native`. */
  text(): string
  /** Set when the model ended the response or reached the output limit. */
  readonly finish: { readonly reason: FinishReason; readonly modelName: string } | undefined
  /** Set when the provider failed or the adapter threw an error. */
  readonly error: ServiceError | undefined
  /** The usage that the provider reported. It may also be set for a failed response. */
  readonly usage: ModelUsage | undefined
  /** The error that the adapter threw. It is never journaled, because its message may contain secrets such as a key. */
  readonly thrown: unknown
  /**
   * The output that users have seen. If it is not empty, the call must not be repeated, because users would see two different beginnings.
   */
  liveOutput(): Omit<LiveOutput, 'add'>
  /** The rule that the start of the response broke. The call was then ended early. */
  readonly violation: Notice | undefined
  /**
   * Whether the call was aborted before the model had ended the response. Such a response is incomplete, so its violations are not
   * reported.
   */
  readonly interrupted: boolean
  /**
   * Whether the model ended the response after the call was aborted. The response may be incomplete, even if the adapter reports an
   * ordinary end.
   */
  readonly endedAfterAbort: boolean
}

/** How a response is read and shown. */
export interface ReadOptions {
  /** How many milliseconds the model may take to stop after the call was aborted. */
  readonly graceMs: number
  /** The name that is used if the response does not say which model wrote it. */
  readonly modelName: string
  readonly channels: readonly Channel[]
  readonly dialect: Dialect
  createLanes(): Lanes
  createNativeLanes(): Lanes<NativeEvent>
  /** Whether a text without any channel may be the answer. */
  readonly acceptsPlainText: boolean
  readonly live: Pick<LiveFeed, 'hasWatchers' | 'onJoin'>
  emit(delta: LaneEvent['delta']): void
}
