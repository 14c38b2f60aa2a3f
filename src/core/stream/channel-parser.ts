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
import { channelNames, findTag, maxTagLength, namesOfChannel, readTag } from './channel-tag.ts'

/** Cuts a model's output into channels while it is written. Total: any text is read, and where it was cut does not matter. */
export interface ChannelParser {
  push(chunk: string): readonly ChannelEvent[]
  /** The stream is over: what was held is decided, what is open is closed. */
  end(): readonly ChannelEvent[]
  /** What was written before the first tag. */
  readonly preamble: string
  /** That was more than blanks. Known piece by piece: whoever watches need not look at all of it each time. */
  readonly hasPreamble: boolean
  /** Close tags that closed nothing; they are in no channel's text. The first 256 of them. */
  readonly strayTags: readonly string[]
  /** Names in tags that nobody declared; such tags are text. The first 64 of them. */
  readonly unknownChannels: readonly string[]
}

/** How far a quoted tag may be from the backtick that ends the quotation, and a close tag from the open tag that proves it. */
const lookahead = 256
const maxStrayTags = 256
const maxUnknownChannels = 64
const unknownTag = /<[ \t]{0,4}(?:\/[ \t]{0,4})?channel:([a-z0-9_-]{1,64})[ \t]{0,4}(?:(>)|$)/iy

/** The names of a list of channels, looked at once: the same list serves every response. */
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

export function createChannelParser(channels: readonly Channel[]): ChannelParser {
  const { names, openTags, outside, bodies } = grammarOf(channels)
  const instances = channels.map(() => 0)
  const self = { preamble: '', hasPreamble: false, strayTags: [] as string[], unknownChannels: [] as string[], push, end }
  let tagged = false
  let ended = false
  let open = -1
  let body: ChannelBody = createBody('text', outside)
  /** Text in doubt. It begins with the `<` of a possible tag, or is half of a surrogate pair. */
  let held = ''
  /** How far behind the beginning of the held tag the search has come, so that no character is searched twice. */
  let searched = 0
  /** A tag with an undeclared name that the chunk ended in; its text has already been handed on. */
  let watched = ''
  let events: readonly ChannelEvent[] = noEvents

  /** Most chunks hold one event or none: a list made for it is cheaper than a list that grows. */
  function tell(event: ChannelEvent): void {
    if (events === noEvents) events = [event]
    else (events as ChannelEvent[]).push(event)
  }

  function read(chunk: string): readonly ChannelEvent[] {
    events = noEvents
    if (watched !== '') continueWatch(chunk)
    const text = held === '' ? chunk : held + chunk
    const limit = ended || !endsInHighSurrogate(text) ? text.length : text.length - 1
    let from = 0
    let at = 0
    while (at < limit) {
      const tagAt = findTag(text, at)
      const plainTo = tagAt < 0 ? limit : tagAt
      if (plainTo > at) advanceBody(body, text, at, plainTo)
      at = plainTo
      if (tagAt < 0) break
      const tag = readTag(text, at, expectedTags(body))
      if (tag.kind === 'partial' && !ended) break
      if (tag.kind !== 'open' && tag.kind !== 'close') {
        if (tag.kind === 'foreign' && quotationAt(body) === 'none') watch(text.slice(at, at + maxTagLength))
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
        handOn(text, from, at)
        tagged = true
        if (tag.kind === 'open') startChannel(tag.channel)
        else if (tag.channel === open) endChannel('tag')
        else if (self.strayTags.length < maxStrayTags) self.strayTags.push(text.slice(at, tag.end))
        from = tag.end
      }
      at = tag.end
    }
    handOn(text, from, at)
    held = at === text.length ? '' : text.slice(at)
    return events
  }

  function decide(text: string, at: number, tag: CompleteTag): 'tag' | 'text' | 'wait' {
    const doubt = quotationAt(body)
    if (doubt === 'none') return 'tag'
    if (tag.kind === 'close' && tag.channel === open) {
      const strong = isStrong(text, tag.end)
      if (strong !== 'no') return strong === 'yes' ? 'tag' : 'wait'
    }
    if (doubt === 'fenced') return 'text'
    const search = findBacktick(body, text, Math.max(at + searched, tag.end), tag.end + lookahead)
    if (search.kind === 'found') return 'text'
    if (search.kind === 'absent' || ended) return 'tag'
    searched = search.at - at
    return 'wait'
  }

  /** A close tag is beyond doubt when an open tag, or the end of everything, comes next. */
  function isStrong(text: string, from: number): 'yes' | 'no' | 'wait' {
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
    open = channel
    const { kind, tags } = bodies[channel] as (typeof bodies)[number]
    body = createBody(kind, tags)
    tell({ type: 'channel.start', channel: nameOf(channel), instance: instanceOf(channel) })
  }

  function endChannel(closed: 'tag' | 'implied' | 'cut'): void {
    tell({ type: 'channel.end', channel: nameOf(open), instance: instanceOf(open), closed })
    instances[open] = instanceOf(open) + 1
    open = -1
    body = createBody('text', outside)
  }

  function handOn(text: string, from: number, to: number): void {
    if (from >= to) return
    const piece = from === 0 && to === text.length ? text : text.slice(from, to)
    if (open >= 0) tell({ type: 'channel.delta', channel: nameOf(open), instance: instanceOf(open), text: piece })
    else if (!tagged) {
      self.preamble += piece
      self.hasPreamble ||= piece.trim() !== ''
    }
  }

  /** Undeclared tags are text and are not held for their name's sake; this follows one over the end of a chunk. */
  function watch(tag: string): void {
    unknownTag.lastIndex = 0
    const match = unknownTag.exec(tag)
    watched = match !== null && match[2] === undefined && tag.length < maxTagLength ? tag : ''
    const name = match?.[2] === undefined ? undefined : match[1]
    if (name === undefined || names.has(name.toLowerCase()) || self.unknownChannels.length >= maxUnknownChannels) return
    if (!self.unknownChannels.includes(name)) self.unknownChannels.push(name)
  }

  function continueWatch(chunk: string): void {
    if (chunk !== '') watch(watched + chunk.slice(0, maxTagLength - watched.length))
  }

  const nameOf = (channel: number) => (channels[channel] as Channel).name
  const instanceOf = (channel: number) => instances[channel] as number

  function push(chunk: string): readonly ChannelEvent[] {
    return ended || chunk === '' ? noEvents : read(chunk)
  }

  function end(): readonly ChannelEvent[] {
    if (ended) return noEvents
    ended = true
    read('')
    if (open >= 0) endChannel('cut')
    return events
  }

  return self
}

const noEvents: readonly ChannelEvent[] = []

function endsInHighSurrogate(text: string): boolean {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xd800 && code <= 0xdbff
}

const isWhitespace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)
