import type { Notice } from '../../core/block/index.ts'
import { collectChannels, type NativeCall, type ReceivedChannel } from '../../core/decision/decision.ts'
import type { EarlyCheck } from '../../core/decision/early-check.ts'
import { readPlainChannels } from '../../core/decision/fast-read.ts'
import type { LaneEvent } from '../../core/event.ts'
import {
  type Dialect,
  type FinishReason,
  type ModelEvent,
  type ModelUsage,
  parseModelEvent,
  type ServiceError,
} from '../../core/model-event.ts'
import type { Channel } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import type { LaneEnd } from '../../core/stream/lane.ts'
import type { Lanes } from '../../core/stream/lanes.ts'
import type { NativeEvent } from '../../core/stream/native-parts.ts'
import type { Usage } from '../../core/timeline/response-record.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { LiveFeed } from '../events/event-hub.ts'
import { type ChannelReader, createChannelReader, type LiveOutput } from './live-output.ts'
import { createNativeReader } from './native-reader.ts'
import { adapterError } from './service-errors.ts'

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

export interface ReadOptions {
  /** How many milliseconds the model may take to stop after the call was aborted. */
  readonly graceMs: number
  /** The name that is used if the response does not say which model wrote it. */
  readonly modelName: string
  readonly channels: readonly Channel[]
  readonly dialect: Dialect
  createLanes(): Lanes
  createNativeLanes(): Lanes<NativeEvent>
  /** Checks the start of the response. If it breaks a rule, the call ends at once. */
  readonly earlyCheck: EarlyCheck
  readonly live: Pick<LiveFeed, 'hasWatchers' | 'onJoin'>
  emit(delta: LaneEvent['delta']): void
}

/**
 * Reads a response to its end. Never rejects, because errors are part of the result. If no client watches, the text is only collected and
 * is split into channels at the end. If each channel then occurs once with exact tags, `readPlainChannels` splits the text without the
 * parser.
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
  const native = options.dialect === 'native' ? createNativeReader(options) : undefined
  let ending: LaneEnd | undefined

  /** Parses all text received so far. `latest` is the last received piece, if the caller knows it. */
  function parse(latest?: string): ChannelReader {
    reader ??= createChannelReader(options)
    reader.readTo(raw, latest)
    if (ending) reader.end(ending)
    return reader
  }
  const liveOutput = () => native?.liveOutput ?? parse().liveOutput

  function receive(received: ModelEvent): void {
    const event = parseModelEvent(received, options.modelName)
    if (!event) return
    if (native && event.type !== 'finish' && event.type !== 'error') {
      native.receive(event)
      if (live.hasWatchers()) native.liveOutput.catchUp()
    } else if (event.type === 'text.delta') {
      raw += event.text
      if (live.hasWatchers()) parse(event.text).liveOutput.catchUp()
      // without watchers, text is parsed only if its start may break a rule
      else if (!earlyCheck.isDone() && (reader || !earlyCheck.startsValid(raw))) parse(event.text)
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
        if (finish) stopTimer.startIfOpen(openAfterFinishMs)
        if (reader?.violation === undefined || activity.signal.aborted) continue
        violated = true
        activity.abort(new DOMException('The response broke the protocol.', 'AbortError'))
        break
      }
    } finally {
      checkInterrupted()
    }
  }

  /**
   * Sets `interrupted`. Called when the stream ends, or when the model did not stop in time after an abort. A response that the model has
   * completed is not interrupted, even if the call was aborted. Some adapters report an end after an abort although the text is not
   * complete. Such an end is ignored.
   */
  function checkInterrupted(): void {
    if (endedAfterAbort && (!isEnd(finish?.reason) || (finish?.reason === 'stop' && isIncomplete()))) finish = undefined
    interrupted = activity.signal.aborted && !violated && finish === undefined
  }

  const isIncomplete = () => native?.isOpen() ?? isUnclosed(raw, channels)

  /** The channels of the response. The fast path reads them without the parser, if nothing has parsed the response yet. */
  function parsedChannels(): ParsedContent {
    const plain = reader ? undefined : readPlainChannels(raw, channels)
    return plain ? { channels: plain, calls: undefined, preamble: '', violation: undefined } : parsedBy(parse(), interrupted)
  }

  live.onJoin(() => liveOutput().catchUp())
  const stopTimer = createStopTimer()
  activity.onStop(() => stopTimer.start(graceMs))
  const failure = await stopTimer.waitFor(readEvents(stopTimer))
  if (stopTimer.expired) checkInterrupted()
  // an error after the end of the response, or after a violation, does not change the result
  const endedBefore = violated || (finish !== undefined && activity.signal.aborted)
  if (native) raw = native.raw()
  if (failure && !endedBefore) {
    finish = undefined
    usage = undefined
    error = adapterError(failure.thrown, raw !== '')
    thrown = failure.thrown
  }
  ending = finish ? (finish.reason === 'length' ? 'aborted' : 'whole') : 'cut'
  native?.end(ending)
  const parsed: ParsedContent = native ? { ...native.content(), preamble: '', violation: undefined } : parsedChannels()
  if (live.hasWatchers()) liveOutput().catchUp()
  return {
    raw,
    text: () => native?.text() ?? raw,
    channels: parsed.channels,
    calls: parsed.calls,
    preamble: parsed.preamble,
    violation: parsed.violation,
    finish,
    error,
    usage,
    thrown,
    interrupted,
    endedAfterAbort,
    liveOutput,
  }
}

