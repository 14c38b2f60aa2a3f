import { normalizeBody, parseIds } from './token.ts'

/**
 * A citation as HTML carries it: `<sup class="cite" data-sids="1,3">…</sup>`, with either kind of quotes and whatever inside.
 * One unit of at most 600 characters, read from a text that may end in the middle of it.
 */
export type SuperscriptMatch =
  | { readonly kind: 'none' }
  /** When it does not become a unit after all, what it holds is read on its own: a usage tag in it may still be taken out. */
  | { readonly kind: 'partial'; readonly cite: true; readonly usage: true }
  | { readonly kind: 'superscript'; readonly ids: readonly number[]; readonly end: number }

const maxSuperscriptLength = 600
const noSuperscript: SuperscriptMatch = { kind: 'none' }
const partialSuperscript: SuperscriptMatch = { kind: 'partial', cite: true, usage: true }

const openTag = /<sup(?:\s[^<>]*)?>/iy
const partialOpenTag = /<(?:s(?:u(?:p(?:\s[^<>]*)?)?)?)?$/iy
/** A second `<sup` ends the hope: units do not nest. */
const boundary = /<\/sup\s{0,8}>|<sup[\s>]/gi
const innerToken = /\[\[?\s*s\s*:([^[\]]+)\]/gi

/** Reads the unit that the `<` at `at` may begin. */
export function readSuperscript(text: string, at: number): SuperscriptMatch {
  if (at + 1 < text.length && (text.charCodeAt(at + 1) | 32) !== 115) return noSuperscript // most angles end here
  const tag = matchAt(openTag, text, at)
  if (tag === undefined)
    return text.length - at < maxSuperscriptLength && matchAt(partialOpenTag, text, at) !== undefined ? partialSuperscript : noSuperscript
  if (!(attribute(tag, 'class') ?? '').toLowerCase().split(/\s+/).includes('cite')) return noSuperscript
  const bodyStart = at + tag.length
  boundary.lastIndex = bodyStart
  const close = boundary.exec(text)
  if (close === null) return text.length - at < maxSuperscriptLength ? partialSuperscript : noSuperscript
  const end = close.index + close[0].length
  if (!close[0].startsWith('</') || end - at > maxSuperscriptLength) return noSuperscript
  const listed = parseIds(normalizeBody(attribute(tag, 'data-sids') ?? ''))
  const ids = listed.length > 0 ? listed : parseIds(innerIds(text.slice(bodyStart, close.index)))
  return ids.length > 0 ? { kind: 'superscript', ids, end } : noSuperscript
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function attribute(tag: string, name: string): string | undefined {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'i').exec(tag)
  return match?.[1] ?? match?.[2]
}

const innerIds = (inside: string): string => [...normalizeBody(inside).matchAll(innerToken)].map((match) => match[1]).join(',')
