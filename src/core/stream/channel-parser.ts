import { oncePerBlock } from '../block/reader.ts'
import type { Channel, ChannelEvent } from './channel.ts'
import {
  advanceBody,
  bodyKind,
  bodyTags,
  type ChannelBody,
  createBody,
  expectedTags,
  findBacktick,
  noNames,
  quotationAt,
} from './channel-body.ts'
import { channelNames, maxTagLength, namesOfChannel, readTag } from './channel-tag.ts'

/**
 * Splits the output of a model into channels while it arrives. Any text is accepted. The result does not depend on where the text was cut
 * into chunks.
 */
export interface ChannelParser {
  push(chunk: string): readonly ChannelEvent[]
  /**
   * Ends the input. If the last characters may be a tag, the parser now decides whether they are one. A channel that is still open is
   * closed.
   */
  end(): readonly ChannelEvent[]
  /** The text before the first tag. */
  readonly preamble: string
  /** True when the preamble contains more than white space. */
  readonly hasPreamble: boolean
  /** The first 256 close tags that closed no channel. They are not part of the text of a channel. */
  readonly strayTags: readonly string[]
  /** The first 64 names in channel tags that are not the name of any channel. Such tags are part of the text. */
  readonly unknownChannels: readonly string[]
}

/**
 * When a tag may be quoted text, the parser reads up to this many characters after it. A closing backtick shows that the tag is quoted. An
 * open tag right after a close tag shows that the close tag is real.
 */
const lookahead = 256
const maxStrayTags = 256
const maxUnknownChannels = 64
const unknownTag = /<[ \t]{0,4}(?:\/[ \t]{0,4})?channel:([a-z0-9_-]{1,64})[ \t]{0,4}(?:(>)|$)/iy

/** The names and tags of a list of channels. They are computed once per list, because all responses use the same list. */
const grammarOf = oncePerBlock((channels: readonly Channel[]) => {
  const names = channelNames(channels)
  return {
    names,
    openTags: { open: names, close: noNames },
    outside: bodyTags(names, noNames),
    bodies: channels.map((channel, index) => ({ kind: bodyKind(channel), tags: bodyTags(names, namesOfChannel(names, index)) })),
  }
})

interface CompleteTag {
  readonly kind: 'open' | 'close'
  readonly channel: number
  readonly end: number
}

/**
 * Creates a parser for a list of channels. Text outside of all channels is dropped, except for the preamble. If `textChannel` is the name of
 * a channel, text outside of all channels belongs to this channel, and there is no preamble.
 */