/** Whether a finish reason says that the model had ended its response. After an abort, many adapters report `other` or `error`. */
export const isEnd = (reason: string | undefined): boolean => reason !== 'other' && reason !== 'error'

type ParsedContent = Pick<ModelResponse, 'channels' | 'calls' | 'preamble' | 'violation'>

const parsedBy = (reader: ChannelReader, interrupted: boolean): ParsedContent => ({
  channels: reader.channels(),
  calls: undefined,
  preamble: reader.preamble(),
  violation: interrupted ? undefined : reader.violation,
})

/**
 * Whether a response ends inside of a channel. If the call was aborted before, such a response is not complete, whatever the adapter says.
 */
const isUnclosed = (raw: string, channels: readonly Channel[]): boolean =>
  parseChannels(raw, channels).channels.some(({ closed }) => closed === 'cut')

/** Converts token usage to the form in which it is journaled. */
export const toUsageRecord = ({ uncached, cacheRead, cacheWrite, cacheWriteLong, output, reasoning }: ModelUsage): Usage =>
  cacheWriteLong === undefined
    ? { uncached, cache_read: cacheRead, cache_write: cacheWrite, output, reasoning }
    : { uncached, cache_read: cacheRead, cache_write: cacheWrite, cache_write_long: cacheWriteLong, output, reasoning }

/** Splits a complete response into channels. */
export function parseChannels(raw: string, channels: readonly Channel[]): Pick<ModelResponse, 'channels' | 'preamble'> {
  const plain = readPlainChannels(raw, channels)
  if (plain) return { channels: plain, preamble: '' }
  const parser = createChannelParser(channels)
  const events = [...parser.push(raw), ...parser.end()]
  return { channels: collectChannels(events), preamble: parser.preamble }
}

/**
 * How many milliseconds an adapter may keep its stream open after its event `finish`. After this time, the response is used although the
 * stream is still open.
 */
export const openAfterFinishMs = 100

/**
 * Limits the time that a model may take to stop. When the time is up, its response so far is used, and the turn continues without waiting
 * for the model.
 */
export interface StopTimer {
  /** Called when the model was told to stop. Its stream has `ms` milliseconds to end. Later calls have no effect. */
  start(ms: number): void
  /** Called when the model has finished. Most streams end at once, so `start` is called only if the stream is open in the next task. */
  startIfOpen(ms: number): void
  /** True when the time is up. Later events of the model must be ignored. */
  readonly expired: boolean
  /** Waits until `reading` has ended or the time is up. If `reading` threw an error, returns it. Never rejects. */
  waitFor(reading: Promise<void>): Promise<{ readonly thrown: unknown } | undefined>
}

export function createStopTimer(): StopTimer {
  let timer: NodeJS.Timeout | undefined
  let nextTask: NodeJS.Immediate | undefined
  let finished = false
  let resolveWait: ((failure: { readonly thrown: unknown } | undefined) => void) | undefined

  function finish(failure?: { readonly thrown: unknown }): void {
    finished = true
    if (timer) clearTimeout(timer)
    if (nextTask) clearImmediate(nextTask)
    resolveWait?.(failure)
  }

  const self = {
    expired: false,
    start(ms: number) {
      if (!finished) timer ??= setTimeout(expire, ms)
    },
    startIfOpen(ms: number) {
      if (!finished) nextTask ??= setImmediate(() => self.start(ms)) // `setTimeout` for each response would take 1 µs
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
