import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createJsonCollector } from './collector.ts'
import type { JsonEvent, JsonValue } from './event.ts'
import { createJsonReader } from './reader.ts'

function read(pieces: readonly string[]) {
  const reader = createJsonReader()
  const events = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
  return { events: joined(events), problem: reader.problem, repairs: [...reader.repairs], span: reader.span, raw: events }
}

/** Joins adjacent deltas. Their number depends on how the text was cut into chunks. */
function joined(events: readonly JsonEvent[]): readonly JsonEvent[] {
  const out: JsonEvent[] = []
  for (const event of events) {
    const last = out.at(-1)
    if (event.type === 'string.delta' && last?.type === 'string.delta') out[out.length - 1] = { ...last, text: last.text + event.text }
    else out.push(event)
  }
  return out
}

function rebuild(events: readonly JsonEvent[]): JsonValue | undefined {
  const collector = createJsonCollector()
  return events.map((event) => collector.push(event)).at(-1)
}

function stringAt(events: readonly JsonEvent[], ...path: (string | number)[]): string | undefined {
  const same = (event: JsonEvent) => JSON.stringify(event.path) === JSON.stringify(path)
  if (!events.some((event) => event.type === 'string.start' && same(event))) return undefined
  return events.map((event) => (event.type === 'string.delta' && same(event) ? event.text : '')).join('')
}

function* cuts(text: string, random: number): Generator<readonly string[]> {
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)]
  yield text.split('')
  let seed = text.length + 7
  for (let run = 0; run < random; run++) {
    const pieces: string[] = []
    for (let at = 0; at < text.length; ) {
      seed = (seed * 1103515245 + 12345) % 2147483648
      const length = 1 + ((seed >> 8) % 9)
      pieces.push(text.slice(at, at + length))
      at += length
    }
    yield pieces
  }
}

const segmented = (text: string, marks: readonly number[]) => {
  const at = [...new Set([0, ...marks.map((mark) => mark % (text.length + 1)), text.length])].sort((a, b) => a - b)
  return at.slice(1).map((end, i) => text.slice(at[i], end))
}

/**
 * The value that the reader gives for the JSON of a value. It is not made with JSON.parse, because V8 reads some keys wrongly: after
 * `{"a":[],"\\":""}`, it reads `{"a":[],"\"":""}` as an object with the key `\`.
 */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Object.is(value, -0)) return 0 // JSON.stringify writes 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(wellFormed)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]))
}

const corpus: readonly string[] = [
  '{"action":"complete","final_answer":"A"}',
  '```json {"action":"complete","final_answer":"A"} ```',
  'Here you are, with {braces} and [1]: ```json\n{"a": [1, -2.5e3, true, false, null, "x", {"b": {}}, []]}\n``` bye {"c":1}',
  '{"action":"complete","final_answer":"He said "hi", then left."}',
  '{"a":"say "x"","b":"y","c":["p "q" r","s", "t" , 12, "u", true]}',
  '{"a":"list ["x","y"] of {"k":1}, "and" more","b":1}',
  '{"a":"line\nbreak\tand \\u0041\\n\\"q\\" \\\\ \\/ \\d \\u12 \\uZZ end"}',
  '{"a":"x\\ud83d\\ude00 \\ud83d \\ude00 \\ud83dA 😀 \ud83d\\ude00 \ud83d","b\\ud83d\\ude00":"y"}',
  '{“action”: “complete”, "b": "it is “quoted”, is it", “c”: “say "x" or ”y” now”}',
  '{"a":1,"b":[1,2,],"c":"x",}',
  '{"a":"x","tool_call":{"params":{"action":"no","content":"ref:"}},"10":1,"2":2,"a":"again"}',
  '[{"action":"complete","final_answer":"in an array"}]',
  '{"a":"unfinished \\ud83d',
  '{"a":"unfinished \\',
  '{"a":"closed"',
  '{"a":"closed" , "b',
  '{"a":[1,{"b":12',
  '{"a":tru}',
  '{"a":"x"} trailing "prose"',
  '{"a" 1}',
  '{"a":1]',
  '{"ke"y":"v"}',
  'no json at all `` { x } [1',
  '{ {{ "a" : 01}',
  '{"a":"\u0000\u200b\u202e\u2028"}',
  '{}',
  '',
]

