import { oncePerBlock } from '../block/reader.ts'
import type { Channel } from '../stream/channel.ts'
import { channelNames } from '../stream/channel-tag.ts'
import type { ReceivedChannel } from './response.ts'

/** A channel's tags as they are to be written; only of names that mean this channel and no earlier one. */
const exactTags = oncePerBlock((channels: readonly Channel[]) => {
  const names = channelNames(channels)
  return channels
    .filter(({ name }, index) => names.get(name.toLowerCase()) === index)
    .map(({ name }) => ({ name, open: `<channel:${name}>`, close: `</channel:${name}>` }))
})

/**
 * The channels of a whole response that leaves nothing to decide, which most do: each channel once, from its tag to its tag, blanks in
 * between, and nowhere a character that could begin another tag, a fence or a quotation. Undefined for every other response, which a
 * parser must read; for these it would find the same.
 */
export function readPlainChannels(raw: string, channels: readonly Channel[]): readonly ReceivedChannel[] | undefined {
  if (raw.includes('`') || raw.includes('~')) return undefined
  const tags = exactTags(channels)
  const found: ReceivedChannel[] = []
  let at = 0
  while (at < raw.length) {
    const from = at
    const tag = tags.find(({ open }) => raw.startsWith(open, from))
    if (tag === undefined || found.some(({ name }) => name === tag.name)) return undefined
    const begins = from + tag.open.length
    const ends = raw.indexOf('<', begins)
    if (ends === -1 || !raw.startsWith(tag.close, ends)) return undefined
    found.push({ name: tag.name, instances: [raw.slice(begins, ends)], closed: 'tag' })
    at = ends + tag.close.length
    while (at < raw.length && isBlank(raw.charCodeAt(at))) at++
  }
  return found.length === 0 ? undefined : found
}

const isBlank = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
