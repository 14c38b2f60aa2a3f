import { backtick, closeBrace, closeBracket, isSpace, isTypographicQuote, openBrace, openBracket, quote } from './event.ts'

/**
 * Finds the start of the JSON in a response. Models may write a code fence or an introduction before the JSON:
 *
 *   {"action":…        ```json {"action":…        Here you are: {"action":…        [{"action":…
 *
 * A brace starts an object only when a quote or a closing brace follows, so `{braces}` in prose are skipped. A bracket starts an array only
 * at the beginning of the text or of its code fence. Otherwise `see [1]` in prose would be read as JSON.
 */
export interface RootFinder {
  phase: 'start' | 'ticks' | 'word' | 'fenced' | 'prose' | 'brace' | 'bracket'
  ticks: number
}

export function createRootFinder(): RootFinder {
  return { phase: 'start', ticks: 0 }
}

/**
 * Whether the last character that is not a space was a brace or bracket that may start the JSON. The next character that is not a space
 * decides whether it does.
 */
export const isOpening = ({ phase }: RootFinder): boolean => phase === 'brace' || phase === 'bracket'

/** Reads the next character. Returns `object` or `array` when this character shows that the brace or bracket before it starts the JSON. */
export function stepRoot(finder: RootFinder, code: number): 'object' | 'array' | undefined {
  if (finder.phase === 'brace') {
    if (isSpace(code)) return undefined
    if (code === quote || code === closeBrace || isTypographicQuote(code)) return 'object'
    lookForStart(finder, code, false)
  } else if (finder.phase === 'bracket') {
    if (isSpace(code)) return undefined
    if (startsValue(code) || code === closeBracket) return 'array'
    lookForStart(finder, code, false)
  } else if (finder.phase === 'prose') lookForStart(finder, code, false)
  else readFence(finder, code)
  return undefined
}

/** Checks whether the character may start the JSON. `first` is true when only white space and a code fence came before it. */
function lookForStart(finder: RootFinder, code: number, first: boolean): void {
  if (code === openBrace) finder.phase = 'brace'
  else if (first && code === openBracket) finder.phase = 'bracket'
  else if (!first || !isBlank(code)) finder.phase = 'prose'
}

/** Reads the code fence before the JSON, if there is one. */
function readFence(finder: RootFinder, code: number): void {
  const { phase, ticks } = finder
  if (phase === 'start' && code === backtick) {
    finder.phase = 'ticks'
    finder.ticks = 1
  } else if (phase === 'ticks' && code === backtick) finder.ticks++
  else if (phase !== 'start' && ticks < 3) lookForStart(finder, code, false)
  else if ((phase === 'ticks' || phase === 'word') && isAlphanumeric(code)) finder.phase = 'word'
  else {
    if (phase !== 'start') finder.phase = 'fenced'
    lookForStart(finder, code, true)
  }
}

function startsValue(code: number): boolean {
  const digit = code >= 0x30 && code <= 0x39
  const literal = code === 0x74 || code === 0x66 || code === 0x6e
  return digit || literal || code === 0x2d || code === quote || code === openBrace || code === openBracket || isTypographicQuote(code)
}

/** Whether `trim` removes the character. `stripFence` uses `trim`, and both must find the same start of the JSON. */
function isBlank(code: number): boolean {
  return isSpace(code) || (code !== backtick && String.fromCharCode(code).trim() === '')
}

function isAlphanumeric(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
}
