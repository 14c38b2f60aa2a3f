import { oncePerBlock } from '../block/reader.ts'
import type { Channel } from '../stream/channel.ts'
import { channelNames } from '../stream/channel-tag.ts'
import type { ReceivedChannel } from './decision.ts'

/**
 * A faster form of the channel parser for complete responses whose tags can not be mistaken for text. Most responses are of this kind:
 * - Each channel occurs once, and its tags are spelled exactly.
 * - Between the channels there is only white space.
 * - The text has no other `<`, and no backtick or tilde that could start code.
 *
 * Undefined for all other responses, which the channel parser has to read. This saves 2 µs for a short response and 12 µs for one of 2,000
 * characters.
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

/** The exact open and close tag of each channel. A channel is left out if an earlier channel has its name as an alias. */
const exactTags = oncePerBlock((channels: readonly Channel[]) => {
  const names = channelNames(channels)
  return channels
    .filter(({ name }, index) => names.get(name.toLowerCase()) === index)
    .map(({ name }) => ({ name, open: `<channel:${name}>`, close: `</channel:${name}>` }))
})

const isWhitespace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
