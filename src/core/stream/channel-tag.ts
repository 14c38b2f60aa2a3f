import type { Channel } from './channel.ts'

/**
 * One tag, read from a text that may end in the middle of it:
 *
 *   '<' gap  [ '/' gap ]  'channel:' NAME gap '>'        gap = at most 4 spaces or tabs
 */
export type TagMatch =
  | { readonly kind: 'none' }
  /** The text ended, and what is there may still become a tag that counts. */
  | { readonly kind: 'partial' }
  /** A tag, or the beginning of one, with a name that does not count here. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'open' | 'close'; readonly channel: number; readonly end: number }

/** Names that count, folded to lower case, each with the index of its channel. */
export type ChannelNames = ReadonlyMap<string, number>

/** What may be a tag at a place: the names that count in open tags and in close tags. */
export interface TagNames {
  readonly open: ChannelNames
  readonly close: ChannelNames
}

/** No tag is longer: names and gaps have limits. */
export const maxTagLength = 87

const none: TagMatch = { kind: 'none' }
const partial: TagMatch = { kind: 'partial' }
const foreign: TagMatch = { kind: 'foreign' }
const keyword = 'channel:'
const maxGap = 4
const angle = 60
const maxNameLength = 64

/** The first declaration of a name wins. */
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

/** The next place where a tag may begin; -1 when there is none. */
export function findTag(text: string, from: number): number {
  let at = text.indexOf('<', from)
  while (at >= 0 && at + 1 < text.length) {
    const next = text.charCodeAt(at + 1)
    if (mayFollowAngle(next)) return at
    at = next === angle ? at + 1 : text.indexOf('<', at + 2)
  }
  return at
}

/** Reads the tag that the `<` at `at` may begin. */
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
  if (index === length && index - nameStart < maxNameLength) return isPrefixOfName(names, name) ? partial : foreign
  const channel = names.get(name)
  if (channel === undefined) return foreign
  index = skipGap(text, index)
  if (index === length) return partial
  return text.charCodeAt(index) === 62 ? { kind: closes ? 'close' : 'open', channel, end: index + 1 } : none
}

/** Most angles are told by their next character. */
const mayFollowAngle = (code: number): boolean => code === 99 || code === 47 || code === 67 || code === 32 || code === 9

function skipGap(text: string, from: number): number {
  let index = from
  while (index - from < maxGap && (text.charCodeAt(index) === 32 || text.charCodeAt(index) === 9)) index++
  return index
}

function isPrefixOfName(names: ChannelNames, beginning: string): boolean {
  for (const name of names.keys()) if (name.startsWith(beginning)) return true
  return false
}

/** ASCII only: no other letter may pass for one of ours. */
const foldCase = (code: number): number => (code >= 65 && code <= 90 ? code + 32 : code)

const isNameCharacter = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code === 45
