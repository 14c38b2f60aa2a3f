import type { Channel } from './channel.ts'
import type { ChannelNames, TagNames } from './channel-tag.ts'
import { advanceCode, type CodeContext, createCodeContext } from './code-fence.ts'

/**
 * The body of a channel may contain tags and text that only mentions tags. The kind of a body decides which is which:
 *
 *   raw    the channel's own close tag counts, and so does an open tag at the start of a line, except in the first line
 *   json   all tags count, except between backticks inside a string
 *   text   all tags count, except in a fence or between backticks; text outside of all channels has this kind, too
 */
export type BodyKind = 'raw' | 'json' | 'text'

/** Three selections of tag names. `expectedTags` chooses the one that applies at the current position of a body. */
export interface BodyTags {
  /** The open and close tags of all channels. */
  readonly all: TagNames
  /** Only the close tag of the body's own channel. */
  readonly ownClose: TagNames
  /** The open tags of all channels and the close tag of the body's own channel. */
  readonly openOrOwnClose: TagNames
}

/** What the parser knows about its current position in a body, while the text arrives in chunks. */
export interface ChannelBody {
  readonly kind: BodyKind
  readonly tags: BodyTags
  /** Tracks fences and backticks in a body of the kind `text`. Undefined for other kinds. */
  readonly code: CodeContext | undefined
  /** Used only for JSON: true inside a string. */
  inString: boolean
  /** Used only for JSON: true after a backslash that escapes the next character. */
  escaped: boolean
  /** Used only for JSON: the number of backticks in the current string so far. */
  backticks: number
  /** Used only for raw bodies: true when only blanks came since the last line break. Always false in the first line. */
  atLineStart: boolean
}

/** The kind of quotation that a position is in. */
export type Quotation = 'none' | 'fenced' | 'backtick'

/** The result of a search for a closing backtick. `more` means that more text has to arrive; the search then continues at `at`. */
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

/** The tags of a channel's body. `own` has the names of this channel, `all` the names of all channels. */
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

/** The tags that can count at the current position. A tag inside a quotation may still be text. */
export function expectedTags(body: ChannelBody): TagNames {
  if (body.code) return isInFence(body.code) ? body.tags.ownClose : body.tags.all
  if (body.kind === 'json') return body.inString ? body.tags.openOrOwnClose : body.tags.all
  return body.atLineStart ? body.tags.openOrOwnClose : body.tags.ownClose
}

/** The quotation around the current position. A tag inside a quotation is usually text. */
export function quotationAt(body: ChannelBody): Quotation {
  if (body.code && isInFence(body.code)) return 'fenced'
  const backticks = body.code ? body.code.backticks : body.inString ? body.backticks : 0
  return backticks % 2 === 1 ? 'backtick' : 'none'
}

/** Searches for the backtick that closes the quotation around a tag. A quotation ends at the latest with its line or JSON string. */
export function findBacktick(body: ChannelBody, text: string, from: number, limit: number): BacktickSearch {
  const end = Math.min(limit, text.length)
  let at = from
  while (at < end) {
    const code = text.charCodeAt(at)
    if (code === backtick) return found
    if (code === (body.code ? newline : quote)) return absent
    if (code === backslash && !body.code) {
      if (at + 1 === end) break // the escaped character has not arrived yet, or is beyond the limit
      if (text.charCodeAt(at + 1) !== backtick) at++
    }
    at++
  }
  return end === limit ? absent : { kind: 'more', at }
}

/** True inside a fence, but not on the line that closes it. Models write "```</channel:answer>" on this line. */
const isInFence = (code: CodeContext): boolean => code.fence !== 0 && !code.closing

function advanceJson(body: ChannelBody, text: string, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (body.escaped || code === backslash || code === quote || code === backtick) advanceJsonBy(body, code)
  }
}

function advanceJsonBy(body: ChannelBody, code: number): void {
  if (code === backtick) body.backticks++ // an escaped backtick counts, too: JSON has no such escape, but models write it
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