describe('events of the reader', () => {
  it('do not depend on where the text was cut: every two-way cut, single characters, 500 random segmentations', () => {
    for (const text of corpus) {
      const { raw: _, ...whole } = read([text])
      for (const pieces of cuts(text, 500)) {
        const { raw: __, ...again } = read(pieces)
        if (JSON.stringify(again) !== JSON.stringify(whole)) expect({ pieces, ...again }).toEqual({ pieces, ...whole })
      }
    }
  })

  it('have the exact path of every value', () => {
    expect(read(['{"action":"x","p":{"action":["action",7]}}']).events).toEqual([
      { type: 'object.start', path: [] },
      { type: 'string.start', path: ['action'] },
      { type: 'string.delta', path: ['action'], text: 'x' },
      { type: 'string.end', path: ['action'], aborted: false },
      { type: 'object.start', path: ['p'] },
      { type: 'array.start', path: ['p', 'action'] },
      { type: 'string.start', path: ['p', 'action', 0] },
      { type: 'string.delta', path: ['p', 'action', 0], text: 'action' },
      { type: 'string.end', path: ['p', 'action', 0], aborted: false },
      { type: 'scalar', path: ['p', 'action', 1], value: 7 },
      { type: 'array.end', path: ['p', 'action'], aborted: false },
      { type: 'object.end', path: ['p'], aborted: false },
      { type: 'object.end', path: [], aborted: false },
    ])
  })

  it('give the value that was written as JSON, for any value, layout, escaping and segmentation', () => {
    const text = fc
      .record({
        value: fc.oneof(
          fc.dictionary(fc.string({ unit: 'binary', maxLength: 6 }), fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }), { maxKeys: 5 }),
          fc.array(fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }), { maxLength: 4 }),
        ),
        indent: fc.constantFrom('', '  ', '\t'),
        escaped: fc.boolean(),
      })
      .map(({ value, indent, escaped }) => {
        const json = JSON.stringify(value, null, indent)
        const ascii = json.replace(/[^\x20-\x7e\n\t]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        return { value, json: escaped ? ascii : json }
      })
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 12 }), ({ value, json }, marks) => {
        const { events, problem, repairs } = read(segmented(json, marks))
        expect({ value: rebuild(events), problem, repairs }).toEqual({
          value: wellFormed(value),
          problem: undefined,
          repairs: [],
        })
      }),
      { numRuns: 60 },
    )
  })

  it('give the value that was written as JSON, for strings of quotes, commas, braces, backslashes and lone surrogates', () => {
    const piece = fc.constantFrom('"', ',', ':', '}', ']', '{', '[', '\\', ' ', '\n', 'a', '“', '”', '😀', '\ud83d', '\ude00', '`', 'u')
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, fc.oneof(text, fc.array(text, { maxLength: 3 }))), { maxLength: 3 }),
        fc.array(fc.nat(), { maxLength: 8 }),
        (entries, marks) => {
          const value = Object.fromEntries(entries)
          expect(rebuild(read(segmented(JSON.stringify(value), marks)).events)).toEqual(wellFormed(value))
        },
      ),
      { numRuns: 500 },
    )
  })

  it('have the key that was written, whatever the keys of earlier objects were', () => {
    for (const key of ['\\', '"', '\n', '\\,']) {
      const value = { a: [], [key]: '' }
      expect(rebuild(read([JSON.stringify(value)]).events)).toEqual(wellFormed(value))
    }
  })

  it('come with each character: a string is not held back until its end', () => {
    const reader = createJsonReader()
    const shown = [...'{"a":"He said '].flatMap((character) => reader.push(character))
    expect(stringAt(shown, 'a')).toBe('He said ')
    expect(reader.push('"')).toEqual([])
    expect(stringAt(reader.push('h'), 'a')).toBe(undefined)
    expect(joined([...'i there'].flatMap((character) => reader.push(character)))).toEqual([
      { type: 'string.delta', path: ['a'], text: 'i there' },
    ])
  })

  it('have deltas of at most 256 characters that never split a surrogate pair', () => {
    const reader = createJsonReader()
    const body = `${'a'.repeat(255)}😀${'b'.repeat(600)}`
    const deltas = reader.push(`{"a":"${body}"}`).filter((event) => event.type === 'string.delta')
    expect(deltas.map(({ text }) => text.length)).toEqual([255, 256, 256, 90])
    expect(deltas.every(({ text }) => text.isWellFormed())).toBe(true)
  })
})

