import type { FinishReason } from '../model-event.ts'
import type { Channel, ChannelEvent } from '../stream/channel.ts'
import { createChannelParser } from '../stream/channel-parser.ts'

/** The response of one model call, split into channels. */
export interface ParsedResponse extends ResponseEnd {
  /** The channels that the model opened, in the order in which they were first opened. */
  readonly channels: readonly ReceivedChannel[]
  /** The text before the first tag. */
  readonly preamble: string
  readonly raw: string
}

/** How the stream of a response ended. */
export interface ResponseEnd {
  readonly finishReason: FinishReason
  /** The output limit that the model was given. */
  readonly maxTokens: number
  /** The type of the error that ended the stream. Set only when `finishReason` is `error`. */
  readonly errorType?: string
}

/** One channel of a response. */
export interface ReceivedChannel {
  readonly name: string
  /** A channel may be opened several times. This is the raw text of each time, in order. */
  readonly instances: readonly string[]
  /** How the last instance ended: by its close tag, by the open tag of another channel, or because the response ended. */
  readonly closed: 'tag' | 'implied' | 'cut'
}

/**
 * The channels of a decision, in the order in which the model should write them. The answer has a channel of its own, so that the model
 * need not escape it as JSON. The code is raw, so that a program may contain channel tags.
 */
export const decisionChannels: readonly Channel[] = [
  { name: 'thinking', format: 'markdown' },
  { name: 'action', aliases: ['ReactDecisionOutV2', 'decision'], format: 'json' },
  { name: 'code', format: 'text', raw: true },
  { name: 'answer', format: 'markdown' },
  { name: 'followup', format: 'json' },
  { name: 'usage', format: 'json' },
]

/** Parses the complete text of a response. Recovery needs this, because the journal has only the text. A live turn parses the stream. */
export function parseResponse(raw: string, end: ResponseEnd): ParsedResponse {
  const parser = createChannelParser(decisionChannels)
  const channels = collectChannels([...parser.push(raw), ...parser.end()])
  return { ...end, channels, preamble: parser.preamble, raw }
}

/** Puts the events of a channel parser together. There is one entry per channel, in the order in which channels were first opened. */
export function collectChannels(events: readonly ChannelEvent[]): readonly ReceivedChannel[] {
  const channels: { readonly name: string; readonly instances: string[]; closed: ReceivedChannel['closed'] }[] = []
  for (const event of events) {
    let channel = channels.find(({ name }) => name === event.channel)
    if (!channel) {
      channel = { name: event.channel, instances: [], closed: 'cut' }
      channels.push(channel)
    }
    const last = channel.instances.length - 1
    if (event.type === 'channel.start') channel.instances.push('')
    else if (event.type === 'channel.delta') channel.instances[last] = (channel.instances[last] as string) + event.text
    else channel.closed = event.closed
  }
  return channels
}

export function channelOf(response: Pick<ParsedResponse, 'channels'>, name: string): ReceivedChannel | undefined {
  return response.channels.find((channel) => channel.name === name)
}

/** The text of all instances of a channel, joined. Empty when the channel was never opened. */
export function channelText(response: ParsedResponse, name: string): string {
  return channelOf(response, name)?.instances.join('') ?? ''
}

/** True when the output limit or a content filter cut the response off. */
export const wasCutOff = ({ finishReason }: ParsedResponse): boolean => finishReason === 'length' || finishReason === 'content_filter'
