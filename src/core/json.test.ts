import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maximumJsonDepth, parseJson } from './json.ts'

const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`

describe('reading JSON', () => {
  it('gives undefined for text that is not JSON', () => {
    expect([undefined, '', 'words', '{"a":', '[1,]'].map(parseJson)).toEqual([undefined, undefined, undefined, undefined, undefined])
  })

  it('rejects nesting that recursive code could not walk', () => {
    expect(parseJson(nested(maximumJsonDepth))).toBeDefined()
    expect(parseJson(nested(maximumJsonDepth + 1))).toBeUndefined()
    expect(parseJson('{"a":'.repeat(100_000) + 1 + '}'.repeat(100_000))).toBeUndefined()
  })

  it('counts neither brackets inside strings nor closed ones', () => {
    const brackets = '[{'.repeat(maximumJsonDepth)
    for (const value of [brackets, `"${brackets}`, `\\${brackets}\\`, `\\"${brackets}`, Array.from({ length: 1_000 }, () => [{}])]) {
      expect(parseJson(JSON.stringify([{ value }]))).toEqual([{ value }])
    }
  })

  it('reads every JSON text as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })
})
