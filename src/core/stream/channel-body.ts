import type { Channel } from './channel.ts'
import type { ChannelNames, TagNames } from './channel-tag.ts'
import { advanceCode, type CodeContext, createCodeContext } from './code-fence.ts'

/**
 * How the parser distinguishes a tag in the body of a channel from text that mentions tags:
 *
 *   raw    only the own close tag counts, and open tags at the start of a line other than the first
 *   json   tags between backticks inside a string are text
 *   text   tags in a fence or between backticks are text; also used for the text outside of all channels
 */
export type BodyKind = 'raw' | 'json' | 'text'

/** The tags that can count in a body, depending on the position in it. */
export interface BodyTags {
  readonly all: TagNames
  readonly ownClose: TagNames
  readonly openOrOwnClose: TagNames
}

/** The position in a body, while its text arrives in chunks. */
export interface ChannelBody {
  readonly kind: BodyKind
  readonly tags: BodyTags
  /** Fences and backticks, for bodies of the kind `text`; undefined for other kinds. */
  readonly code: CodeContext | undefined
  /** For JSON only: whether the position is in a string, whether it follows a backslash, and how many backticks the string has so far. */
  inString: boolean
  escaped: boolean
  backticks: number
  /** For raw bodies only: true when there are only blanks since the last line break. False in the first line. */
  atLineStart: boolean
}

/** The kind of quotation that a position is in. */
export type Quotation = 'none' | 'fenced' | 'backtick'

/** The result of a search for a closing backtick. `more`: undecided; the search continues at `at` when there is more text. */
export type BacktickSearch = { readonly kind: 'found' } | { readonly kind: 'absent' } | { readonly kind: 'more'; readonly at: number }

const found: BacktickSearch = { kind: 'found' }
const absent: BacktickSearch = { kind: 'absent' }
export const noNames: ChannelNames = new Map()

const newline = 10
const quote = 34
const backslash = 92
const backtick = 96

export const isRaw = (channel: Channel): boolean => channel.raw ?? channel.name.toLowerCase() === 'code'

export function bodyKind(channel: Channel): BodyKind {
  if (isRaw(channel)) return 'raw'
  return channel.format === 'json' ? 'json' : 'text'
}

/** The tags of a channel's body. `own` are the names of the channel itself, `all` those of all channels. */
export function bodyTags(all: ChannelNames, own: ChannelNames): BodyTags {
  return { all: { open: all, close: all }, ownClose: { open: noNames, close: own }, openOrOwnClose: { open: all, close: own } }
}

export function createBody(kind: BodyKind, tags: BodyTags): ChannelBody {
  const code = kind === 'text' ? createCodeContext() : undefined
  return { kind, tags, code, inString: false, escaped: false, backticks: 0, atLineStart: false }
}

/** Moves the position over some text of the body. */
export function advanceBody(body: ChannelBody, text: string, from: number, to: number): void {
  if (body.code) advanceCode(body.code, text, from, to)
  else if (body.kind === 'json') advanceJson(body, text, from, to)
  else advanceRaw(body, text, from, to)
}

/** The tags that can count at this position. */
export function expectedTags(body: ChannelBody): TagNames {
  if (body.code) return isInFence(body.code) ? body.tags.ownClose : body.tags.all
  if (body.kind === 'json') return body.inString ? body.tags.openOrOwnClose : body.tags.all
  return body.atLineStart ? body.tags.openOrOwnClose : body.tags.ownClose
}

/** The quotation around this position: a tag inside a quotation is text. */
export function quotationAt(body: ChannelBody): Quotation {
  if (body.code && isInFence(body.code)) return 'fenced'
  const backticks = body.code ? body.code.backticks : body.inString ? body.backticks : 0
  return backticks % 2 === 1 ? 'backtick' : 'none'
}

/** Searches for the backtick that closes the quotation around a tag; the line or the JSON string limits it. */
export function findBacktick(body: ChannelBody, text: string, from: number, limit: number): BacktickSearch {
  const end = Math.min(limit, text.length)
  let at = from
  while (at < end) {
    const code = text.charCodeAt(at)
    if (code === backtick) return found
    if (code === (body.code ? newline : quote)) return absent
    if (code === backslash && !body.code) {
      if (at + 1 === end) break // the escaped character has not arrived, or is beyond the limit
      if (text.charCodeAt(at + 1) !== backtick) at++
    }
    at++
  }
  return end === limit ? absent : { kind: 'more', at }
}

/** True inside a fence, but not on the line that closes it: models write "```</channel:answer>" there. */
const isInFence = (code: CodeContext): boolean => code.fence !== 0 && !code.closing

function advanceJson(body: ChannelBody, text: string, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (body.escaped || code === backslash || code === quote || code === backtick) advanceJsonBy(body, code)
  }
}

function advanceJsonBy(body: ChannelBody, code: number): void {
  if (code === backtick) body.backticks++ // also an escaped one: JSON has no such escape, but models write it
  if (body.escaped) body.escaped = false
  else if (code === backslash) body.escaped = body.inString
  else if (code === quote) {
    body.inString = !body.inString
    body.backticks = 0
  }
}

function advanceRaw(body: ChannelBody, text: string, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code === newline) body.atLineStart = true
    else if (body.atLineStart && !isBlank(code)) body.atLineStart = false
  }
}

const isBlank = (code: number): boolean => code === 32 || code === 9 || code === 13
