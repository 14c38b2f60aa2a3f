import type { Channel } from './channel.ts'

/**
 * The result of reading a channel tag from a text that arrives in chunks. A tag has this form:
 *
 *   '<' gap  [ '/' gap ]  'channel:' NAME gap '>'        gap = at most 4 spaces or tabs
 */
export type TagMatch =
  | { readonly kind: 'none' }
  /** The text ends before it is clear whether this is a tag with one of the names that `readTag` looks for. */
  | { readonly kind: 'partial' }
  /** The text has a tag, or the start of a tag, but its name is not one of the names that `readTag` looks for. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'open' | 'close'; readonly channel: number; readonly end: number }

/** Maps each name and alias of a channel, in lower case, to the index of the channel. */
export type ChannelNames = ReadonlyMap<string, number>

/** The names that are accepted in open tags and in close tags. */
export interface TagNames {
  readonly open: ChannelNames
  readonly close: ChannelNames
}

/** The length of the longest tag. Names have at most 64 characters, and each gap has at most 4. */
export const maxTagLength = 87

const none: TagMatch = { kind: 'none' }
const partial: TagMatch = { kind: 'partial' }
const unknown: TagMatch = { kind: 'unknown' }
const keyword = 'channel:'
const maxGap = 4
const maxNameLength = 64

/** Maps the names of all channels to their indices. A name that two channels have belongs to the first of them. */
export function channelNames(channels: readonly Channel[]): ChannelNames {
  const names = new Map<string, number>()
  channels.forEach((channel, index) => {
    for (const name of [channel.name, ...(channel.aliases ?? [])]) {
      const folded = name.toLowerCase()
      if (!names.has(folded)) names.set(folded, index)
    }
  })
  return names
}

export function namesOfChannel(names: ChannelNames, channel: number): ChannelNames {
  return new Map([...names].filter(([, index]) => index === channel))
}

/** Reads the tag that may start with the `<` at index `at`. */
export function readTag(text: string, at: number, wanted: TagNames): TagMatch {
  const length = text.length
  let index = skipGap(text, at + 1)
  if (index === length) return partial
  let names = wanted.open
  const closes = text.charCodeAt(index) === 47
  if (closes) {
    index = skipGap(text, index + 1)
    names = wanted.close
  }
  if (names.size === 0) return none
  for (let letter = 0; letter < keyword.length; letter++, index++) {
    if (index === length) return partial
    if (foldCase(text.charCodeAt(index)) !== keyword.charCodeAt(letter)) return none
  }
  const nameStart = index
  while (index < length && index - nameStart < maxNameLength && isNameCharacter(text.charCodeAt(index))) index++
  const name = text.slice(nameStart, index).toLowerCase()
  if (index === length && index - nameStart < maxNameLength) return isPrefixOfName(names, name) ? partial : unknown
  const channel = names.get(name)
  if (channel === undefined) return unknown
  index = skipGap(text, index)
  if (index === length) return partial
  return text.charCodeAt(index) === 62 ? { kind: closes ? 'close' : 'open', channel, end: index + 1 } : none
}

function skipGap(text: string, from: number): number {
  let index = from
  while (index - from < maxGap && (text.charCodeAt(index) === 32 || text.charCodeAt(index) === 9)) index++
  return index
}

function isPrefixOfName(names: ChannelNames, beginning: string): boolean {
  for (const name of names.keys()) if (name.startsWith(beginning)) return true
  return false
}

/** Converts an ASCII letter to lower case. Other character codes are returned unchanged. */
const foldCase = (code: number): number => (code >= 65 && code <= 90 ? code + 32 : code)

const isNameCharacter = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code === 45
