import { collectChannels } from '../../core/decision/decision.ts'
import { startOf } from '../../core/decision/early-check.ts'
import { readPlainChannels } from '../../core/decision/fast-read.ts'
import { type ModelEvent, type ModelUsage, parseModelEvent, type ServiceError } from '../../core/model-event.ts'
import type { Channel } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import type { LaneEnd } from '../../core/stream/lane.ts'
import type { Usage } from '../../core/timeline/response-record.ts'
import type { Activity } from '../conversation/inbox.ts'
import { type ChannelReader, createChannelReader } from './live-output.ts'
import type { ModelResponse, ReadOptions } from './model-response.ts'
import { createNativeReader, type NativeReader } from './native-reader.ts'
import { adapterError } from './service-errors.ts'

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
  const reading = startReading(activity, options)
  const { stopTimer, native } = reading
  options.live.onJoin(() => liveOutputOf(reading).catchUp())
  activity.onStop(() => startStopTimer(stopTimer, options.graceMs))
  const failure = await untilStopped(stopTimer, readEvents(reading, open))
  if (stopTimer.expired) checkInterrupted(reading)
  // an error after the end of the response, or after a violation, does not change the result
  const endedBefore = reading.violated || (reading.finish !== undefined && activity.signal.aborted)
  if (native) reading.raw = native.raw()
  if (failure && !endedBefore) {
    reading.finish = undefined
    reading.usage = undefined
    reading.error = adapterError(failure.thrown, reading.raw !== '')
    reading.thrown = failure.thrown
  }
  const { raw, finish, error, usage, thrown, interrupted, endedAfterAbort } = reading
  reading.ending = finish ? (finish.reason === 'length' ? 'aborted' : 'whole') : 'cut'
  native?.end(reading.ending)
  const { channels, calls, preamble, violation } = contentOf(reading)
  if (options.live.hasWatchers()) liveOutputOf(reading).catchUp()
  return {
    raw,
    text: () => native?.text() ?? raw,
    channels,
    calls,
    preamble,
    violation,
    finish,
    error,
    usage,
    thrown,
    interrupted,
    endedAfterAbort,
    liveOutput: () => liveOutputOf(reading),
  }
}

/**
 * The state of a response that is being read. The steps are functions that get this state: closures over it would allocate about 1 KB for
 * every response.
 */
interface Reading {
  readonly options: ReadOptions
  readonly activity: Activity
  readonly stopTimer: StopTimer
  /** Reads the response in the dialect `native`. Undefined in the dialect `channels`. */
  readonly native: NativeReader | undefined
  raw: string
  /** How the response starts, as far as it is known. Not updated while a client watches. */
  start: ReturnType<typeof startOf>
  finish: ModelResponse['finish']
  error: ServiceError | undefined
  usage: ModelUsage | undefined
  thrown: unknown
  violated: boolean
  interrupted: boolean
  endedAfterAbort: boolean
  /** The parser of the channels. It is made when a client watches, or when the start of the response may break a rule. */
  reader: ChannelReader | undefined
  /** How the response ended. Undefined until then. */
  ending: LaneEnd | undefined
}

const startReading = (activity: Activity, options: ReadOptions): Reading => ({
  options,
  activity,
  stopTimer: createStopTimer(),
  native: options.dialect === 'native' ? createNativeReader(options) : undefined,
  raw: '',
  start: 'incomplete',
  finish: undefined,
  error: undefined,
  usage: undefined,
  thrown: undefined,
  violated: false,
  interrupted: false,
  endedAfterAbort: false,
  reader: undefined,
  ending: undefined,
})

async function readEvents(reading: Reading, open: () => AsyncIterable<ModelEvent>): Promise<void> {
  const { activity, stopTimer } = reading
  try {
    for await (const event of open()) {
      if (stopTimer.expired) break
      receive(reading, event)
      if (reading.finish) startIfOpen(stopTimer)
      if (reading.reader?.violation === undefined || activity.signal.aborted) continue
      reading.violated = true
      activity.abort(new DOMException('The response broke the protocol.', 'AbortError'))
      break
    }
  } finally {
    checkInterrupted(reading)
  }
}

function receive(reading: Reading, received: ModelEvent): void {
  const { native, options } = reading
  const { live } = options
  const event = parseModelEvent(received, options.modelName)
  if (!event) return
  if (native && event.type !== 'finish' && event.type !== 'error') {
    native.receive(event)
    if (live.hasWatchers()) native.liveOutput.catchUp()
  } else if (event.type === 'text.delta') {
    reading.raw += event.text
    if (live.hasWatchers()) parse(reading, event.text).liveOutput.catchUp()
    else if (mayBreakRule(reading)) parse(reading, event.text)
  } else if (event.type === 'finish') {
    reading.finish = { reason: event.finishReason, modelName: event.modelName }
    reading.endedAfterAbort = reading.activity.signal.aborted
    reading.error = undefined
    reading.usage = event.usage
  } else if (event.type === 'error') {
    reading.finish = undefined
    reading.error = event.error
    reading.usage = event.usage
  }
}