export function createChannelParser(channels: readonly Channel[], textChannel?: string): ChannelParser {
  const { names, openTags, outside, bodies } = grammarOf(channels)
  const textIndex = channels.findIndex(({ name }) => name === textChannel)
  let textOpen = false
  const instances = channels.map(() => 0)
  const self = { preamble: '', hasPreamble: false, strayTags: [] as string[], unknownChannels: [] as string[], push, end }
  let tagged = false
  let ended = false
  let open = -1
  let body: ChannelBody = createBody('text', outside)
  /**
   * The last characters that have arrived, as long as it is not clear how to read them. It begins with the `<` of a possible tag, or is the
   * first half of a surrogate pair.
   */
  let held = ''
  /** The number of characters of `held` in which a closing backtick was already searched. */
  let searched = 0
  /**
   * The start of a tag with an unknown name, if the last chunk ended inside the tag. It is kept to find out the whole name. It is text, so
   * it has already been emitted.
   */
  let unknownStart = ''
  let events: ChannelEvent[] = []

  function read(chunk: string): readonly ChannelEvent[] {
    events = []
    if (unknownStart !== '' && chunk !== '') noteUnknown(unknownStart + chunk.slice(0, maxTagLength - unknownStart.length))
    const text = held === '' ? chunk : held + chunk
    const limit = ended || !endsInHighSurrogate(text) ? text.length : text.length - 1
    let from = 0
    let at = 0
    while (at < limit) {
      const tagAt = text.indexOf('<', at)
      const plainTo = tagAt < 0 ? limit : tagAt
      if (plainTo > at) advanceBody(body, text, at, plainTo)
      at = plainTo
      if (tagAt < 0) break
      const tag = readTag(text, at, expectedTags(body))
      if (tag.kind === 'partial' && !ended) break
      if (tag.kind !== 'open' && tag.kind !== 'close') {
        if (tag.kind === 'unknown' && quotationAt(body) === 'none') noteUnknown(text.slice(at, at + maxTagLength))
        advanceBody(body, text, at, at + 1)
        at++
        continue
      }
      const verdict = decide(text, at, tag)
      if (verdict === 'wait') break
      searched = 0
      if (verdict === 'text') {
        advanceBody(body, text, at, tag.end)
      } else {
        emitText(text, from, at)
        tagged = true
        if (tag.kind === 'open') startChannel(tag.channel)
        else if (tag.channel === open) endChannel('tag')
        else if (self.strayTags.length < maxStrayTags) self.strayTags.push(text.slice(at, tag.end))
        from = tag.end
      }
      at = tag.end
    }
    emitText(text, from, at)
    held = at === text.length ? '' : text.slice(at)
    return events
  }

  /** Decides whether a complete tag is real or quoted text. `wait` means that more text has to arrive first. */
  function decide(text: string, at: number, tag: CompleteTag): 'tag' | 'text' | 'wait' {
    const quotation = quotationAt(body)
    if (quotation === 'none') return 'tag'
    if (tag.kind === 'close' && tag.channel === open) {
      const confirmed = isConfirmed(text, tag.end)
      if (confirmed !== 'no') return confirmed === 'yes' ? 'tag' : 'wait'
    }
    if (quotation === 'fenced') return 'text'
    const search = findBacktick(body, text, Math.max(at + searched, tag.end), tag.end + lookahead)
    if (search.kind === 'found') return 'text'
    if (search.kind === 'absent' || ended) return 'tag'
    searched = search.at - at
    return 'wait'
  }

  /** Whether a close tag is certainly real, because an open tag or the end of the response follows. */
  function isConfirmed(text: string, from: number): 'yes' | 'no' | 'wait' {
    let at = from
    while (at < text.length && at - from < lookahead && isWhitespace(text.charCodeAt(at))) at++
    if (at === text.length) return ended ? 'yes' : 'wait'
    if (text.charCodeAt(at) !== 60) return 'no'
    const next = readTag(text, at, openTags)
    if (next.kind === 'open') return 'yes'
    return next.kind === 'partial' && !ended ? 'wait' : 'no'
  }

  function startChannel(channel: number): void {
    if (open >= 0) endChannel('implied')
    endText('implied')
    open = channel
    const { kind, tags } = bodies[channel] as (typeof bodies)[number]
    body = createBody(kind, tags)
    events.push({ type: 'channel.start', channel: nameOf(channel), instance: instanceOf(channel) })
  }

  function endChannel(closed: 'tag' | 'implied' | 'cut'): void {
    events.push({ type: 'channel.end', channel: nameOf(open), instance: instanceOf(open), closed })
    instances[open] = instanceOf(open) + 1
    open = -1
    body = createBody('text', outside)
  }

  function emitText(text: string, from: number, to: number): void {
    if (from >= to) return
    const piece = from === 0 && to === text.length ? text : text.slice(from, to)
    if (open >= 0) events.push({ type: 'channel.delta', channel: nameOf(open), instance: instanceOf(open), text: piece })
    else if (textIndex >= 0) emitOutsideText(piece)
    else if (!tagged) {
      self.preamble += piece
      self.hasPreamble ||= piece.trim() !== ''
    }
  }

  function emitOutsideText(text: string): void {
    const at = { channel: nameOf(textIndex), instance: instanceOf(textIndex) }
    if (!textOpen) events.push({ type: 'channel.start', ...at })
    textOpen = true
    events.push({ type: 'channel.delta', ...at, text })
  }

  /** Ends the text outside of all channels. */
  function endText(closed: 'implied' | 'cut'): void {
    if (!textOpen) return
    textOpen = false
    events.push({ type: 'channel.end', channel: nameOf(textIndex), instance: instanceOf(textIndex), closed })
    instances[textIndex] = instanceOf(textIndex) + 1
  }

  /**
   * Records the name in a tag if no channel has this name. Such a tag is text, and the part that has arrived is emitted without waiting. If
   * the tag is not complete yet, its end comes with the next chunk.
   */
  function noteUnknown(tag: string): void {
    unknownTag.lastIndex = 0
    const match = unknownTag.exec(tag)
    unknownStart = match !== null && match[2] === undefined && tag.length < maxTagLength ? tag : ''
    const name = match?.[2] === undefined ? undefined : match[1]
    if (name === undefined || names.has(name.toLowerCase()) || self.unknownChannels.length >= maxUnknownChannels) return
    if (!self.unknownChannels.includes(name)) self.unknownChannels.push(name)
  }

  const nameOf = (channel: number) => (channels[channel] as Channel).name
  const instanceOf = (channel: number) => instances[channel] as number

  function push(chunk: string): readonly ChannelEvent[] {
    return ended || chunk === '' ? [] : read(chunk)
  }

  function end(): readonly ChannelEvent[] {
    if (ended) return []
    ended = true
    read('')
    if (open >= 0) endChannel('cut')
    endText('cut')
    return events
  }

  return self
}

function endsInHighSurrogate(text: string): boolean {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}

const isWhitespace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
