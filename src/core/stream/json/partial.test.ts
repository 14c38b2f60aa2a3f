import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LaneEvent } from '../../event.ts'
import { createOutputReader, createPartialJson } from './partial.ts'

const containers = fc.jsonValue().filter((value) => typeof value === 'object' && value !== null)

describe('partial JSON', () => {
  it('is the whole value at the end, wherever the text was cut', () => {
    fc.assert(
      fc.property(containers, fc.array(fc.nat(60)), (value, cuts) => {
        const text = JSON.stringify(value)
        const json = createPartialJson()
        const ends = [...cuts.sort((a, b) => a - b), text.length]
        ends.forEach((end, index) => void json.push(text.slice(ends[index - 1] ?? 0, end)))
        expect(JSON.stringify(json.value)).toBe(JSON.stringify(JSON.parse(text)))
      }),
    )
  })

  it('grows: what was read stays, and only the last string is not complete', () => {
    const json = createPartialJson()
    const seen = [...'{"a":"xy","b":[1,{"c":null}],"__proto__":2}'].map((character) => {
      json.push(character)
      return JSON.stringify(json.value)
    })
    expect([...new Set(seen)]).toEqual([
      undefined, // after the first bracket alone, the value may still be text
      ...['{}', '{"a":""}', '{"a":"x"}', '{"a":"xy"}', '{"a":"xy","b":[]}', '{"a":"xy","b":[1]}', '{"a":"xy","b":[1,{}]}'],
      ...['{"a":"xy","b":[1,{"c":null}]}', '{"a":"xy","b":[1,{"c":null}],"__proto__":2}'],
    ])
  })

  it('is undefined for a string, even if the string has braces', () => {
    for (const text of ['"{"', ' "[{}]"', '"a {\\"b\\": 1} c"']) {
      const json = createPartialJson()
      for (const character of text) json.push(character)
      expect(json.value, text).toBeUndefined()
    }
  })
})

it('the output of a repeated call or of the next round begins anew, and other events change nothing', () => {
  const read = createOutputReader()
  const delta = (text: string, index: number, more: Partial<LaneEvent> = {}, marker = 'answer'): LaneEvent => ({
    type: 'lane.delta',
    turn_id: 't1',
    iteration: 0,
    attempt: 0,
    ...more,
    delta: { marker, format: 'markdown', index, text, completed: false },
  })
  expect(read(delta('{"a":', 0))).toEqual({})
  expect(read(delta('thinking', 0, {}, 'thinking'))).toBeUndefined()
  expect(read(delta('1,', 1))).toEqual({ a: 1 })
  expect(read(delta('{"b":2', 0, { attempt: 1 }))).toEqual({})
  expect(read(delta('}', 1, { attempt: 1 }))).toEqual({ b: 2 })
  expect(read(delta('{"c":"x', 0, { iteration: 1 }))).toEqual({ c: 'x' })
  expect(read({ type: 'status', turn_id: 't1', iteration: 1, status: 'deciding' })).toBeUndefined()
})
