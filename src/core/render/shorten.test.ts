import { describe, expect, it } from 'vitest'
import { cutText, shortenJson } from './shorten.ts'

describe('shortened JSON', () => {
  it('cuts lists and objects and says how much is missing', () => {
    expect(shortenJson({ a: [1, 2, 3], b: { x: 1, y: 2, z: 3 } }, { text: 9, items: 2, keys: 2 })).toEqual({
      value: { a: [1, 2, '... (1 more)'], b: { x: 1, y: 2, '...': '1 more keys' } },
      truncated: true,
    })
    expect(shortenJson([1, 'ok'], { text: 9, items: 2, keys: 2 })).toEqual({ value: [1, 'ok'], truncated: false })
  })

  it('accepts deeply nested JSON, and never splits a surrogate pair', () => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`)
    expect(JSON.stringify(shortenJson(deep, { text: 9, items: 2, keys: 2 }).value)).toContain('[truncated]')
    expect(cutText('ab😀c', 3)).toBe('ab...[truncated]')
  })
})
