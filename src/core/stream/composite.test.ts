import { describe, expect, it } from 'vitest'
import type { BufferingReplacer, CitationFormat } from '../citations/replace.ts'
import { type CompositeField, createCompositeReader } from './composite.ts'
import type { LaneDelta } from './lane.ts'

/** A replacer that knows one citation. It keeps text that may be the beginning of this citation. */
function oneToken(format: CitationFormat): BufferingReplacer {
  const token = '[[S:1]]'
  let held = ''
  return {
    push(text) {
      held = format === 'verbatim' ? held + text : (held + text).replaceAll(token, '[Alpha](https://a.example/1)')
      let keep = Math.min(token.length - 1, held.length)
      while (!token.startsWith(held.slice(held.length - keep))) keep--
      const out = held.slice(0, held.length - keep)
      held = held.slice(held.length - keep)
      return out
    },
    flush() {
      const rest = held
      held = ''
      return rest
    },
    cut: () => ({ rest: '', dropped: held.length }),
    held: 0,
    used: [],
    unresolved: [],
    usage: [],
  }
}

const fields: Readonly<Record<string, CompositeField>> = {
  a: 'markdown',
  b: { format: 'text', schema: {} },
  d: 'my.schemas.Thing',
  e: 'html',
}

function showFields(...pieces: readonly string[]): readonly LaneDelta[] {
  const reader = createCompositeReader({ channel: 'answer', marker: 'canvas', fields, replacer: oneToken })
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
}

/** The text of each attribute, and how its lane ended. */
function lanesOf(deltas: readonly LaneDelta[]) {
  const lanes: { name: string | undefined; format: string; text: string; end?: string }[] = []
  for (const { artifact_name: name, format, text, index, completed, aborted } of deltas) {
    if (index === 0) lanes.push({ name, format, text: '' })
    const lane = lanes.at(-1)
    if (lane === undefined) continue
    lane.text += text
    if (completed) lane.end = aborted ? 'aborted' : 'whole'
  }
  return lanes
}

function* cuts(text: string): Generator<readonly string[]> {
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)]
  yield text.split('')
  let seed = 1
  for (let run = 0; run < 500; run++) {
    const pieces: string[] = []
    for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1) {
      seed = (seed * 1103515245 + 12345) % 2147483648
      pieces.push(text.slice(at, at + 1 + ((seed >> 8) % 11)))
    }
    yield pieces
  }
}

describe('a JSON channel shown by attributes', () => {
  it('loop 17.46: streams only the configured attributes, with citations replaced', () => {
    const deltas = showFields('{"a":"Hello [[S:1]]","b":"Wor', 'ld","c":"no"}')
    const a = { marker: 'canvas', artifact_name: 'a', format: 'markdown' }
    const b = { marker: 'canvas', artifact_name: 'b', format: 'text' }
    expect(deltas).toEqual([
      { ...a, index: 0, text: 'Hello [Alpha](https://a.example/1)', completed: false },
      { ...a, index: 1, text: '', completed: true },
      { ...b, index: 0, text: 'Wor', completed: false },
      { ...b, index: 1, text: 'ld', completed: false },
      { ...b, index: 2, text: '', completed: true },
    ])
  })

  it('loop 17.47: joins a surrogate pair of two escapes across chunks', () => {
    const text = '{"a":"x\\ud83d\\ude00"}'
    for (const pieces of cuts(text)) {
      const deltas = showFields(...pieces)
      expect(deltas.every((delta) => delta.text.isWellFormed())).toBe(true)
      expect(lanesOf(deltas)).toEqual([{ name: 'a', format: 'markdown', text: 'x😀', end: 'whole' }])
    }
  })

  it('shows any other value than a string as one delta of compact JSON', () => {
    expect(lanesOf(showFields('{"a": ["x", {"y": 1.5}], "b": 12, "d": null, "e": {}, "c": [1]}'))).toEqual([
      { name: 'a', format: 'json', text: '["x",{"y":1.5}]', end: 'whole' },
      { name: 'b', format: 'json', text: '12', end: 'whole' },
      { name: 'd', format: 'json', text: 'null', end: 'whole' },
      { name: 'e', format: 'json', text: '{}', end: 'whole' },
    ])
  })

  it('shows attributes of the top level only, and a schema without a format as markdown', () => {
    expect(lanesOf(showFields('{"x":{"a":"deep"},"d":"","e":"<p>"}'))).toEqual([
      { name: 'd', format: 'markdown', text: '', end: 'whole' },
      { name: 'e', format: 'html', text: '<p>', end: 'whole' },
    ])
  })

  it('starts again with index 0 when a key is repeated', () => {
    expect(showFields('{"a":"one","a":"two"}').map(({ index, text }) => [index, text])).toEqual([
      [0, 'one'],
      [1, ''],
      [0, 'two'],
      [1, ''],
    ])
  })

  it('ends an open attribute as aborted when the JSON stops or becomes invalid', () => {
    expect(lanesOf(showFields('{"a":"half [[S:'))).toEqual([{ name: 'a', format: 'markdown', text: 'half [[S:', end: 'aborted' }])
    expect(lanesOf(showFields('{"a":["x", ?'))).toEqual([{ name: 'a', format: 'json', text: '', end: 'aborted' }])
  })

  it('can be used again after its end, for the next instance of the channel', () => {
    const reader = createCompositeReader({ channel: 'answer', marker: 'canvas', fields, replacer: oneToken })
    const first = [...reader.push('{"a":"x"'), ...reader.end()]
    expect([...reader.push('{"a":"x"'), ...reader.end()]).toEqual(first)
  })

  it('shows the same wherever the text was cut', () => {
    const text = '```json\n{"a":"Hello [[S:1]] and "hi", [[S:","b":["x"],"c":"no","d":"é😀\\n","e":tru'
    const whole = lanesOf(showFields(text))
    for (const pieces of cuts(text)) expect(lanesOf(showFields(...pieces))).toEqual(whole)
    expect(whole.map(({ text: shown }) => shown)).toEqual(['Hello [Alpha](https://a.example/1) and "hi", [[S:', '["x"]', 'é😀\n'])
  })
})
