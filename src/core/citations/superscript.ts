import { foldBody, idsIn } from './token.ts'

/**
 * A citation as HTML carries it: `<sup class="cite" data-sids="1,3">…</sup>`, with either kind of quotes and whatever inside.
 * One unit of at most 600 characters, read from a text that may end in the middle of it.
 */
export type SuperscriptRead =
  | { readonly kind: 'none' }
  /** When it does not become a unit after all, what it holds is read on its own: a usage tag in it may still be taken out. */
  | { readonly kind: 'partial'; readonly cite: true; readonly usage: true }
  | { readonly kind: 'superscript'; readonly ids: readonly number[]; readonly end: number }

const longestUnit = 600
const none: SuperscriptRead = { kind: 'none' }
const partial: SuperscriptRead = { kind: 'partial', cite: true, usage: true }

const opening = /<sup(?:\s[^<>]*)?>/iy
const unfinishedOpening = /<(?:s(?:u(?:p(?:\s[^<>]*)?)?)?)?$/iy
/** A second `<sup` ends the hope: units do not nest. */
const boundary = /<\/sup\s{0,8}>|<sup[\s>]/gi
const innerToken = /\[\[?\s*s\s*:([^[\]]+)\]/gi

/** Reads the unit that the `<` at `at` may begin. */
export function readSuperscript(text: string, at: number): SuperscriptRead {
  if (at + 1 < text.length && (text.charCodeAt(at + 1) | 32) !== 115) return none // most angles end here
  const tag = matchAt(opening, text, at)
  if (tag === undefined) return text.length - at < longestUnit && matchAt(unfinishedOpening, text, at) !== undefined ? partial : none
  if (!(attribute(tag, 'class') ?? '').toLowerCase().split(/\s+/).includes('cite')) return none
  const bodyStart = at + tag.length
  boundary.lastIndex = bodyStart
  const close = boundary.exec(text)
  if (close === null) return text.length - at < longestUnit ? partial : none
  const end = close.index + close[0].length
  if (!close[0].startsWith('</') || end - at > longestUnit) return none
  const listed = idsIn(foldBody(attribute(tag, 'data-sids') ?? ''))
  const ids = listed.length > 0 ? listed : idsIn(innerIds(text.slice(bodyStart, close.index)))
  return ids.length > 0 ? { kind: 'superscript', ids, end } : none
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'i').exec(tag)
  return match?.[1] ?? match?.[2]
}

const innerIds = (inside: string): string => [...foldBody(inside).matchAll(innerToken)].map((match) => match[1]).join(',')
