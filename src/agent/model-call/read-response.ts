import type { Notice } from '../../core/block/index.ts'
import type { EarlyCheck } from '../../core/decision/early-check.ts'
import { readPlainChannels } from '../../core/decision/fast-channels.ts'
import { collectChannels, type ReceivedChannel } from '../../core/decision/response.ts'
import type { LaneEvent } from '../../core/event.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../../core/model-event.ts'
import type { Channel } from '../../core/stream/channel.ts'
import { createChannelParser } from '../../core/stream/channel-parser.ts'
import type { DeliveredAnswer, Lanes } from '../../core/stream/lanes.ts'
import type { Activity } from '../conversation/inbox.ts'
import type { Watchers } from '../events/event-hub.ts'
import { forAwait } from './fast-for-await.ts'
import { type ChannelReader, createChannelReader } from './live-output.ts'

/** One answer of the model, cut into channels, with how it ended. */
export interface ModelResponse {
  readonly raw: string
  /** In order of first opening. */
  readonly channels: readonly ReceivedChannel[]
  readonly preamble: string
  /** Set when the model came to an end by itself or by the output limit. */
  readonly finish: { readonly reason: FinishReason; readonly modelName: string } | undefined
  /** Set when it did not. */
  readonly error: ServiceError | undefined
  /** What was billed for it, however it ended. */
  readonly usage: ModelUsage | undefined
  /** What the adapter threw, if that is why. It may hold anything, so it is entered nowhere. */
  readonly thrown: unknown
  /** A lane has shown something to the user: the call is not repeated behind their back. */
  showedAnything(): boolean
  /** More than thoughts: something they may take for done. */
  showedContent(): boolean
  answer(): DeliveredAnswer | undefined
  /** The rule it broke from its first words on: the rest was not waited for. */
  readonly violation: Notice | undefined
}

export interface ReadOptions {
  /** How long the model may take to stop. */
  readonly graceMs: number
  readonly channels: readonly Channel[]
  createLanes(): Lanes
  /** Looks at each piece until it has seen how the response begins; a violation ends the stream at once. */
  readonly earlyCheck: EarlyCheck
  readonly watchers: Watchers
  emit(delta: LaneEvent['delta']): void
}

/**
 * Listens to a stream to its end. Never throws: whatever the model or the provider does is in what was heard. While nobody watches,
 * pieces are only kept and then read at once: how a text was cut makes no difference to what it says. One that is plain is not even
 * parsed, unless somebody asks what was shown of it.
 */
export function readResponse(speak: () => AsyncIterable<ModelEvent>, phase: Activity, listening: ReadOptions): Promise<ModelResponse> {
  const ear = new ResponseReader(phase, listening)
  listening.watchers.onJoin(() => ear.catchUp())
  return readModelStream(speak, ear)
}

/** What is heard, while it is heard and afterwards: one object, because there is one for every question. */
class ResponseReader implements ModelResponse, StreamHandlers<ModelResponse> {
  raw = ''
  channels: readonly ReceivedChannel[] = []
  preamble = ''
  finish: ModelResponse['finish'] = undefined
  error: ModelResponse['error'] = undefined
  usage: ModelResponse['usage'] = undefined
  thrown: unknown = undefined
  violation: Notice | undefined = undefined
  readonly activity: Activity
  readonly graceMs: number
  private readonly listening: ReadOptions
  private ending: Parameters<ChannelReader['end']>[0] | undefined = undefined
  private reader: ChannelReader | undefined = undefined

  constructor(phase: Activity, listening: ReadOptions) {
    this.activity = phase
    this.graceMs = listening.graceMs
    this.listening = listening
  }

