import { createClosingQuoteRule, startClosingQuote, stepClosingQuote } from './json-closing-quote.ts'
import {
  isSpace,
  isTokenCharacter,
  isTypographicQuote,
  type JsonEvent,
  type JsonPath,
  type JsonRepair,
  maxJsonDepth,
  parseScalar,
} from './json-event.ts'
import { createRootFinder, isOpening, stepRoot } from './json-root.ts'
import { createStringDecoder } from './json-string.ts'

/** Why the reader gave up, and where. Offsets count UTF-16 units from the first character pushed. */
export interface ReaderProblem {
  readonly code: 'json.missing' | 'json.unexpected' | 'json.unfinished' | 'json.too_deep'
  readonly offset: number
  readonly path: JsonPath
}

/**
 * Reads one JSON value while it is being written: the first object in the text, or an array if the text starts with one.
 * Total on any text, linear in it, and its events do not depend on where the text was cut (but for how deltas are cut).
 */
export interface JsonReader {
  push(chunk: string): readonly JsonEvent[]
  /** Closes what is open as aborted. */
  end(): readonly JsonEvent[]
  readonly problem: ReaderProblem | undefined
  /** In the order in which they were first needed. */
  readonly repairs: ReadonlySet<JsonRepair>
  /** Where the value began and where the text after it begins, as far as that is known. */
  readonly span: { readonly from: number | undefined; readonly to: number | undefined }
}

interface Frame {
  readonly kind: 'object' | 'array'
  readonly path: JsonPath
  readonly outer: Frame | undefined
  index: number
}

type Mode = 'lead' | 'first' | 'next' | 'value' | 'colon' | 'after' | 'token' | 'string' | 'quote' | 'over'

