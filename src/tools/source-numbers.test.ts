import { describe, expect, it } from 'vitest'
import { emptyPool, mergeSources } from '../core/sources/pool.ts'
import { succeeded } from './outcome.ts'
import { poolNumbersOf, withParsedSources, withPoolNumbers } from './source-numbers.ts'
import type { Outcome } from './tool.ts'

const poolOf = (...names: readonly string[]) =>
  mergeSources(
    emptyPool,
    names.map((name) => ({ url: `https://${name}.example` })),
  ).pool

function numbered(outcome: Outcome, pool = poolOf('x', 'b')): Outcome {
  const parsed = withParsedSources(outcome)
  const numbers = poolNumbersOf(parsed, pool)
  return numbers ? withPoolNumbers(parsed, numbers) : parsed
}

const sources = [
  { sid: 1, url: 'https://a.example', text: 'see [[S:2]]' },
  { sid: 2, url: 'https://b.example/#top' },
]

describe('the numbers of a tool become those of the pool', () => {
  it('in rows, text, JSON, keys, lists of numbers, notices, errors, notes and blocks', () => {
    const draft = { type: 'system.message', author: 'system', turn_id: 't1', ts: '2026-01-01T00:00:00.000Z', text: '[[S:1]]' } as const
    const output = { '[[S:1]]': { sid: 1 }, citations: [{ sids: [2, 1, 7] }], deep: [{ sid: '2', note: '`[[S:1,9]]`' }], sid: 'word' }
    const outcome = numbered(
      succeeded({
        output,
        sources,
        notices: [{ code: 'c', message: 'by [[S:2]]' }],
        artifacts: [{ digest: { artifact_path: 'fi:t1.files/n.md', sources_used: [1, 5] }, mime: 'text/markdown', note: '[[S:1]]' }],
        after: [{ ...draft, meta: { sources_used: [1] } }],
      }),
    )
    expect(outcome).toEqual(
      succeeded({
        output: { '[[S:3]]': { sid: 3 }, citations: [{ sids: [2, 3] }], deep: [{ sid: 2, note: '`[[S:3]]`' }], sid: 'word' },
        sources: [
          { sid: 3, url: 'https://a.example', text: 'see [[S:2]]' },
          { sid: 2, url: 'https://b.example/#top' },
        ],
        notices: [{ code: 'c', message: 'by [[S:2]]' }],
        artifacts: [{ digest: { artifact_path: 'fi:t1.files/n.md', sources_used: [3] }, mime: 'text/markdown', note: '[[S:3]]' }],
        after: [{ ...draft, text: '[[S:3]]', meta: { sources_used: [3] } }],
      }),
    )
  })

  it('also when the pool has grown since the outcome was numbered', () => {
    const outcome = succeeded({ output: 'a [[S:1]], b [[S:2]]', sources })
    const grown = poolOf('x', 'b', 'y', 'z')
    expect(numbered(numbered(outcome), grown)).toEqual(numbered(outcome, grown))
    expect(numbered(outcome, grown).output).toBe('a [[S:5]], b [[S:2]]')
  })

  it('by the address of an object, if it has one, and else by its number', () => {
    const rows = [
      { sid: 1, url: 'https://a.example' },
      { sid: 1, url: 'https://b.example' },
      { sid: 2, url: 'https://c.example' },
    ]
    const output = [...rows, { sid: 1, name: 'which?' }, { sid: 2, name: 'c' }, { sid: 2, url: 'https://other.example' }]
    expect(numbered(succeeded({ output: { output, text: '[[S:1]][[S:2]]' }, sources: rows })).output).toEqual({
      output: [
        { sid: 3, url: 'https://a.example' },
        { sid: 2, url: 'https://b.example' },
        { sid: 4, url: 'https://c.example' },
        { name: 'which?' },
        { sid: 4, name: 'c' },
        { url: 'https://other.example' },
      ],
      text: '[[S:4]]',
    })
  })

  it('keeps both values of two keys that cite one source', () => {
    const twice = [1, 2].map((sid) => ({ sid, url: 'https://a.example' }))
    expect(numbered(succeeded({ output: { '[[S:1]]': 'x', '[[S:2]]': 'y' }, sources: twice })).output).toEqual({
      '[[S:3]]': 'x',
      '[[S:3]] (2)': 'y',
    })
  })
})

it.each([
  ['a text', 'by [[S:1]]'],
  ['objects with numbers but without addresses', [{ sid: 1, name: 'Bob' }]],
  ['an address that is not on the web', [{ sid: 1, url: 'row/1' }]],
])('without sources, %s stays as it is', (_, output) => {
  const outcome = succeeded({ output })
  expect(numbered(outcome)).toBe(outcome)
})

const row = { sid: 1, url: 'https://a.example' }

it.each([
  ['a row alone', row, { ...row, sid: 3 }],
  ['rows beside something else', [row, 7], [{ ...row, sid: 3 }, 7]],
  ['rows inside an object', { query: 'x', data: { web: [row] } }, { query: 'x', data: { web: [{ ...row, sid: 3 }] } }],
  ['JSON as text', JSON.stringify({ results: [row] }), JSON.stringify({ results: [{ ...row, sid: 3 }] })],
])('without sources, %s is read as rows', (_, output, expected) => {
  const outcome = numbered(succeeded({ output }))
  expect([outcome.output, outcome.sources]).toEqual([expected, [{ ...row, sid: 3 }]])
})

it('rows that a text holds as JSON get the numbers of the pool, and nothing else in the text changes', () => {
  const text = 'Found:\n{ "sid": 1, "id": 12345678901234567890 }, {"sid":"2"}, {"sid":9}, {"sources_used": [1, 9]}, {"sidecar": 1}'
  expect(numbered(succeeded({ output: text, sources })).output).toBe(
    'Found:\n{ "sid": 3, "id": 12345678901234567890 }, {"sid":2}, {"sid":null}, {"sources_used": [3]}, {"sidecar": 1}',
  )
})

it('an object with addresses as keys is read as rows', () => {
  const { output, sources: rows } = numbered(succeeded({ output: { 'https://a.example': { sid: 1, title: 'A', status: 'success' } } }))
  expect(output).toEqual({ 'https://a.example': { sid: 3, title: 'A', status: 'success' } })
  expect(rows).toEqual([{ sid: 3, url: 'https://a.example', title: 'A', status: 'success' }])
})
