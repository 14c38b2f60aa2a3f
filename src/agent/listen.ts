import type { Notice } from '../core/block/index.ts'
import { plainChannels } from '../core/decision/plain-channels.ts'
import { gatherChannels, type ReceivedChannel } from '../core/decision/response.ts'
import type { Watch } from '../core/decision/watch.ts'
import type { LaneEvent } from '../core/event.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../core/model-event.ts'
import type { Channel, ChannelEvent } from '../core/stream/channel.ts'
import { type ChannelParser, createChannelParser } from '../core/stream/channel-parser.ts'
import type { DeliveredAnswer, Lanes } from '../core/stream/lanes.ts'
import { hearOut } from './hear-out.ts'
import type { Audience } from './hub.ts'
import { createShowing } from './showing.ts'

/** One answer of the model, cut into channels, with how it ended. */
export interface Heard {
  readonly raw: string
  /** In order of first opening. */
  readonly channels: readonly ReceivedChannel[]
  readonly preamble: string
  /** Set when the model came to an end by itself or by the output limit. */
  readonly finish?: { readonly reason: FinishReason; readonly usage: ModelUsage | undefined; readonly modelName: string }
  /** Set when it did not. */
  readonly error?: ServiceError
  /** What the adapter threw, if that is why. It may hold anything, so it is entered nowhere. */
  readonly thrown?: unknown
  /** A lane has shown something to the user: the call is not repeated behind their back. */
  shown(): boolean
  /** More than thoughts: something they may take for done. */
  spoken(): boolean
  answer(): DeliveredAnswer | undefined
  /** The rule it broke from its first words on: the rest was not waited for. */
  readonly violation?: Notice
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
export async function listen(
  speak: () => AsyncIterable<ModelEvent>,
  stop: Pick<AbortController, 'abort' | 'signal'>,
  listening: Listening,
): Promise<Heard> {
  const { audience, watch, channels } = listening
  const showing = createShowing(listening.createLanes, listening.emit)
  const heard: ChannelEvent[] = []
  let parser: ChannelParser | undefined
  let raw = ''
  let taken = 0
  let over = false
  let violation: Notice | undefined
  let ending: Pick<Heard, 'finish' | 'error' | 'thrown'> = {}

  const take = (events: readonly ChannelEvent[], seen: ChannelParser) => {
    if (!watch.begun) violation ??= watch.step(events, seen, raw)
    if (violation) return // nothing of it is read, so nothing of it is shown, however it was cut
    for (const event of events) heard.push(event)
    showing.take(events)
  }
  /** What has come since it was last read, and, when it is over, the end of it. */
  const read = (latest = '') => {
    const text = taken + latest.length === raw.length ? latest : raw.slice(taken)
    taken = raw.length
    parser ??= createChannelParser(channels)
    take(parser.push(text), parser)
    if (over) take(parser.end(), parser)
  }
  const show = () => {
    read()
    showing.catchUp()
  }

  const hear = (event: ModelEvent): boolean => {
    if (event.type === 'text.delta') {
      raw += event.text
      if (audience.isPresent()) {
        read(event.text)
        showing.catchUp()
      } else if (!watch.begun && !watch.beginsWell(raw)) read(event.text)
      if (violation) stop.abort(new DOMException('The response broke the protocol.', 'AbortError'))
    } else if (event.type === 'finish') ending = { finish: { reason: event.finishReason, usage: event.usage, modelName: event.modelName } }
    else if (event.type === 'error') ending = { error: event.error }
    return violation === undefined
  }

  audience.whenJoined(show)
  const broke = await hearOut(speak, { stop: stop.signal, graceMs: listening.graceMs, take: hear })
  if (broke && !violation) ending = { error: thrownError(broke.thrown, raw !== ''), thrown: broke.thrown }
  over = true
  showing.end(ending.finish ? (ending.finish.reason === 'length' ? 'aborted' : 'whole') : 'cut')
  const plain = parser ? undefined : plainChannels(raw, channels)
  if (!plain) read()
  if (audience.isPresent()) show()
  return {
    raw,
    channels: plain ?? gatherChannels(heard),
    preamble: preambleOf(parser),
    ...ending,
    ...(violation && { violation }),
    shown() {
      read()
      return showing.shown()
    },
    spoken() {
      read()
      return showing.spoken()
    },
    answer() {
      read()
      return showing.answer()
    },
  }
}

const preambleOf = (parser: ChannelParser | undefined) => parser?.preamble ?? ''

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
