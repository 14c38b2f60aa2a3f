import type { Channel } from './channel.ts'
import type { ChannelNames, TagNames } from './channel-tag.ts'
import { advanceCode, type CodeContext, createCodeContext } from './code-fence.ts'

/**
 * How a channel's body decides what is a tag and what is text about tags:
 *
 *   raw    only its own close tag, or an open tag that begins a line after the first
 *   json   text when inside a string and between backticks
 *   text   text when in a fence or between backticks; also the words outside all channels
 */
export type BodyKind = 'raw' | 'json' | 'text'

/** The tags that may count in a body, by where in it they stand. */
export interface BodyTags {
  readonly all: TagNames
  readonly ownClose: TagNames
  readonly openOrOwnClose: TagNames
}

/** Where a text that arrives in pieces stands in a body. */
export interface ChannelBody {
  readonly kind: BodyKind
  readonly tags: BodyTags
  /** Of text only. */
  readonly code: CodeContext | undefined
  /** Of JSON only. */
  inString: boolean
  escaped: boolean
  backticks: number
  /** Of a raw body only. Its first line does not count: nothing was written yet. */
  atLineStart: boolean
}

export type Quotation = 'none' | 'fenced' | 'backtick'

/** `more`: nothing yet, go on at `at` when there is more text. */
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

/** `own`: the names whose close tags end the body. */
export function bodyTags(all: ChannelNames, own: ChannelNames): BodyTags {
  return { all: { open: all, close: all }, ownClose: { open: noNames, close: own }, openOrOwnClose: { open: all, close: own } }
}

export function createBody(kind: BodyKind, tags: BodyTags): ChannelBody {
  const code = kind === 'text' ? createCodeContext() : undefined
  return { kind, tags, code, inString: false, escaped: false, backticks: 0, atLineStart: false }
}

/** Text of the body goes by. */
export function advanceBody(body: ChannelBody, text: string, from: number, to: number): void {
  if (body.code) advanceCode(body.code, text, from, to)
  else if (body.kind === 'json') advanceJson(body, text, from, to)
  else advanceRaw(body, text, from, to)
}

/** Tags that may count at this place. */
export function expectedTags(body: ChannelBody): TagNames {
  if (body.code) return isInFence(body.code) ? body.tags.ownClose : body.tags.all
  if (body.kind === 'json') return body.inString ? body.tags.openOrOwnClose : body.tags.all
  return body.atLineStart ? body.tags.openOrOwnClose : body.tags.ownClose
}

/** Why a wanted tag at this place may still be text. */
export function quotationAt(body: ChannelBody): Quotation {
  if (body.code && isInFence(body.code)) return 'fenced'
  const backticks = body.code ? body.code.backticks : body.inString ? body.backticks : 0
  return backticks % 2 === 1 ? 'backtick' : 'none'
}

/** Looks for the backtick that would make a quotation of the tag before it. */
export function findBacktick(body: ChannelBody, text: string, from: number, limit: number): BacktickSearch {
  const end = Math.min(limit, text.length)
  let at = from
  while (at < end) {
    const code = text.charCodeAt(at)
    if (code === backtick) return found
    if (code === (body.code ? newline : quote)) return absent
    if (code === backslash && !body.code) {
      if (at + 1 === end) break // what it escapes has not arrived, or is out of sight
      if (text.charCodeAt(at + 1) !== backtick) at++
    }
    at++
  }
  return end === limit ? absent : { kind: 'more', at }
}

/** A line that ends the fence ends it for a tag on that line too: "```</channel:answer>" is what models write. */
const isInFence = (code: CodeContext): boolean => code.fence !== 0 && !code.closing

function advanceJson(body: ChannelBody, text: string, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (body.escaped || code === backslash || code === quote || code === backtick) readJson(body, code)
  }
}

function readJson(body: ChannelBody, code: number): void {
  if (code === backtick) body.backticks++ // escaped or not: JSON has no such escape, but models write it
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