/** Whether the start of the response may break a rule. Only then is the text parsed while it arrives and no client watches. */
function mayBreakRule(reading: Reading): boolean {
  if (reading.reader) return !reading.reader.hasCheckedStart()
  if (reading.start !== 'valid') reading.start = startOf(reading.raw)
  return reading.start === 'other'
}

/** Parses all text received so far. `latest` is the last received piece, if the caller knows it. */
function parse(reading: Reading, latest?: string): ChannelReader {
  const reader = reading.reader ?? createChannelReader(reading.options)
  reading.reader = reader
  reader.readTo(reading.raw, latest)
  if (reading.ending) reader.end(reading.ending)
  return reader
}

const liveOutputOf = (reading: Reading) => reading.native?.liveOutput ?? parse(reading).liveOutput

/**
 * Sets `interrupted`. Called when the stream ends, or when the model did not stop in time after an abort. A response that the model has
 * completed is not interrupted, even if the call was aborted. Some adapters report an end after an abort although the text is not complete.
 * Such an end is ignored.
 */
function checkInterrupted(reading: Reading): void {
  const { finish, activity, endedAfterAbort } = reading
  if (endedAfterAbort && (!isEnd(finish?.reason) || (finish?.reason === 'stop' && isIncomplete(reading)))) reading.finish = undefined
  reading.interrupted = activity.signal.aborted && !reading.violated && reading.finish === undefined
}

const isIncomplete = ({ native, raw, options }: Reading): boolean => native?.isOpen() ?? isUnclosed(raw, options.channels)

/** The content of a response that has ended. The fast path reads the channels without the parser, if nothing has parsed them yet. */
function contentOf(reading: Reading): ParsedContent {
  const { native, reader, raw, options, interrupted } = reading
  if (native) return { ...native.content(), preamble: '', violation: undefined }
  const plain = reader ? undefined : readPlainChannels(raw, options.channels)
  return plain ? { channels: plain, calls: undefined, preamble: '', violation: undefined } : parsedBy(parse(reading), interrupted)
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

/** The error that the adapter of a model threw. */
export interface ThrownError {
  readonly thrown: unknown
}

/**
 * Limits the time that a model may take to stop. When the time is up, its response so far is used, and the turn continues without waiting
 * for the model. The timer is plain data with functions, because every response needs one, and an object with methods takes four times as
 * much memory.
 */
export interface StopTimer {
  /** True when the time is up. Later events of the model must be ignored. */
  expired: boolean
  ended: boolean
  timer: NodeJS.Timeout | undefined
  nextTask: NodeJS.Immediate | undefined
  resolve: ((error: ThrownError | undefined) => void) | undefined
}

/** How many milliseconds an adapter may keep its stream open after its event `finish`. After this time, the response is used anyway. */
export const openAfterFinishMs = 100

export const createStopTimer = (): StopTimer => ({
  expired: false,
  ended: false,
  timer: undefined,
  nextTask: undefined,
  resolve: undefined,
})

/** Called when the model was told to stop. Its stream has `ms` milliseconds to end. Later calls have no effect. */
export function startStopTimer(stop: StopTimer, ms: number): void {
  if (!stop.ended) stop.timer ??= setTimeout(expire, ms, stop)
}

/** Called when the model has finished. Most streams end at once, so the timer starts only if the stream is open in the next task. */
export function startIfOpen(stop: StopTimer): void {
  if (!stop.ended) stop.nextTask ??= setImmediate(startStopTimer, stop, openAfterFinishMs) // `setTimeout` would take 1 µs per response
}

/** Waits until `reading` has ended or the time is up. If `reading` threw an error, resolves with it. Never rejects. */
export function untilStopped(stop: StopTimer, reading: Promise<void>): Promise<ThrownError | undefined> {
  return new Promise((resolve) => {
    stop.resolve = resolve
    reading.then(
      () => end(stop, undefined),
      (thrown: unknown) => end(stop, { thrown }),
    )
  })
}

function expire(stop: StopTimer): void {
  stop.expired = true
  end(stop, undefined)
}

function end(stop: StopTimer, error: ThrownError | undefined): void {
  stop.ended = true
  if (stop.timer) clearTimeout(stop.timer)
  if (stop.nextTask) clearImmediate(stop.nextTask)
  stop.resolve?.(error)
}
