import type { FinishReason } from '../model-event.ts'
import type { Channel, ChannelEvent } from '../stream/channel.ts'
import { createChannelParser } from '../stream/channel-parser.ts'

/** One channel as it was left by the parser. */
export interface ReceivedChannel {
  readonly name: string
  /** The raw text of each opening, in order. */
  readonly instances: readonly string[]
  /** How the last of them ended: by its tag, by the tag of another channel, or with the response. */
  readonly closed: 'tag' | 'implied' | 'cut'
}

/** What came back from one call of the model, cut into channels. Plain data: reading it again gives the same decision. */
export interface ParsedResponse extends ResponseEnd {
  /** In order of first opening; declared channels only. */
  readonly channels: readonly ReceivedChannel[]
  /** What was written before the first tag. */
  readonly preamble: string
  readonly raw: string
}

export interface ResponseEnd {
  readonly finishReason: FinishReason
  /** The output limit that the model was given. */
  readonly maxTokens: number
  /** What kind of failure ended the stream, when `finishReason` is `error`. */
  readonly errorType?: string
}

/** The response that a raw text is: what a live turn gathers while it streams, recovery gets from the journal. */
export function parseResponse(raw: string, ending: ResponseEnd): ParsedResponse {
  const parser = createChannelParser(decisionChannels)
  const channels = collectChannels([...parser.push(raw), ...parser.end()])
  return { ...ending, channels, preamble: parser.preamble, raw }
}

/** The channels that a parser's events speak of, in order of first opening. */
export function collectChannels(events: readonly ChannelEvent[]): readonly ReceivedChannel[] {
  const gathered: { readonly name: string; readonly instances: string[]; closed: ReceivedChannel['closed'] }[] = []
  for (const event of events) {
    let channel = gathered.find(({ name }) => name === event.channel)
    if (!channel) {
      channel = { name: event.channel, instances: [], closed: 'cut' }
      gathered.push(channel)
    }
    const last = channel.instances.length - 1
    if (event.type === 'channel.start') channel.instances.push('')
    else if (event.type === 'channel.delta') channel.instances[last] = (channel.instances[last] as string) + event.text
    else channel.closed = event.closed
  }
  return gathered
}

export function channelOf(response: Pick<ParsedResponse, 'channels'>, name: string): ReceivedChannel | undefined {
  for (const channel of response.channels) if (channel.name === name) return channel
  return undefined
}

/** Everything written in a channel; empty when it was never opened. */
export function channelText(response: ParsedResponse, name: string): string {
  const instances = channelOf(response, name)?.instances ?? noInstances
  return instances.length === 1 ? (instances[0] as string) : instances.join('')
}

const noInstances: readonly string[] = []

/** The model did not stop by itself: it was cut off, by the output limit or by a filter. */
export const wasCutOff = ({ finishReason }: ParsedResponse): boolean => finishReason === 'length' || finishReason === 'content_filter'

/**
 * The channels of a decision, in the order in which they are to be written. An answer is plain markdown, so that nothing in
 * it has to be escaped; code is raw, so that a program may speak of tags.
 */
export const decisionChannels: readonly Channel[] = [
  { name: 'thinking', format: 'markdown' },
  { name: 'action', aliases: ['ReactDecisionOutV2', 'decision'], format: 'json' },
  { name: 'code', format: 'text', raw: true },
  { name: 'answer', format: 'markdown' },
  { name: 'followup', format: 'json' },
  { name: 'usage', format: 'json' },
]
