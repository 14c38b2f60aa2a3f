import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keysOfValue, parseAction, readActionKeys, scanActionKeys } from './action-keys.ts'

/** JSON text of an object with the given entries in the given order, repetitions and all. */
const objectText = (entries: readonly (readonly [string, string])[]) =>
  `{${entries.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(',\n')}}`

const key = fc.constantFrom('path', 'content', '10', '2', 'tool_call', 'params', 'a"b\\', '__proto__', 'é😀', '\n')
const text = fc.json({ maxDepth: 3, stringUnit: 'grapheme' })
const object = (value: fc.Arbitrary<string>) => fc.array(fc.tuple(key, value), { maxLength: 6 }).map(objectText)
const action = object(fc.oneof(text, object(fc.oneof(text, object(text)))))

describe('keys in the order of writing', () => {
  it('are the same whichever way they are read', () => {
    fc.assert(
      fc.property(action, fc.constantFrom('', '```json\n'), (json, fence) => {
        const whole = fence + json + (fence && '\n```')
        expect(scanActionKeys(whole)).toEqual(readActionKeys(whole))
      }),
      { numRuns: 1000 },
    )
  })

  it('are as the value remembers them, unless it may not', () => {
    fc.assert(
      fc.property(action, fc.constantFrom('', '```json\n'), (json, fence) => {
        const whole = fence + json + (fence && '\n```')
        const remembered = keysOfValue(JSON.parse(json), whole)
        if (remembered) expect(remembered).toEqual(readActionKeys(whole))
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['{"action":"call_tool","tool_call":{"tool_id":"web.read","params":{"url":"https://example.org","at":"12:30"}}}', true],
    ['{"action" : "call_tool", "tool_call" :\n{"params" : {"list":[{"a":1},{"a":2}]}}}', true],
    ['{"action":"call_tool","notes":"so: \\"a\\": b","tool_call":null}', false],
    ['{"action":"call_tool","action" :"exit"}', false],
    ['{"action":"call_tool","tool_call":{"params":{"b":1,"10":2}}}', false],
    ['{"action":"call_tool","other":{"deep":[{"twice":1,"twice":2}]}}', false],
  ])('of %s: remembered? %s', (json, remembers) => {
    expect(keysOfValue(JSON.parse(json), json)).toEqual(remembers ? readActionKeys(json) : undefined)
  })

  it('are those of the action, its call and its parameters alone', () => {
    const json =
      '{"tool_call":{"x":1},"tool_call":{"params":{"b":{"deep":1},"a":["{\\"k\\":1}",{"in":2}],"b":2}},"other":{"params":{"no":1}}}'
    expect(parseAction(json)).toMatchObject({
      keys: { params: ['b', 'a', 'b'], repeated: ['tool_call', 'params.b'] },
    })
  })

  it('are read from JSON that was forgiven, too', () => {
    expect(parseAction('Here: {"action":"x","tool_call":{"params":{"b":"say "hi"","a":1,},},}')).toMatchObject({
      repairs: expect.arrayContaining(['inner_quote', 'trailing_comma']),
      keys: { params: ['b', 'a'] },
    })
  })

  it('of anything at all are read without a fault', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'tool_call', 'params', '1', ' ')
    fc.assert(fc.property(fc.array(piece), (pieces) => void scanActionKeys(pieces.join(''))))
  })
})
