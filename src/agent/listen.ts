import type { Notice } from '../core/block/index.ts'
import { plainChannels } from '../core/decision/plain-channels.ts'
import { gatherChannels, type ReceivedChannel } from '../core/decision/response.ts'
import type { Watch } from '../core/decision/watch.ts'
import type { LaneEvent } from '../core/event.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../core/model-event.ts'
import type { Channel } from '../core/stream/channel.ts'
import { createChannelParser } from '../core/stream/channel-parser.ts'
import type { DeliveredAnswer, Lanes } from '../core/stream/lanes.ts'
import { type Hearing, hearOut } from './hear-out.ts'
import type { Audience } from './hub.ts'
import type { Phase } from './phase.ts'
import { createReader, type Reader } from './reader.ts'

/** One answer of the model, cut into channels, with how it ended. */
export interface Heard {
  readonly raw: string
  /** In order of first opening. */
  readonly channels: readonly ReceivedChannel[]
  readonly preamble: string
  /** Set when the model came to an end by itself or by the output limit. */
  readonly finish: { readonly reason: FinishReason; readonly modelName: string } | undefined
  /** Set when it did not. */
  readonly error: ServiceError | undefined
  /** What was billed for it, however it ended. */
  readonly billed: ModelUsage | undefined
  /** What the adapter threw, if that is why. It may hold anything, so it is entered nowhere. */
  readonly thrown: unknown
  /** A lane has shown something to the user: the call is not repeated behind their back. */
  shown(): boolean
  /** More than thoughts: something they may take for done. */
  spoken(): boolean
  answer(): DeliveredAnswer | undefined
  /** The rule it broke from its first words on: the rest was not waited for. */
  readonly violation: Notice | undefined
}

export interface Listening {
  /** How long the model may take to stop. */
  readonly graceMs: number
  readonly channels: readonly Channel[]
  createLanes(): Lanes
  /** Looks at each piece until it has seen how the response begins; a violation ends the stream at once. */
  readonly watch: Watch
  readonly audience: Audience
  emit(delta: LaneEvent['delta']): void
}

/**
 * Listens to a stream to its end. Never throws: whatever the model or the provider does is in what was heard. While nobody watches,
 * pieces are only kept and then read at once: how a text was cut makes no difference to what it says. One that is plain is not even
 * parsed, unless somebody asks what was shown of it.
 */
export function listen(speak: () => AsyncIterable<ModelEvent>, phase: Phase, listening: Listening): Promise<Heard> {
  const ear = new Ear(phase, listening)
  listening.audience.whenJoined(() => ear.catchUp())
  return hearOut(speak, ear)
}

/** What is heard, while it is heard and afterwards: one object, because there is one for every question. */
class Ear implements Heard, Hearing<Heard> {
  raw = ''
  channels: readonly ReceivedChannel[] = []
  preamble = ''
  finish: Heard['finish'] = undefined
  error: Heard['error'] = undefined
  billed: Heard['billed'] = undefined
  thrown: unknown = undefined
  violation: Notice | undefined = undefined
  readonly phase: Phase
  readonly graceMs: number
  private readonly listening: Listening
  private ending: Parameters<Reader['end']>[0] | undefined = undefined
  private reader: Reader | undefined = undefined

  constructor(phase: Phase, listening: Listening) {
    this.phase = phase
    this.graceMs = listening.graceMs
    this.listening = listening
  }

  take(event: ModelEvent): boolean {
    if (event.type === 'text.delta') {
      const { audience, watch } = this.listening
      this.raw += event.text
      if (audience.isPresent()) this.upToNow(event.text).showing.catchUp()
      else if (!watch.begun && (this.reader || !watch.beginsWell(this.raw))) this.upToNow(event.text) // whoever reads already need not look at all of it again
    } else if (event.type === 'finish') {
      this.finish = { reason: event.finishReason, modelName: event.modelName }
      this.error = undefined
      this.billed = event.usage
    } else if (event.type === 'error') {
      this.finish = undefined
      this.error = event.error
      this.billed = event.usage
    }
    if (this.reader?.violation === undefined) return true
    this.phase.abort(new DOMException('The response broke the protocol.', 'AbortError'))
    return false
  }

  over(broke: { readonly thrown: unknown } | undefined): Heard {
    if (broke && !this.reader?.violation) this.brokeOff(broke.thrown) // whoever was stopped for a violation may throw as it likes
    this.ending = this.finish ? (this.finish.reason === 'length' ? 'aborted' : 'whole') : 'cut'
    const plain = this.reader ? undefined : plainChannels(this.raw, this.listening.channels)
    if (plain) this.channels = plain
    else this.readWhole(this.upToNow())
    if (this.listening.audience.isPresent()) this.catchUp()
    return this
  }

  shown(): boolean {
    return this.upToNow().showing.shown()
  }

  spoken(): boolean {
    return this.upToNow().showing.spoken()
  }

  answer(): DeliveredAnswer | undefined {
    return this.upToNow().showing.answer()
  }

  catchUp(): void {
    this.upToNow().showing.catchUp()
  }

  private brokeOff(thrown: unknown): void {
    this.finish = undefined
    this.billed = undefined
    this.error = thrownError(thrown, this.raw !== '')
    this.thrown = thrown
  }

  private readWhole(reader: Reader): void {
    this.channels = reader.channels()
    this.preamble = reader.preamble
    this.violation = reader.violation
  }

  /** Has read what has come so far, and, when it is over, the end of it. */
  private upToNow(latest?: string): Reader {
    this.reader ??= createReader(this.listening)
    this.reader.readTo(this.raw, latest)
    if (this.ending) this.reader.end(this.ending)
    return this.reader
  }
}

const ADAPTER = 'model'

/** It was not the provider that failed. */
export const adapterThrew = ({ service_name, provider }: ServiceError): boolean => service_name === ADAPTER && provider === ''

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
export function cutIntoChannels(raw: string, channels: readonly Channel[]): Pick<Heard, 'channels' | 'preamble'> {
  const parser = createChannelParser(channels)
  const events = [...parser.push(raw), ...parser.end()]
  return { channels: gatherChannels(events), preamble: parser.preamble }
}
