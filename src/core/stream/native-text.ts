import type { Channel, ChannelEvent } from './channel.ts'
import { createChannelParser } from './channel-parser.ts'

/**
 * Splits the text of a native response. Most of it is the answer or the notes, and belongs to the channel `answer`. A model may add
 * `<channel:followup>`. Some models also write their thinking into the text: as the channel `thinking`, or between `<think>` and `</think>`
 * at the beginning, because their server does not separate it.
 */
export interface NativeTextParser {
  push(text: string): readonly ChannelEvent[]
  end(): readonly ChannelEvent[]
}

const openTag = '<think>'
const closeTag = '</think>'
/**
 * If the first characters of the text, up to this number, contain no tag, the text is treated as a text without a leading tag. Without this
 * limit, long white space at the beginning would be read again with each piece.
 */
const maxLeadingBlank = 256

export function createNativeTextParser(channels: readonly Channel[]): NativeTextParser {
  const parser = createChannelParser(channels, 'answer')
  // `start`: an open tag may follow. `thinking`: after the open tag. `text`: all further text goes to the channel parser
  let state: 'start' | 'thinking' | 'text' = 'start'
  let held = ''

  function readStart(): readonly ChannelEvent[] {
    const written = held.trimStart()
    if (held.length < maxLeadingBlank && written.length < openTag.length && openTag.startsWith(written)) return []
    if (!written.startsWith(openTag)) return readText()
    state = 'thinking'
    held = written.slice(openTag.length)
    return [{ type: 'channel.start', channel: 'thinking', instance: 0 }, ...readThinking()]
  }

  function readThinking(): readonly ChannelEvent[] {
    const end = held.indexOf(closeTag)
    const shown = end === -1 ? held.length - partialTag(held) : end
    const delta = thinkingDelta(held.slice(0, shown))
    held = held.slice(shown)
    if (end === -1) return delta
    held = held.slice(closeTag.length)
    return [...delta, thinkingEnd('tag'), ...readText()]
  }

  function readText(): readonly ChannelEvent[] {
    state = 'text'
    const text = held
    held = ''
    return parser.push(text)
  }

  return {
    push(text) {
      if (state === 'text') return parser.push(text)
      held += text
      return state === 'start' ? readStart() : readThinking()
    },
    end() {
      if (state === 'thinking') return [...thinkingDelta(held), thinkingEnd('cut')]
      return [...readText(), ...parser.end()]
    },
  }
}

const thinkingDelta = (text: string): readonly ChannelEvent[] =>
  text === '' ? [] : [{ type: 'channel.delta', channel: 'thinking', instance: 0, text }]
const thinkingEnd = (closed: 'tag' | 'cut'): ChannelEvent => ({ type: 'channel.end', channel: 'thinking', instance: 0, closed })

/** How many characters at the end of a text may be the beginning of the close tag. */
function partialTag(text: string): number {
  for (let length = Math.min(closeTag.length - 1, text.length); length > 0; length--)
    if (text.endsWith(closeTag.slice(0, length))) return length
  return 0
}
