import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readActionKeys } from './action-keys.ts'
import { parseAction } from './decision.ts'
import { keysOfValue, scanActionKeys } from './fast-read.ts'

/** The JSON text of an object with these entries, in this order. A key may occur several times. */
const objectText = (entries: readonly (readonly [string, string])[]) =>
  `{${entries.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(',\n')}}`

const key = fc.constantFrom('path', 'content', '10', '2', 'tool_call', 'params', 'a"b\\', '__proto__', 'é😀', '\n')
const json = fc.json({ maxDepth: 3, stringUnit: 'grapheme' })
const object = (value: fc.Arbitrary<string>) => fc.array(fc.tuple(key, value), { maxLength: 6 }).map(objectText)
const call = object(fc.oneof(json, object(json)))
const callList = fc.array(fc.oneof(json, call), { maxLength: 4 }).map((calls) => `[${calls.join(' , ')}]`)
const fields = fc.array(fc.oneof(fc.tuple(key, fc.oneof(json, call)), fc.tuple(fc.constant('tool_calls'), callList)), { maxLength: 6 })
const action = fields.map(objectText)

describe('keys of an action', () => {
  it('are the same from the fast scan and from the reader', () => {
    fc.assert(
      fc.property(action, fc.constantFrom('', '```json\n'), (text, fence) => {
        const fenced = fence + text + (fence && '\n```')
        expect(scanActionKeys(fenced)).toEqual(readActionKeys(fenced))
      }),
      { numRuns: 1000 },
    )
  })

  it('are the same from the parsed value and from the reader, where the value is enough', () => {
    let enough = 0
    fc.assert(
      fc.property(action, fc.constantFrom('', '```json\n'), (text, fence) => {
        const fenced = fence + text + (fence && '\n```')
        const keys = keysOfValue(JSON.parse(text), fenced)
        if (keys === undefined) return
        enough++
        expect(keys).toEqual(readActionKeys(fenced))
      }),
      { numRuns: 1000 },
    )
    expect(enough).toBeGreaterThan(100)
  })

  it.each([
    ['{"action":"call_tool","tool_call":{"tool_id":"web.read","params":{"url":"https://example.org","at":"12:30"}}}', true],
    ['{"action" : "call_tool", "tool_call" :\n{"params" : {"list":[{"a":1},{"a":2}]}}}', true],
    ['{"action":"call_tool","notes":"so: \\"a\\": b","tool_call":null}', false],
    ['{"action":"call_tool","action" :"exit"}', false],
    ['{"action":"call_tool","tool_call":{"params":{"b":1,"10":2}}}', false],
    ['{"action":"call_tool","other":{"deep":[{"twice":1,"twice":2}]}}', false],
  ])('of %s can be taken from the parsed value: %s', (text, enough) => {
    expect(keysOfValue(JSON.parse(text), text)).toEqual(enough ? readActionKeys(text) : undefined)
  })

  it('of a list of calls are listed for each call', () => {
    const text =
      '{"tool_calls":[{"tool_id":"a.b","params":{"10":1,"2":[[{"x":1}]]}},{"tool_id":"c.d"},{"tool_id":"e.f","tool_id":"g.h","params":{"b":1,"a":{"deep":1},"b":2}}]}'
    expect(parseAction(text)).toMatchObject({
      keys: {
        params: [],
        listed: [['10', '2'], [], ['b', 'a', 'b']],
        repeated: ['tool_calls[2].tool_id', 'tool_calls[2].params.b'],
      },
    })
  })

  it('are those of the action, its call and its parameters, not of deeper objects', () => {
    const text =
      '{"tool_call":{"x":1},"tool_call":{"params":{"b":{"deep":1},"a":["{\\"k\\":1}",{"in":2}],"b":2}},"other":{"params":{"no":1}}}'
    expect(parseAction(text)).toMatchObject({
      keys: { params: ['b', 'a', 'b'], repeated: ['tool_call', 'params.b'] },
    })
  })

  it('keep the order of writing, also of keys that look like numbers', () => {
    expect(parseAction('{"action":"x","tool_call":{"params":{"path":"x","10":1,"2":{"deep":1},"path":"y"}}}')).toMatchObject({
      keys: { params: ['path', '10', '2', 'path'], repeated: ['params.path'] },
    })
  })

  it('are read from JSON that needed repairs, too', () => {
    expect(parseAction('Here: {"action":"x","tool_call":{"params":{"b":"say "hi"","a":1,},},}')).toMatchObject({
      repairs: expect.arrayContaining(['inner_quote', 'trailing_comma']),
      keys: { params: ['b', 'a'] },
    })
  })

  it('are scanned in any text without an error', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'tool_call', 'params', '1', ' ')
    fc.assert(fc.property(fc.array(piece), (pieces) => void scanActionKeys(pieces.join(''))))
  })
})
