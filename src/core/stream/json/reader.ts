import { createClosingQuoteRule, startClosingQuote, stepClosingQuote } from './closing-quote.ts'
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  isTokenCharacter,
  isTypographicQuote,
  type JsonEvent,
  type JsonPath,
  type JsonRepair,
  maxJsonDepth,
  openBrace,
  openBracket,
  parseScalar,
  quote,
} from './event.ts'
import { createRootFinder, isOpening, stepRoot } from './root.ts'
import { createStringDecoder } from './string.ts'

/** Why and where the reader stopped. */
export interface ReaderProblem {
  readonly code: 'json.missing' | 'json.unexpected' | 'json.unfinished' | 'json.too_deep'
  /** The number of UTF-16 units before the problem, counted from the first character that was pushed. */
  readonly offset: number
  readonly path: JsonPath
}

/**
 * Reads one JSON value while the model writes it. The value is the first object in the text, or an array if the text starts with one. Any
 * text is accepted and read in linear time. The events do not depend on where the text was divided into chunks, except for the sizes of
 * string deltas.
 */
export interface JsonReader {
  push(chunk: string): readonly JsonEvent[]
  /** Ends the input. Values that are still open get an end event with `aborted`. */
  end(): readonly JsonEvent[]
  readonly problem: ReaderProblem | undefined
  /** The mistakes that the reader corrected, in the order in which they occurred first. */
  readonly repairs: ReadonlySet<JsonRepair>
  /** `from` is the offset at which the value begins, and `to` is the offset after its end. Each is undefined until it is known. */
  readonly span: { readonly from: number | undefined; readonly to: number | undefined }
}

/** An object or array whose end has not been read yet. */
interface Frame {
  readonly kind: 'object' | 'array'
  readonly path: JsonPath
  readonly outer: Frame | undefined
  index: number
}

/**
 * What the reader expects next:
 *
 *   lead     the start of the value
 *   first    after { or [: a key, an item or the end
 *   next     after a comma: a key, an item or the end
 *   colon    the colon after a key
 *   value    the value after a colon
 *   after    after a value: a comma or the end
 *   token    more of a number or word
 *   string   more of a string
 *   quote    the text after a quote, which decides whether the quote ends the string
 *   over     nothing: the value is complete or invalid
 */
type Mode = 'lead' | 'first' | 'next' | 'value' | 'colon' | 'after' | 'token' | 'string' | 'quote' | 'over'

/**
 * Matches the text after the first quote if the input ends like `x", "}`. The reader could not decide yet whether the first quote ends the
 * string, because the second quote could begin another key. No key has followed, so the second quote ends the string, and the first quote
 * is part of it.
 */
