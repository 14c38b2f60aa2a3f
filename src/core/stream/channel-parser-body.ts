import type { Channel } from './channel.ts'
import type { Names, Wanted } from './channel-parser-tag.ts'
import { advanceCode, createCodeContext } from './code-context.ts'

/**
 * How a channel's body decides what is a tag and what is text about tags:
 *
 *   raw    only its own close tag, or an open tag that begins a line after the first
 *   json   text when inside a string and between backticks
 *   text   text when in a fence or between backticks; also the words outside all channels
 */
export interface Body {
  /** Text of the body goes by. */
  pass(text: string, from: number, to: number): void
  /** Tags that may count at this place. */
  wanted(): Wanted
  /** Why a wanted tag at this place may still be text. */
  doubt(): Doubt
  /** Looks for the backtick that would make a quotation of the tag before it. */
  findBacktick(text: string, from: number, limit: number): Search
}

export type Doubt = 'none' | 'fenced' | 'backtick'

/** `more`: nothing yet, go on at `at` when there is more text. */
export type Search = { readonly kind: 'found' } | { readonly kind: 'absent' } | { readonly kind: 'more'; readonly at: number }

const found: Search = { kind: 'found' }
const absent: Search = { kind: 'absent' }
const noNames: Names = new Map()

const newline = 10
const quote = 34
const backslash = 92
const backtick = 96

export const isRaw = (channel: Channel): boolean => channel.raw ?? channel.name.toLowerCase() === 'code'

export function createBody(channel: Channel | undefined, all: Names, own: Names): Body {
  if (channel === undefined) return createTextBody(all, noNames)
  if (isRaw(channel)) return createRawBody(all, own)
  return channel.format === 'json' ? createJsonBody(all, own) : createTextBody(all, own)
}

function createTextBody(all: Names, own: Names): Body {
  const context = createCodeContext()
  const every: Wanted = { open: all, close: all }
  const ownClose: Wanted = { open: noNames, close: own }
  // A line that ends the fence ends it for a tag on that line too: "```</channel:answer>" is what models write.
  const isFenced = () => context.fence !== 0 && !context.closing
  return {
    pass: (text, from, to) => advanceCode(context, text, from, to),
    wanted: () => (isFenced() ? ownClose : every),
    doubt: () => (isFenced() ? 'fenced' : context.backticks % 2 === 1 ? 'backtick' : 'none'),
    findBacktick: (text, from, limit) => {
      const end = Math.min(limit, text.length)
      for (let at = from; at < end; at++) {
        const code = text.charCodeAt(at)
        if (code === backtick) return found
        if (code === newline) return absent
      }
      return end === limit ? absent : { kind: 'more', at: end }
    },
  }
}

function createJsonBody(all: Names, own: Names): Body {
  let inString = false
  let escaped = false
  let backticks = 0
  const every: Wanted = { open: all, close: all }
  const inStringWanted: Wanted = { open: all, close: own }

  function read(code: number): void {
    if (code === backtick) backticks++ // escaped or not: JSON has no such escape, but models write it
    if (escaped) escaped = false
    else if (code === backslash) escaped = inString
    else if (code === quote) {
      inString = !inString
      backticks = 0
    }
  }

  return {
    pass: (text, from, to) => {
      for (let at = from; at < to; at++) {
        const code = text.charCodeAt(at)
        if (escaped || code === backslash || code === quote || code === backtick) read(code)
      }
    },
    wanted: () => (inString ? inStringWanted : every),
    doubt: () => (inString && backticks % 2 === 1 ? 'backtick' : 'none'),
    findBacktick: (text, from, limit) => {
      const end = Math.min(limit, text.length)
      let at = from
      while (at < end) {
        const code = text.charCodeAt(at)
        if (code === backtick) return found
        if (code === quote) return absent
        if (code === backslash && at + 1 === end) break // what it escapes has not arrived, or is out of sight
        at += code === backslash && text.charCodeAt(at + 1) !== backtick ? 2 : 1
      }
      return end === limit ? absent : { kind: 'more', at }
    },
  }
}

function createRawBody(all: Names, own: Names): Body {
  let atLineStart = false // the body's first line does not count: nothing was written yet
  const ownClose: Wanted = { open: noNames, close: own }
  const lineStart: Wanted = { open: all, close: own }
  return {
    pass: (text, from, to) => {
      for (let at = from; at < to; at++) {
        const code = text.charCodeAt(at)
        if (code === newline) atLineStart = true
        else if (atLineStart && !isBlank(code)) atLineStart = false
      }
    },
    wanted: () => (atLineStart ? lineStart : ownClose),
    doubt: () => 'none',
    findBacktick: () => absent,
  }
}

const isBlank = (code: number): boolean => code === 32 || code === 9 || code === 13