  onEvent(event: ModelEvent): boolean {
    if (event.type === 'text.delta') {
      const { watchers: audience, earlyCheck: watch } = this.listening
      this.raw += event.text
      if (audience.any()) this.upToNow(event.text).liveOutput.catchUp()
      else if (!watch.done && (this.reader || !watch.startsValid(this.raw))) this.upToNow(event.text) // whoever reads already need not look at all of it again
    } else if (event.type === 'finish') {
      this.finish = { reason: event.finishReason, modelName: event.modelName }
      this.error = undefined
      this.usage = event.usage
    } else if (event.type === 'error') {
      this.finish = undefined
      this.error = event.error
      this.usage = event.usage
    }
    if (this.reader?.violation === undefined) return true
    this.activity.abort(new DOMException('The response broke the protocol.', 'AbortError'))
    return false
  }

  onEnd(broke: { readonly thrown: unknown } | undefined): ModelResponse {
    if (broke && !this.reader?.violation) this.brokeOff(broke.thrown) // whoever was stopped for a violation may throw as it likes
    this.ending = this.finish ? (this.finish.reason === 'length' ? 'aborted' : 'whole') : 'cut'
    const plain = this.reader ? undefined : readPlainChannels(this.raw, this.listening.channels)
    if (plain) this.channels = plain
    else this.readWhole(this.upToNow())
    if (this.listening.watchers.any()) this.catchUp()
    return this
  }

  showedAnything(): boolean {
    return this.upToNow().liveOutput.showedAnything()
  }

  showedContent(): boolean {
    return this.upToNow().liveOutput.showedContent()
  }

  answer(): DeliveredAnswer | undefined {
    return this.upToNow().liveOutput.answer()
  }

  catchUp(): void {
    this.upToNow().liveOutput.catchUp()
  }

  private brokeOff(thrown: unknown): void {
    this.finish = undefined
    this.usage = undefined
    this.error = thrownError(thrown, this.raw !== '')
    this.thrown = thrown
  }

  private readWhole(reader: ChannelReader): void {
    this.channels = reader.channels()
    this.preamble = reader.preamble
    this.violation = reader.violation
  }

  /** Has read what has come so far, and, when it is over, the end of it. */
  private upToNow(latest?: string): ChannelReader {
    this.reader ??= createChannelReader(this.listening)
    this.reader.readTo(this.raw, latest)
    if (this.ending) this.reader.end(this.ending)
    return this.reader
  }
}

const ADAPTER = 'model'

/** It was not the provider that failed. */
export const isAdapterError = ({ service_name, provider }: ServiceError): boolean => service_name === ADAPTER && provider === ''

function thrownError(thrown: unknown, afterOutput: boolean): ServiceError {
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

/** The same cutting, for a response that is already whole. */
export function parseChannels(raw: string, channels: readonly Channel[]): Pick<ModelResponse, 'channels' | 'preamble'> {
  const parser = createChannelParser(channels)
  const events = [...parser.push(raw), ...parser.end()]
  return { channels: collectChannels(events), preamble: parser.preamble }
}

export interface StreamHandlers<Heard> {
  /** Tells the model to stop, as whoever asked may do and `take` does. */
  readonly activity: Pick<Activity, 'onStop'>
  /** How long it may take to stop. */
  readonly graceMs: number
  /** False: it wants no more. */
  onEvent(event: ModelEvent): boolean
  /** What came of it. An adapter should not throw; if it does, here is what. */
  onEnd(broke: { readonly thrown: unknown } | undefined): Heard
}

/**
 * Reads what a model says to the end, whatever its adapter does. One that was told to stop and does not is left behind, and nothing it
 * says later is heard.
 */
export function readModelStream<Heard>(speak: () => AsyncIterable<ModelEvent>, hearing: StreamHandlers<Heard>): Promise<Heard> {
  return new Promise((resolve, reject) => {
    let ended = false
    let leaving: NodeJS.Timeout | undefined
    const end = (broke?: { readonly thrown: unknown }) => {
      if (ended) return
      ended = true
      clearTimeout(leaving)
      try {
        resolve(hearing.onEnd(broke))
      } catch (error) {
        reject(error)
      }
    }
    hearing.activity.onStop(() => {
      if (!ended) leaving = setTimeout(end, hearing.graceMs)
    })
    forAwait(speak, (event) => !ended && hearing.onEvent(event), end)
  })
}
