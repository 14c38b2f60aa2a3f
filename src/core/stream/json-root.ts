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
  /** Says what began just before this character, once something has. */
  step(code: number): 'object' | 'array' | undefined
  /** The next character would tell: a brace or a bracket has just been seen. */
  opening(): boolean
}

export function createRootFinder(): RootFinder {
  let phase: 'start' | 'ticks' | 'word' | 'fenced' | 'prose' | 'brace' | 'bracket' = 'start'
  let ticks = 0

  function look(code: number, first: boolean) {
    if (code === 0x7b) phase = 'brace'
    else if (first && code === 0x5b) phase = 'bracket'
    else if (!first || !isBlank(code)) phase = 'prose'
  }

  function fence(code: number) {
    if (phase === 'start' && code === 0x60) {
      phase = 'ticks'
      ticks = 1
    } else if (phase === 'ticks' && code === 0x60) ticks++
    else if (phase !== 'start' && ticks < 3) look(code, false)
    else if ((phase === 'ticks' || phase === 'word') && isAlphanumeric(code)) phase = 'word'
    else {
      if (phase !== 'start') phase = 'fenced'
      look(code, true)
    }
  }

  return {
    opening: () => phase === 'brace' || phase === 'bracket',
    step(code) {
      if (phase === 'brace') {
        if (isSpace(code)) return undefined
        if (code === 0x22 || code === 0x7d || isTypographicQuote(code)) return 'object'
        look(code, false)
      } else if (phase === 'bracket') {
        if (isSpace(code)) return undefined
        if (startsValue(code) || code === 0x5d) return 'array'
        look(code, false)
      } else if (phase === 'prose') look(code, false)
      else fence(code)
      return undefined
    },
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
