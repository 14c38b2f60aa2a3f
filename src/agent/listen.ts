import type { Notice } from '../core/block/index.ts'
import { plainChannels } from '../core/decision/plain-channels.ts'
import { gatherChannels, type ReceivedChannel } from '../core/decision/response.ts'
import type { Watch } from '../core/decision/watch.ts'
import type { LaneEvent } from '../core/event.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../core/model-event.ts'
import type { Channel } from '../core/stream/channel.ts'
import { createChannelParser } from '../core/stream/channel-parser.ts'
import type { DeliveredAnswer, Lanes } from '../core/stream/lanes.ts'
import { hearOut } from './hear-out.ts'
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
  const { audience, watch, channels } = listening
  let raw = ''
  let finish: Heard['finish']
  let error: Heard['error']
  let billed: Heard['billed']
  let over: Parameters<Reader['end']>[0] | undefined
  let reader: Reader | undefined

  /** Has read what has come so far, and, when it is over, the end of it. */
  const upToNow = (latest?: string): Reader => {
    reader ??= createReader(listening)
    reader.readTo(raw, latest)
    if (over) reader.end(over)
    return reader
  }
  const hear = (event: ModelEvent): boolean => {
    if (event.type === 'text.delta') {
      raw += event.text
      if (audience.isPresent()) upToNow(event.text).showing.catchUp()
      else if (!watch.begun && (reader || !watch.beginsWell(raw))) upToNow(event.text) // whoever reads already need not look at all of it again
    } else if (event.type === 'finish') {
      finish = { reason: event.finishReason, modelName: event.modelName }
      error = undefined
      billed = event.usage
    } else if (event.type === 'error') {
      finish = undefined
      error = event.error
      billed = event.usage
    }
    if (reader?.violation === undefined) return true
    phase.abort(new DOMException('The response broke the protocol.', 'AbortError'))
    return false
  }

  const whole = (broke: { readonly thrown: unknown } | undefined): Heard => {
    const threw = reader?.violation ? undefined : broke // whoever was stopped for a violation may throw as it likes
    if (threw) {
      finish = undefined
      billed = undefined
      error = thrownError(threw.thrown, raw !== '')
    }
    over = finish ? (finish.reason === 'length' ? 'aborted' : 'whole') : 'cut'
    const plain = reader ? undefined : plainChannels(raw, channels)
    const read = plain ? undefined : upToNow()
    if (audience.isPresent()) upToNow().showing.catchUp()
    return {
      raw,
      channels: plain ?? upToNow().channels(),
      preamble: read?.preamble ?? '',
      finish,
      error,
      billed,
      thrown: threw?.thrown,
      violation: read?.violation,
      shown: () => upToNow().showing.shown(),
      spoken: () => upToNow().showing.spoken(),
      answer: () => upToNow().showing.answer(),
    }
  }

  audience.whenJoined(() => upToNow().showing.catchUp())
  return hearOut(speak, { phase, graceMs: listening.graceMs, take: hear, over: whole })
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
