import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blockOrigin, withIds } from '../../../testing/blocks.ts'
import { type Block, toolCall } from '../../block/index.ts'
import type { JsonObject } from '../../json.ts'
import { type Caps, caps } from '../caps.ts'
import type { Part } from '../types.ts'
import { type PlainCall, parsePlainCall } from './fast-tool-call.ts'
import { renderToolCall } from './tool-call.ts'

const written = (params: JsonObject, toolId = 'web.weather'): string => toolCall(blockOrigin('c1'), { toolId, params }).text ?? ''

/** The same, by way of an object. */
function readInFull(text: string): PlainCall {
  const { tool_id, tool_call_id, params, ...rest } = JSON.parse(text)
  expect(Object.keys(rest)).toEqual(['ts'])
  return { tool_id, tool_call_id, params: JSON.stringify(params, null, 2) }
}

const textsIn = (parts: readonly Part[]) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')

const word = fc.oneof(fc.constantFrom('city', 'a', 'a"', '0', '12', '__proto__', 'constructor', ''), fc.string())
const value = fc.oneof(word, fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }), fc.jsonValue())
const params = fc.dictionary(word, value, { maxKeys: 4 }) as fc.Arbitrary<JsonObject>

describe('a plain call', () => {
  it('is read as one, whatever words and numbers it holds', () => {
    const plainWord = fc.stringMatching(/^[a-z_][ !#-[\]-~]{0,9}$/)
    const plainValue = fc.oneof(plainWord, fc.integer())
    const plain = fc.dictionary(plainWord, plainValue, { maxKeys: 4, noNullPrototype: true })
    fc.assert(
      fc.property(plain, (given) => {
        expect(parsePlainCall(written(given))).toEqual(readInFull(written(given)))
      }),
    )
  })

  it('reads as it reads in full, or not at all', () => {
    fc.assert(
      fc.property(params, word, (given, toolId) => {
        const text = written(given, toolId)
        const call = parsePlainCall(text)
        if (call) expect(call).toEqual(readInFull(text))
      }),
    )
  })

  it('reads as it reads in full, or not at all, also when its text was tampered with', () => {
    const plain = written({ city: 'Oslo', days: 3, a: 10 })
    const scraps = fc.constantFrom(
      '',
      '"',
      '\\',
      ',',
      ':',
      '{',
      '}',
      '[',
      '0',
      '-',
      '1.0',
      ' ',
      '\n',
      'é',
      'null',
      '"a":2,',
      '"days":',
      '"ts":""',
    )
    const edit = fc.record({ at: fc.nat(plain.length), cut: fc.nat(12), put: scraps })
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), (edits) => {
        const text = edits.reduce((held, { at, cut, put }) => held.slice(0, at) + put + held.slice(at + cut), plain)
        const call = parsePlainCall(text)
        if (call) expect(call).toEqual(readInFull(text))
      }),
      { numRuns: 5_000 },
    )
  })

  it.each([
    ['a key twice', '{"a":1,"a":2}'],
    ['a key that is moved to the front', '{"b":1,"1":2}'],
    ['a number that is printed otherwise', '{"a":-0}'],
    ['more digits than are kept', '{"a":12345678901234567}'],
    ['an escape', '{"a":"\\u0061"}'],
    ['blanks', '{ "a":1}'],
    ['a list', '{"a":[1]}'],
  ])('is not what holds %s', (_, given) => {
    expect(parsePlainCall(written({}).replace('{}', given))).toBeUndefined()
  })

  it('is cut like any other where a cap is lower than it is long', () => {
    const [block] = withIds([toolCall(blockOrigin('c1'), { toolId: 'web.weather', params: { city: 'Oslo', days: 3 } })])
    const shownWith = (lower: Partial<Caps>) => {
      const context = {
        caps: { ...caps, ...lower },
        callId: 'c1',
        toolId: undefined,
        continues: false,
        repeats: false,
        attached: undefined,
      }
      return textsIn(renderToolCall(block as Block, context))
    }
    expect(shownWith({})).toContain('"city": "Oslo",\n  "days": 3\n}')
    expect(shownWith({ paramKeys: 1 })).toContain('"...": "1 more keys"')
    expect(shownWith({ paramText: 3, paramPreview: 2 })).toContain('"preview": "Os"')
  })

  it('may have no parameters', () => {
    expect(parsePlainCall(written({}))).toEqual({ tool_id: 'web.weather', tool_call_id: 'c1', params: '{}' })
  })
})