const closesLater = /^\s*,\s*["\u201c-\u201f]\s*\}/

const starts = { object: 'object.start', array: 'array.start' } as const
const ends = { object: 'object.end', array: 'array.end' } as const

/** Creates a reader for JSON that a model is still writing. It also accepts the mistakes that models often make in JSON. */
export function createJsonReader(): JsonReader {
  const root = createRootFinder()
  const closing = createClosingQuoteRule()
  const repairs = new Set<JsonRepair>()
  const note = (repair: JsonRepair) => void repairs.add(repair)
  const decoder = createStringDecoder((text) => {
    if (inKey) key += text
    else events.push({ type: 'string.delta', path, text })
  }, note)

  let events: JsonEvent[] = []
  let mode: Mode = 'lead'
  let offset = 0 // the offset of the first character of the text that is being read
  const span = { from: undefined as number | undefined, to: undefined as number | undefined }
  let frame: Frame | undefined
  let path: JsonPath = []
  let key = ''
  let inKey = false
  let token = ''
  let lastQuote = 0
  let held = '' // the text after a quote, until it is decided whether the quote ends the string

  function valuePath(): JsonPath {
    if (frame === undefined) return []
    const step = frame.kind === 'array' ? frame.index : key
    return frame.outer === undefined ? [step] : [...frame.path, step]
  }

  function fail(code: ReaderProblem['code'], at: number) {
    const within = mode === 'value' || mode === 'token' || mode === 'colon' || (mode === 'string' && !inKey)
    self.problem = { code, offset: at, path: within ? valuePath() : (frame?.path ?? []) }
    mode = 'over'
    for (; frame !== undefined; frame = frame.outer) events.push({ type: ends[frame.kind], path: frame.path, aborted: true })
  }

  function open(kind: Frame['kind'], at: number) {
    const path = valuePath()
    if (path.length === maxJsonDepth) return fail('json.too_deep', at)
    frame = { kind, path, outer: frame, index: 0 }
    mode = 'first'
    events.push({ type: starts[kind], path })
  }

  function close(at: number) {
    if (mode === 'next') note('trailing_comma')
    const { kind, path, outer } = frame as Frame
    events.push({ type: ends[kind], path, aborted: false })
    frame = outer
    mode = frame === undefined ? 'over' : 'after'
    if (frame === undefined) span.to = at + 1
  }

  function openString(code: number) {
    inKey = frame?.kind === 'object' && mode !== 'value'
    if (code !== quote) note('typographic_quote')
    decoder.begin(code === quote ? 'straight' : 'typographic')
    mode = 'string'
    if (inKey) key = ''
    else {
      path = valuePath()
      events.push({ type: 'string.start', path })
    }
  }

  function closeString(aborted: boolean) {
    decoder.finish()
    if (!inKey) events.push({ type: 'string.end', path, aborted })
    mode = inKey ? 'colon' : 'after'
  }

  function startValue(code: number, at: number) {
    if (code === quote || isTypographicQuote(code)) openString(code)
    else if (code === openBrace) open('object', at)
    else if (code === openBracket) open('array', at)
    else if (isTokenCharacter(code)) {
      mode = 'token'
      token = String.fromCharCode(code)
    } else fail('json.unexpected', at)
  }

  /** Reads one character outside of strings. Returns false when the mode has changed and the same character has to be read again. */
  function readStructure(code: number, at: number): boolean {
    if (mode === 'token') return continueToken(code, at)
    if (isSpace(code)) return true
    const { kind } = frame as Frame
    const closer = kind === 'object' ? closeBrace : closeBracket
    if (mode === 'after') {
      if (code === closer) close(at)
      else if (code === comma) {
        mode = 'next'
        ;(frame as Frame).index++
      } else fail('json.unexpected', at)
    } else if (mode === 'colon') {
      if (code === colon) mode = 'value'
      else fail('json.unexpected', at)
    } else if (mode !== 'value' && code === closer) close(at)
    else if (mode === 'value' || kind === 'array') startValue(code, at)
    else if (code === quote || isTypographicQuote(code)) openString(code)
    else fail('json.unexpected', at)
    return true
  }

  function continueToken(code: number, at: number): boolean {
    if (isTokenCharacter(code)) {
      token += String.fromCharCode(code)
      return true
    }
    const value = parseScalar(token)
    if (value === undefined) fail('json.unexpected', at - token.length)
    else {
      events.push({ type: 'scalar', path: valuePath(), value })
      mode = 'after'
    }
    return false
  }

  /**
   * Reads one character before the start of the value. Returns false when the mode has changed and the same character has to be read again.
   */
  function readLead(code: number, at: number): boolean {
    const started = stepRoot(root, code)
    if (started === undefined) {
      if (isOpening(root) && !isSpace(code)) span.from = at
      return true
    }
    open(started, at)
    return false
  }

  function settleQuote(verdict: 'closes' | 'inside') {
    if (verdict === 'closes') return closeString(false)
    note('inner_quote')
    decoder.keep(lastQuote)
    mode = 'string'
  }

  /** Reads the text after a quote and decides whether the quote ends the string. Returns false when more text has to arrive first. */
  function decideQuote(text: string, start: number): boolean {
    for (let index = start; index < text.length; index++) {
      const verdict = stepClosingQuote(closing, text.charCodeAt(index))
      if (verdict === 'undecided') continue
      settleQuote(verdict)
      return true
    }
    held += start === 0 ? text : text.slice(start)
    return false
  }

  function read(text: string) {
    let index = 0
    while (index < text.length && mode !== 'over') {
      if (mode === 'string') {
        index = decoder.read(text, index)
        if (index === text.length) break
        lastQuote = text.charCodeAt(index)
        startClosingQuote(closing, inKey ? 'key' : (frame as Frame).kind)
        mode = 'quote'
        index++
        if (!decideQuote(text, index)) break
      } else {
        const code = text.charCodeAt(index)
        if (mode === 'lead' ? readLead(code, offset + index) : readStructure(code, offset + index)) index++
      }
    }
    if (mode === 'quote') {
      offset += index
      decoder.flush()
    } else {
      offset += text.length
      if (mode === 'string') decoder.flush()
    }
  }

  /** Reads the text after the last quote, once it is decided whether that quote ends the string. */
  function readHeld() {
    const text = held
    held = ''
    read(text)
  }

  function take(): readonly JsonEvent[] {
    const taken = events
    events = []
    return taken
  }

  const self = {
    problem: undefined as ReaderProblem | undefined,
    repairs,
    span,
    push(chunk: string) {
      if (mode === 'over' || chunk === '') return []
      if (mode !== 'quote') read(chunk)
      else if (decideQuote(chunk, 0)) {
        held += chunk
        readHeld()
      }
      return take()
    },
    end() {
      if (mode === 'over') return []
      while (mode === 'quote' && closesLater.test(held)) {
        settleQuote('inside')
        readHeld()
      }
      const at = offset + held.length
      held = ''
      const inside = mode
      if (inside === 'quote')
        closeString(false) // no text follows, so the quote ends the string
      else if (inside === 'string') closeString(true)
      mode = inside
      fail(inside === 'lead' ? 'json.missing' : 'json.unfinished', at)
      return take()
    },
  }
  return self
}
