import type { Channel } from './channel.ts'
import type { ChannelNames, TagNames } from './channel-tag.ts'
import { advanceCode, type CodeContext, createCodeContext } from './code-fence.ts'

/**
 * The text in a channel may contain real tags, and it may quote tags, for example in code. A quoted tag is part of the text. It opens or
 * closes no channel. The kind of the text decides which tags are real:
 *
 *   raw    only the close tag of the channel itself, and an open tag at the start of a line, except in the first line
 *   json   all tags, except between backticks inside a string
 *   text   all tags, except in a code fence or between backticks; text outside of all channels has this kind too
 */
export type BodyKind = 'raw' | 'json' | 'text'

/** Three sets of tags. `expectedTags` chooses the set of tags that may be real at the current position in the text of a channel. */
export interface BodyTags {
  /** The open and close tags of all channels. */
  readonly all: TagNames
  /** Only the close tag of the channel itself. */
  readonly ownClose: TagNames
  /** The open tags of all channels, and the close tag of the channel itself. */
  readonly openOrOwnClose: TagNames
}

/** The state of the parser at its current position in the text of a channel. */
export interface ChannelBody {
  readonly kind: BodyKind
  readonly tags: BodyTags
  /** Tracks code fences and backticks in a text of the kind `text`. Undefined for other kinds. */
  readonly code: CodeContext | undefined
  /** Only for JSON: true inside a string. */
  inString: boolean
  /** Only for JSON: true after a backslash that escapes the next character. */
  escaped: boolean
  /** Only for JSON: the number of backticks in the current string so far. */
  backticks: number
  /** Only for raw text: true when only spaces came since the last line break. Always false in the first line. */
  atLineStart: boolean
}

/** Whether the current position is quoted: not at all, by a code fence or by backticks. */
export type Quotation = 'none' | 'fenced' | 'backtick'

/**
 * The result of the search for a closing backtick. `more` means that more text has to arrive. In this case the search continues at `at`.
 */
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

/**
 * The sets of tags for the text of a channel. `own` contains the name and the aliases of this channel. `all` contains the names and aliases
 * of all channels.
 */
export function bodyTags(all: ChannelNames, own: ChannelNames): BodyTags {
  return { all: { open: all, close: all }, ownClose: { open: noNames, close: own }, openOrOwnClose: { open: all, close: own } }
}

export function createBody(kind: BodyKind, tags: BodyTags): ChannelBody {
  const code = kind === 'text' ? createCodeContext() : undefined
  return { kind, tags, code, inString: false, escaped: false, backticks: 0, atLineStart: false }
}

/** Updates the state of the parser after it has read `text` from index `from` to index `to` (exclusive). */
export function advanceBody(body: ChannelBody, text: string, from: number, to: number): void {
  if (body.code) advanceCode(body.code, text, from, to)
  else if (body.kind === 'json') advanceJson(body, text, from, to)
  else advanceRaw(body, text, from, to)
}

/**
 * The tags that may be real at the current position. Every other tag is text. If the position is quoted, even one of these tags may be
 * text.
 */
export function expectedTags(body: ChannelBody): TagNames {
  if (body.code) return isInFence(body.code) ? body.tags.ownClose : body.tags.all
  if (body.kind === 'json') return body.inString ? body.tags.openOrOwnClose : body.tags.all
  return body.atLineStart ? body.tags.openOrOwnClose : body.tags.ownClose
}

/** Whether a code fence or backticks quote the current position. A quoted tag is usually text. */
export function quotationAt(body: ChannelBody): Quotation {
  if (body.code && isInFence(body.code)) return 'fenced'
  const backticks = body.code ? body.code.backticks : body.inString ? body.backticks : 0
  return backticks % 2 === 1 ? 'backtick' : 'none'
}

/** Searches for the backtick that closes the quotation around a tag. If the line or the JSON string ends first, there is no quotation. */
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

/**
 * Whether the position is in a code fence. False on the line that closes the fence, because models write "```</channel:answer>" on this
 * line.
 */
const isInFence = (code: CodeContext): boolean => code.fence !== 0 && !code.closing

function advanceJson(body: ChannelBody, text: string, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (body.escaped || code === backslash || code === quote || code === backtick) advanceJsonBy(body, code)
  }
}

function advanceJsonBy(body: ChannelBody, code: number): void {
  if (code === backtick) body.backticks++ // an escaped backtick is counted, too: models write it, although JSON has no such escape
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
