import type { LaneEvent } from '../core/event.ts'
import type { FinishReason, ModelEvent, ModelUsage, ServiceError } from '../core/model-event.ts'
import type { Channel, ChannelEvent } from '../core/stream/channel.ts'
import { type ChannelParser, createChannelParser } from '../core/stream/channel-parser.ts'
import type { DeliveredAnswer, Lanes } from '../core/stream/lanes.ts'

/** One answer of the model, cut into channels, with how it ended. */
export interface Heard {
  readonly raw: string
  /** In order of first opening. */
  readonly channels: readonly HeardChannel[]
  readonly preamble: string
  /** Set when the model came to an end by itself or by the output limit. */
  readonly finish?: { readonly reason: FinishReason; readonly usage: ModelUsage; readonly modelName: string }
  /** Set when it did not. */
  readonly error?: ServiceError
  /** A lane has shown something to the user: the call is not repeated behind their back. */
  readonly shown: boolean
  /** More than thoughts: something they may take for done. */
  readonly spoken: boolean
  readonly answer: DeliveredAnswer | undefined
}

export interface HeardChannel {
  readonly name: string
  readonly instances: readonly string[]
  readonly closed: 'tag' | 'implied' | 'cut'
}

export interface Listening {
  readonly channels: readonly Channel[]
  readonly lanes: Lanes
  /** Looks at each event; what it returns ends the stream early. */
  watch(events: readonly ChannelEvent[], seen: Pick<ChannelParser, 'preamble' | 'strayTags'>): boolean
  emit(delta: LaneEvent['delta']): void
}

/** Listens to a stream to its end. Never throws: whatever the model or the provider does is in what was heard. */
export async function listen(stream: AsyncIterable<ModelEvent>, stop: AbortController, listening: Listening): Promise<Heard> {
  const parser = createChannelParser(listening.channels)
  const bodies = new Map<string, { instances: string[]; closed: HeardChannel['closed'] }>()
  const { lanes } = listening
  let raw = ''
  let shown = false
  let spoken = false
  let ending: Pick<Heard, 'finish' | 'error'> = {}

  const show = (deltas: ReturnType<Lanes['push']>) => {
    for (const delta of deltas) {
      shown ||= delta.text !== ''
      spoken ||= delta.text !== '' && delta.marker !== 'thinking'
      listening.emit(delta)
    }
  }
  const take = (events: readonly ChannelEvent[]) => {
    for (const event of events) {
      note(bodies, event)
      show(lanes.push(event))
    }
    return listening.watch(events, parser)
  }

  for await (const event of stream) {
    if (event.type === 'text.delta') {
      raw += event.text
      if (!take(parser.push(event.text))) continue
      stop.abort(new DOMException('The response broke the protocol.', 'AbortError'))
      break
    }
    if (event.type === 'finish') ending = { finish: { reason: event.finishReason, usage: event.usage, modelName: event.modelName } }
    if (event.type === 'error') ending = { error: event.error }
  }
  take(parser.end())
  show(ending.finish ? lanes.end(ending.finish.reason === 'length' ? 'aborted' : 'whole') : lanes.abort())
  return {
    raw,
    channels: [...bodies].map(([name, body]) => ({ name, ...body })),
    preamble: parser.preamble,
    ...ending,
    shown,
    spoken,
    answer: lanes.answer(),
  }
}

function note(bodies: Map<string, { instances: string[]; closed: HeardChannel['closed'] }>, event: ChannelEvent): void {
  const body = bodies.get(event.channel)
  if (event.type === 'channel.start') {
    if (body) body.instances.push('')
    else bodies.set(event.channel, { instances: [''], closed: 'cut' })
  } else if (body && event.type === 'channel.delta') body.instances[event.instance] += event.text
  else if (body && event.type === 'channel.end') body.closed = event.closed
}

/** The same cutting, for a response that is already whole. */
export function cutIntoChannels(raw: string, channels: readonly Channel[]): Pick<Heard, 'channels' | 'preamble'> {
  const parser = createChannelParser(channels)
  const bodies = new Map<string, { instances: string[]; closed: HeardChannel['closed'] }>()
  for (const event of [...parser.push(raw), ...parser.end()]) note(bodies, event)
  return { channels: [...bodies].map(([name, body]) => ({ name, ...body })), preamble: parser.preamble }
}
