import type { Notice } from '../../core/block/index.ts'
import { collectChannels, type ReceivedChannel } from '../../core/decision/decision.ts'
import type { EarlyCheck } from '../../core/decision/early-check.ts'
import { readPlainChannels } from '../../core/decision/fast-channels.ts'
import type { LaneEvent } from '../../core/event.ts'
import { type FinishReason, type ModelEvent, type ModelUsage, parseModelEvent, type ServiceError } from '../../core/model-event.ts'
import type { Channel } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import type { DeliveredAnswer, Lanes } from '../../core/stream/lanes.ts'
import type { Usage } from '../../core/timeline/change.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import { type ChannelReader, createChannelReader } from './live-output.ts'

/** One response of the model, split into channels. */
export interface ModelResponse {
  readonly raw: string
  /** The channels in the order in which they were first opened. */
  readonly channels: readonly ReceivedChannel[]
  readonly preamble: string
  /** Set when the model ended the response itself or reached the output limit. */
  readonly finish: { readonly reason: FinishReason; readonly modelName: string } | undefined
  /** Set when the response ended in another way: the provider failed, or the adapter threw. */
  readonly error: ServiceError | undefined
  /** The usage that the provider billed, however the response ended. */
  readonly usage: ModelUsage | undefined
  /** The error that the adapter threw. Never journaled, because it may contain anything, such as a key. */
  readonly thrown: unknown
  /** Whether the user has seen a part of the response. Then the call must not be repeated silently. */
  showedAnything(): boolean
  /** Whether the user has seen more than the model's thinking. */
  showedContent(): boolean
  answer(): DeliveredAnswer | undefined
  /** The protocol violation at the start of the response that ended the call early. */
  readonly violation: Notice | undefined
  /** Whether the call was aborted before the model had ended the response. Such a response breaks no rule, wherever it was cut. */
  readonly interrupted: boolean
  /** Whether the model ended the response after the call was aborted. Then it may be incomplete, whatever the adapter says. */
  readonly endedAfterAbort: boolean
}

export interface ReadOptions {
  /** How long the model may take to stop after the call was aborted. */
  readonly graceMs: number
  /** The name of the model, for a response that does not say which model wrote it. */
  readonly modelName: string
  readonly channels: readonly Channel[]
  createLanes(): Lanes
  /** Checks the start of the response. A violation ends the call at once. */
  readonly earlyCheck: EarlyCheck
  readonly live: Pick<LiveFeed, 'hasWatchers' | 'onJoin'>
  emit(delta: LaneEvent['delta']): void
}

/**
 * Reads a response to its end. Never rejects: errors are in the response. Without watchers, the text is only collected, and split into
 * channels at the end. For a response in the usual form, that needs no parser.
 */
export async function readResponse(
  open: () => AsyncIterable<ModelEvent>,
  activity: Activity,
  options: ReadOptions,
): Promise<ModelResponse> {
  const { graceMs, channels, earlyCheck, live } = options
  let raw = ''
  let finish: ModelResponse['finish']
  let error: ServiceError | undefined
  let usage: ModelUsage | undefined
  let thrown: unknown
  let violated = false
  let interrupted = false
  let endedAfterAbort = false
  let reader: ChannelReader | undefined
  let ending: Parameters<ChannelReader['end']>[0] | undefined

  /** Parses all text received so far. `latest` is the piece that was received last, if known. */
  function parse(latest?: string): ChannelReader {
    reader ??= createChannelReader(options)
    reader.readTo(raw, latest)
    if (ending) reader.end(ending)
    return reader
  }
  const liveOutput = () => parse().liveOutput

  function receive(received: ModelEvent): void {
    const event = parseModelEvent(received, options.modelName)
    if (!event) return
    if (event.type === 'text.delta') {
      raw += event.text
      if (live.hasWatchers()) parse(event.text).liveOutput.catchUp()
      else if (!earlyCheck.isDone() && (reader || !earlyCheck.startsValid(raw))) parse(event.text) // only a doubtful start is parsed
    } else if (event.type === 'finish') {
      finish = { reason: event.finishReason, modelName: event.modelName }
      endedAfterAbort = activity.signal.aborted
      error = undefined
      usage = event.usage
    } else if (event.type === 'error') {
      finish = undefined
      error = event.error
      usage = event.usage
    }
  }

  async function readEvents(stopTimer: StopTimer): Promise<void> {
    try {
      for await (const event of open()) {
        if (stopTimer.expired) break
        receive(event)
        if (reader?.violation === undefined || activity.signal.aborted) continue
        violated = true
        activity.abort(new DOMException('The response broke the protocol.', 'AbortError'))
        break
      }
    } finally {
      checkInterrupted()
    }
  }

  /** Called once, when the stream ends. An abort that comes a moment later finds a complete response and does not change it. */
  function checkInterrupted(): void {
    if (endedAfterAbort && !isEnd(finish?.reason)) finish = undefined
    interrupted = activity.signal.aborted && !violated && finish === undefined
  }

  live.onJoin(() => liveOutput().catchUp())
  const stopTimer = createStopTimer()
  activity.onStop(() => stopTimer.start(graceMs))
  const failure = await stopTimer.waitFor(readEvents(stopTimer))
  if (stopTimer.expired) checkInterrupted()
  const endedBefore = violated || (finish !== undefined && activity.signal.aborted) // the error is about the end of the stream only
  if (failure && !endedBefore) {
    finish = undefined
    usage = undefined
    error = adapterError(failure.thrown, raw !== '')
    thrown = failure.thrown
  }
  ending = finish ? (finish.reason === 'length' ? 'aborted' : 'whole') : 'cut'
  const plain = reader ? undefined : readPlainChannels(raw, channels)
  const parsed = plain ? { channels: plain, preamble: '', violation: undefined } : parsedBy(parse(), interrupted)
  if (live.hasWatchers()) liveOutput().catchUp()
  return {
    raw,
    ...parsed,
    finish,
    error,
    usage,
    thrown,
    interrupted,
    endedAfterAbort,
    showedAnything: () => liveOutput().showedAnything(),
    showedContent: () => liveOutput().showedContent(),
    answer: () => liveOutput().answer(),
  }
}

