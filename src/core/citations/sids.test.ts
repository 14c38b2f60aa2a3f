import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extractSids, hasReadableText, rewriteSids } from './sids.ts'

describe('the ids that a text cites', () => {
  it('are found in tokens and in superscripts, once each, ascending', () => {
    expect(extractSids('b [[S:7,2]] <sup class="cite" data-sids="3,2">x</sup> [[S:4-5]]')).toEqual([2, 3, 4, 5, 7])
  })

  it('are not read from code or usage tags', () => {
    expect(extractSids('`[[S:1]]`\n```\n[[S:2]]\n```\n[[USAGE:3]]')).toEqual([])
  })

  it('are found in fenced HTML, because models put fences around HTML', () => {
    expect(extractSids('```html\n<p>[[S:2]]</p>\n```', 'html')).toEqual([2])
  })
})

describe('new numbers for cited sources', () => {
  const renumbered = new Map([
    [1, 11],
    [2, 12],
    [3, 11],
    [5, 5],
  ])

  it('replace the old ones, and two ids that became one are listed once', () => {
    expect(rewriteSids('a [[S:1,2]] b [[ s : 1,3 ]] c [[USAGE:2]]', renumbered)).toBe('a [[S:11,12]] b [[S:11]] c [[USAGE:12]]')
  })

  it('remove a citation whose ids are gone', () => {
    expect(rewriteSids('a [[S:8]]b[[S:8,1]]', renumbered)).toBe('a b[[S:11]]')
  })

  it('do not change citations that keep their number, or code', () => {
    expect(rewriteSids('a [[ S : 5 ]] `[[S:1]]`', renumbered)).toBe('a [[ S : 5 ]] `[[S:1]]`')
  })

  it('are written into code when the format is any', () => {
    expect(rewriteSids('`[[S:1]]` `[[S:8]]`\n```\n[[S:1,8]]\n```', renumbered, 'any')).toBe('`[[S:11]]` ``\n```\n[[S:11]]\n```')
  })

  it('are written into superscripts, too', () => {
    expect(rewriteSids("<sup class='cite' data-sids='1'>[[S:1]]</sup>", renumbered, 'html')).toBe(
      '<sup class="cite" data-sids="11">[[S:11]]</sup>',
    )
  })
})

describe('hasReadableText', () => {
  const readable = (text: string) => hasReadableText(text, (sid) => sid === 1)

  it('ignores usage tags and citations of unknown sources', () => {
    expect(
      ['', ' \n', '[[S:9]]', ' [[S:8-9]]\n［［S：7］］', '[[USAGE:1]]', '<sup class="cite" data-sids="9">[[S:9]]</sup>'].filter(readable),
    ).toEqual([])
    for (const text of [
      'a',
      ' [[S:1]]',
      '[[S:9,1]]',
      '[[S:9]].',
      '`[[S:9]]`',
      '[[S:9',
      '[a](b)',
      '<sup class="cite" data-sids="1">x</sup>',
    ])
      expect(readable(text)).toBe(true)
  })
})

describe('after a text was read by `extractSids`', () => {
  const pieces = [
    '[[S:1]]',
    '[[S:1,1]]',
    '[[ s : 2-3 ]]',
    '[[USAGE:1]]',
    '`[[S:1]]`',
    '```\n',
    '<sup class="cite" data-sids="1,1">x</sup>',
    '[[S:99]]',
    'a',
    '!',
  ]
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => parts.join(''))
  const numbers = fc.array(fc.constantFrom<[number, number]>([1, 1], [2, 2], [3, 3], [99, 99], [1, 5]), { maxLength: 5 })

  it('`rewriteSids` returns the same text as before', () => {
    let unchanged = 0
    fc.assert(
      fc.property(text, numbers, (given, entries) => {
        const renumbered = new Map(entries)
        extractSids('another text with [[S:7]]')
        const expected = rewriteSids(given, renumbered)
        extractSids(given)
        expect(rewriteSids(given, renumbered)).toBe(expected)
        if (expected === given && given.includes('[[S:1]]')) unchanged++
      }),
      { numRuns: 1_000 },
    )
    expect(unchanged).toBeGreaterThan(20)
  })
})