describe('a quote that was not escaped', () => {
  it('loop 17.50: ends the string only if a closing brace or the next key follows', () => {
    const { events, repairs } = read(['{"action":"complete","final_answer":"He said "hi", then left."}'])
    expect(stringAt(events, 'final_answer')).toBe('He said "hi", then left.')
    expect(repairs).toEqual(['inner_quote'])
  })

  it('ends the string where a search in the complete text says, for any text and segmentation', () => {
    const piece = fc.constantFrom('"', '"', ',', ':', '}', ']', ' ', '\n', 'key', '\\"', '\\n', 'word', '", "', '":', '",}')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), fc.array(fc.nat(), { maxLength: 10 }), (pieces, marks) => {
        const text = `{"a":"${pieces.join('')}"}`
        const isEnd = /^"\s*(?:\}|,\s*(?:\}|"(?:[^"\\\n]|\\[^\n])*"\s*:))/
        let end = 6
        while (!isEnd.test(text.slice(end))) end += text[end] === '\\' ? 2 : 1
        const expected = text.slice(6, end).replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
        const [first = ''] = read(segmented(text, marks)).events.flatMap((event, i, all) =>
          event.type === 'string.end' && event.path[0] === 'a' ? [stringBefore(all, i)] : [],
        )
        expect(first).toBe(expected)
      }),
      { numRuns: 600 },
    )
  })

  it('may be in a key or in an item of an array', () => {
    expect(rebuild(read(['{"ke"y":["p "q" r","s", 12,"x"]}']).events)).toEqual({ 'ke"y': ['p "q" r', 's', 12, 'x'] })
    expect(rebuild(read(['["say "a", truely", "b", true]']).events)).toEqual(['say "a", truely', 'b', true])
  })
})

describe('text that stops or breaks', () => {
  it('ends the open string and all values around it as aborted', () => {
    expect(read(['{"a":{"b":"half \\ud83d']).events.slice(2)).toEqual([
      { type: 'string.start', path: ['a', 'b'] },
      { type: 'string.delta', path: ['a', 'b'], text: 'half \uFFFD' },
      { type: 'string.end', path: ['a', 'b'], aborted: true },
      { type: 'object.end', path: ['a'], aborted: true },
      { type: 'object.end', path: [], aborted: true },
    ])
    expect(read(['{"a":{"b":"half']).problem).toEqual({ code: 'json.unfinished', offset: 15, path: ['a', 'b'] })
  })

  it('takes a quote at the end of the input as the end of the string', () => {
    expect(read(['{"a":"whole", "b']).events.at(-2)).toEqual({ type: 'string.end', path: ['a'], aborted: false })
    expect(rebuild(read(['{"a":"whole", "}']).events)).toEqual({ a: 'whole", ' })
  })

  it('stops the reader at the first invalid character, with its offset', () => {
    expect(read(['{"a":[1, ?], "b":"never"}'])).toMatchObject({ problem: { code: 'json.unexpected', offset: 9 } })
    expect(stringAt(read(['{"a":[1, ?], "b":"never"}']).events, 'b')).toBe(undefined)
  })

  it('has an end event for every start event, whatever the text', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'true', '1', ' ', '{"a":', '```', '\ud83d', 'x')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const open: string[] = []
        for (const event of read(pieces).events) {
          if (event.type.endsWith('.start')) open.push(JSON.stringify(event.path))
          if (event.type.endsWith('.end')) expect(open.pop()).toBe(JSON.stringify(event.path))
        }
        expect(open).toEqual([])
        expect(read(pieces).events).toEqual(read([pieces.join('')]).events)
      }),
      { numRuns: 500 },
    )
  })

  it('is handled for a megabyte of hostile text', () => {
    const mega = (piece: string) => piece.repeat(Math.ceil(1_000_000 / piece.length))
    for (const text of [
      mega('['),
      mega('{"a":'),
      mega('{'),
      `{"a":"${mega('"')}`,
      `{"a":"${mega('","')}`,
      `{"a":"x"${mega(' ')}`,
      `{"a":"x", "${mega('k')}`,
    ]) {
      const pieces = text.match(/[\s\S]{1,100}/g) ?? []
      expect(read(pieces).problem).toBeDefined()
    }
    expect(read([mega('[')]).problem).toMatchObject({ code: 'json.too_deep', offset: 128 })
  })
})

function stringBefore(events: readonly JsonEvent[], end: number): string {
  const before = events[end - 1]
  return before?.type === 'string.delta' ? before.text : ''
}