/** Whether a reason says that the model was done. After an abort, many adapters end the stream with another one. */
export const isEnd = (reason: string | undefined): boolean => reason !== 'other' && reason !== 'error'

const parsedBy = (reader: ChannelReader, interrupted: boolean): Pick<ModelResponse, 'channels' | 'preamble' | 'violation'> => ({
  channels: reader.channels(),
  preamble: reader.preamble,
  violation: interrupted ? undefined : reader.violation,
})

/** Token usage in the form in which it is journaled. */
export const toUsageRecord = ({ uncached, cacheRead, cacheWrite, cacheWriteLong, output, reasoning }: ModelUsage): Usage => ({
  uncached,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  ...(cacheWriteLong !== undefined && { cache_write_long: cacheWriteLong }),
  output,
  reasoning,
})

const ADAPTER = 'model'

/** Whether the adapter threw the error. Other errors were reported by the provider. */
export const isAdapterError = ({ service_name, provider }: ServiceError): boolean => service_name === ADAPTER && provider === ''

function adapterError(thrown: unknown, afterOutput: boolean): ServiceError {
  return {
    kind: 'unknown',
    service_name: ADAPTER,
    provider: '',
    model_name: '',
    error_type: thrown instanceof Error ? thrown.name : typeof thrown,
    message: 'The adapter of the model threw an error.',
    stage: afterOutput ? 'after_output' : 'before_output',
    retryable: false,
  }
}

/** Splits a complete response into channels. */
export function parseChannels(raw: string, channels: readonly Channel[]): Pick<ModelResponse, 'channels' | 'preamble'> {
  const parser = createChannelParser(channels)
  const events = [...parser.push(raw), ...parser.end()]
  return { channels: collectChannels(events), preamble: parser.preamble }
}

/** Limits the time that a model may take to stop. When the time is up, the call goes on without the model. */
export interface StopTimer {
  /** Called when the model was told to stop. It has `ms` milliseconds to do so. */
  start(ms: number): void
  /** True when the time is up. Every later event of the model must be ignored. */
  readonly expired: boolean
  /** Waits until `reading` has ended or the time is up. Returns the error that `reading` threw. Never rejects. */
  waitFor(reading: Promise<void>): Promise<{ readonly thrown: unknown } | undefined>
}

export function createStopTimer(): StopTimer {
  let timer: NodeJS.Timeout | undefined
  let finished = false
  let resolveWait: ((failure: { readonly thrown: unknown } | undefined) => void) | undefined

  function finish(failure?: { readonly thrown: unknown }): void {
    finished = true
    clearTimeout(timer)
    resolveWait?.(failure)
  }

  const self = {
    expired: false,
    start(ms: number) {
      if (!finished) timer ??= setTimeout(expire, ms)
    },
    waitFor: (reading: Promise<void>) =>
      new Promise<{ readonly thrown: unknown } | undefined>((resolve) => {
        resolveWait = resolve
        reading.then(
          () => finish(),
          (thrown: unknown) => finish({ thrown }),
        )
      }),
  }
  function expire(): void {
    self.expired = true
    finish()
  }
  return self
}
