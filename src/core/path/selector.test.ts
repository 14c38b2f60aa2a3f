import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatSelector, maximumSids, parseSelector } from './selector.ts'

describe('selectors', () => {
  it.each<[string, readonly number[]]>([
    ['1,3-5', [1, 3, 4, 5]],
    ['3:5', [3, 4, 5]],
    ['5-3', [3, 4, 5]],
    [' 1 , 3 - 4 ', [1, 3, 4]],
    ['1, 3,x,7', [1, 3, 7]],
    ['2,1,2,1-3', [1, 2, 3]],
    ['0', []],
    ['0-2', [1, 2]],
    ['', []],
    [',,', []],
    ['-3', []],
    ['3-', []],
    ['1-2-3', []],
    ['1.5, 2', [2]],
    ['99999999999999999999', []],
  ])('timeline 11.4: %j selects %j', (text, sids) => {
    expect(parseSelector(text)).toEqual({ sids, truncated: false })
  })

  it('returns the lowest ids of a huge range and marks it as truncated', () => {
    const { sids, truncated } = parseSelector('5,1-1000000000')
    expect([sids.length, sids[0], sids.at(-1), truncated]).toEqual([maximumSids, 1, maximumSids, true])
  })

  it('returns exactly the allowed number without marking it as truncated', () => {
    expect(parseSelector(`1-${maximumSids}`).truncated).toBe(false)
    expect(parseSelector(`1-${maximumSids + 1}`).truncated).toBe(true)
  })

  it('reads no more tokens than allowed, whatever the length', () => {
    expect(parseSelector('1-9999,'.repeat(1_500_000))).toMatchObject({ truncated: true, sids: { length: 9999 } })
    expect(parseSelector(' '.repeat(10_000_000))).toEqual({ sids: [], truncated: false })
  })

  it('timeline 11.109, 11.110: formats ascending ranges', () => {
    expect(formatSelector([10, 11, 12, 13])).toBe('10-13')
    expect(formatSelector([3, 5, 6])).toBe('3, 5-6')
    expect(formatSelector([6, 3, 5, 3])).toBe('3, 5-6')
    expect(formatSelector([])).toBe('')
  })

  it('parses back what it formats', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 500 })), (sids) => {
        const ordered = [...new Set(sids)].sort((a, b) => a - b)
        expect(parseSelector(formatSelector(sids))).toEqual({ sids: ordered, truncated: false })
      }),
    )
  })
})