/** At the end of the text, after a quote: what looked like the next key is the real end of the string. */
const closesLater = /^\s*,\s*["\u201c-\u201f]\s*\}/

const noEvents: readonly JsonEvent[] = []
const starts = { object: 'object.start', array: 'array.start' } as const
const ends = { object: 'object.end', array: 'array.end' } as const

export function createJsonReader(): JsonReader {
  const root = createRootFinder()
  const closing = createClosingQuoteRule()
  const repairs = new Set<JsonRepair>()
  const note = (repair: JsonRepair) => void repairs.add(repair)
  const decoder = createStringDecoder((text) => {
    if (inKey) key += text
    else tell({ type: 'string.delta', path, text })
  }, note)

  let events: readonly JsonEvent[] = noEvents
  let mode: Mode = 'lead'
  let offset = 0 // of the first character of the text being read
  const span = { from: undefined as number | undefined, to: undefined as number | undefined }
  let frame: Frame | undefined
  let path: JsonPath = []
  let key = ''
  let inKey = false
  let token = ''
  let quote = 0
  let held = '' // what came after a quote of which it is not yet known whether it ends the string

  /** Most chunks hold one event: a list made for it is cheaper than a list that grows. */
  function tell(event: JsonEvent) {
    if (events === noEvents) events = [event]
    else (events as JsonEvent[]).push(event)
  }

  function valuePath(): JsonPath {
    if (frame === undefined) return []
    const step = frame.kind === 'array' ? frame.index : key
    return frame.outer === undefined ? [step] : [...frame.path, step]
  }

  function fail(code: ReaderProblem['code'], at: number) {
    const within = mode === 'value' || mode === 'token' || mode === 'colon' || (mode === 'string' && !inKey)
    self.problem = { code, offset: at, path: within ? valuePath() : (frame?.path ?? []) }
    mode = 'over'
    for (; frame !== undefined; frame = frame.outer) tell({ type: ends[frame.kind], path: frame.path, aborted: true })
  }

  function open(kind: Frame['kind'], at: number) {
    const path = valuePath()
    if (path.length === maxJsonDepth) return fail('json.too_deep', at)
    frame = { kind, path, outer: frame, index: 0 }
    mode = 'first'
    tell({ type: starts[kind], path })
  }

  function close(at: number) {
    if (mode === 'next') note('trailing_comma')
    const { kind, path, outer } = frame as Frame
    tell({ type: ends[kind], path, aborted: false })
    frame = outer
    mode = frame === undefined ? 'over' : 'after'
    if (frame === undefined) span.to = at + 1
  }

  function openString(code: number) {
    inKey = frame?.kind === 'object' && mode !== 'value'
    if (code !== 0x22) note('typographic_quote')
    decoder.begin(code === 0x22 ? 'straight' : 'typographic')
    mode = 'string'
    if (inKey) key = ''
    else {
      path = valuePath()
      tell({ type: 'string.start', path })
    }
  }

  function closeString(aborted: boolean) {
    decoder.finish()
    if (!inKey) tell({ type: 'string.end', path, aborted })
    mode = inKey ? 'colon' : 'after'
  }

  function startValue(code: number, at: number) {
    if (code === 0x22 || isTypographicQuote(code)) openString(code)
    else if (code === 0x7b) open('object', at)
    else if (code === 0x5b) open('array', at)
    else if (isTokenCharacter(code)) {
      mode = 'token'
      token = String.fromCharCode(code)
    } else fail('json.unexpected', at)
  }

  /** One character between strings; false when it has to be looked at again in the new mode. */
  function structure(code: number, at: number): boolean {
    if (mode === 'token') return continueToken(code, at)
    if (isSpace(code)) return true
    const { kind } = frame as Frame
    const closer = kind === 'object' ? 0x7d : 0x5d
    if (mode === 'after') {
      if (code === closer) close(at)
      else if (code === 0x2c) {
        mode = 'next'
        ;(frame as Frame).index++
      } else fail('json.unexpected', at)
    } else if (mode === 'colon') {
      if (code === 0x3a) mode = 'value'
      else fail('json.unexpected', at)
    } else if (mode !== 'value' && code === closer) close(at)
    else if (mode === 'value' || kind === 'array') startValue(code, at)
    else if (code === 0x22 || isTypographicQuote(code)) openString(code)
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
      tell({ type: 'scalar', path: valuePath(), value })
      mode = 'after'
    }
    return false
  }

  function lead(code: number, at: number): boolean {
    const began = stepRoot(root, code)
    if (began === undefined) {
      if (isOpening(root) && !isSpace(code)) span.from = at
      return true
    }
    open(began, at)
    return false
  }

  function settleQuote(verdict: 'closes' | 'inside') {
    if (verdict === 'closes') return closeString(false)
    note('inner_quote')
    decoder.keep(quote)
    mode = 'string'
  }

  /** Reads from a possible closing quote up to the character that tells; without one, everything after the quote is held. */
  function weigh(text: string, start: number): boolean {
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
        quote = text.charCodeAt(index)
        startClosingQuote(closing, inKey ? 'key' : (frame as Frame).kind)
        mode = 'quote'
        index++
        if (!weigh(text, index)) break
      } else {
        const code = text.charCodeAt(index)
        if (mode === 'lead' ? lead(code, offset + index) : structure(code, offset + index)) index++
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

  /** Goes back to what was held. Each stretch of text is weighed once and read once, so this stays linear. */
  function reread() {
    const text = held
    held = ''
    read(text)
  }

  function take(): readonly JsonEvent[] {
    const taken = events
    events = noEvents
    return taken
  }

  const self = {
    problem: undefined as ReaderProblem | undefined,
    repairs,
    span,
    push(chunk: string) {
      if (mode === 'over' || chunk === '') return noEvents
      if (mode !== 'quote') read(chunk)
      else if (weigh(chunk, 0)) {
        held += chunk
        reread()
      }
      return take()
    },
    end() {
      if (mode === 'over') return noEvents
      while (mode === 'quote' && closesLater.test(held)) {
        settleQuote('inside')
        reread()
      }
      const at = offset + held.length
      held = ''
      const inside = mode
      if (inside === 'quote')
        closeString(false) // a quote was written; nothing speaks against it
      else if (inside === 'string') closeString(true)
      mode = inside
      fail(inside === 'lead' ? 'json.missing' : 'json.unfinished', at)
      return take()
    },
  }
  return self
}
