import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lineSections, markdownSections, pageSections, slugOf } from './sections.ts'

describe('the sections of a Markdown text', () => {
  it('begin at headings outside of code, and know the headings above and the sections below', () => {
    const text = [
      'Before.',
      '# One #',
      '```sh',
      '# no heading',
      '```',
      '## Two: *a*',
      'text',
      '### Three',
      'Second title',
      '============',
      '#hash is no heading',
      '## Two: *a*',
      '',
    ].join('\n')
    expect(markdownSections(text)).toEqual([
      { anchor: '', headings: [], text: 'Before.\n', below: 0 },
      { anchor: 'one', headings: ['One'], text: '# One #\n```sh\n# no heading\n```\n', below: 2 },
      { anchor: 'two-a', headings: ['One', 'Two: *a*'], text: '## Two: *a*\ntext\n', below: 1 },
      { anchor: 'three', headings: ['One', 'Two: *a*', 'Three'], text: '### Three\n', below: 0 },
      { anchor: 'second-title', headings: ['Second title'], text: 'Second title\n============\n#hash is no heading\n', below: 1 },
      { anchor: 'two-a-1', headings: ['Second title', 'Two: *a*'], text: '## Two: *a*\n', below: 0 },
    ])
  })

  it('are the whole text together, with names that are different and safe in paths', () => {
    const line = fc.oneof(
      fc.constantFrom('# A', '## A', '### B c', '```', '~~~', '---', '===', '', 'text', '    # code', '#', '# #', '> # quoted', '| a |'),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    )
    const texts = fc.array(line, { maxLength: 30 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(texts, (text) => {
        for (const sections of [markdownSections(text), lineSections(text)]) {
          expect(sections.map((section) => section.text).join('')).toBe(text)
          expect(new Set(sections.map(({ anchor }) => anchor)).size).toBe(sections.length)
          for (const [index, { below }] of sections.entries()) expect(index + below).toBeLessThan(sections.length)
        }
      }),
    )
  })
})

it('a long text without headings has a section for every 80 lines', () => {
  const text = Array.from({ length: 170 }, (_, n) => `line ${n + 1}\n`).join('')
  expect(lineSections(text).map(({ anchor }) => anchor)).toEqual(['L1-80', 'L81-160', 'L161-170'])
  expect(pageSections(['one', 'two']).map(({ anchor }) => anchor)).toEqual(['page-1', 'page-2'])
})

it('names of headings keep letters of all scripts, and nothing that ends a path', () => {
  expect(slugOf('Über die Größe: 10 % [x](y) #1')).toBe('über-die-größe-10--xy-1')
  expect(slugOf('日本語 の 見出し')).toBe('日本語-の-見出し')
  expect(slugOf('../../etc/passwd\0')).toBe('etcpasswd')
})
