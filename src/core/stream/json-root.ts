import { isSpace, isTypographicQuote } from './json-event.ts'

/**
 * Where does the JSON begin? Models put a fence around it, or talk first:
 *
 *   {"action":…        ```json {"action":…        Here you are: {"action":…        [{"action":…
 *
 * A brace is a beginning when a key or its own end follows, so `{braces}` in prose are prose. A bracket is one only as the very
 * first thing: otherwise prose like `see [1]` would hide the object behind it.
 */
export interface RootFinder {
  phase: 'start' | 'ticks' | 'word' | 'fenced' | 'prose' | 'brace' | 'bracket'
  ticks: number
}

export function createRootFinder(): RootFinder {
  return { phase: 'start', ticks: 0 }
}

/** The next character would tell: a brace or a bracket has just been seen. */
export const isOpening = ({ phase }: RootFinder): boolean => phase === 'brace' || phase === 'bracket'

/** Says what began just before this character, once something has. */
export function stepRoot(finder: RootFinder, code: number): 'object' | 'array' | undefined {
  if (finder.phase === 'brace') {
    if (isSpace(code)) return undefined
    if (code === 0x22 || code === 0x7d || isTypographicQuote(code)) return 'object'
    look(finder, code, false)
  } else if (finder.phase === 'bracket') {
    if (isSpace(code)) return undefined
    if (startsValue(code) || code === 0x5d) return 'array'
    look(finder, code, false)
  } else if (finder.phase === 'prose') look(finder, code, false)
  else fence(finder, code)
  return undefined
}

function look(finder: RootFinder, code: number, first: boolean): void {
  if (code === 0x7b) finder.phase = 'brace'
  else if (first && code === 0x5b) finder.phase = 'bracket'
  else if (!first || !isBlank(code)) finder.phase = 'prose'
}

function fence(finder: RootFinder, code: number): void {
  const { phase, ticks } = finder
  if (phase === 'start' && code === 0x60) {
    finder.phase = 'ticks'
    finder.ticks = 1
  } else if (phase === 'ticks' && code === 0x60) finder.ticks++
  else if (phase !== 'start' && ticks < 3) look(finder, code, false)
  else if ((phase === 'ticks' || phase === 'word') && isAlphanumeric(code)) finder.phase = 'word'
  else {
    if (phase !== 'start') finder.phase = 'fenced'
    look(finder, code, true)
  }
}

function startsValue(code: number): boolean {
  const digit = code >= 0x30 && code <= 0x39
  const literal = code === 0x74 || code === 0x66 || code === 0x6e
  return digit || literal || code === 0x2d || code === 0x22 || code === 0x7b || code === 0x5b || isTypographicQuote(code)
}

/** What `trim` removes: the parser of the whole text trims, and both must find the same beginning. */
function isBlank(code: number): boolean {
  return isSpace(code) || (code !== 0x60 && String.fromCharCode(code).trim() === '')
}

function isAlphanumeric(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
}
