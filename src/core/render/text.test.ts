import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutAt } from '../cut.ts'
import { caps } from './caps.ts'
import { clip, cutText, oneLine, preview, scrubBase64, shortenJson } from './text.ts'

it('oneLine joins any text to words with one space between them', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '\t', '\u00a0', 'é', '\u0000', '~') })
  fc.assert(fc.property(text, (given) => oneLine(given, 1_000) === given.replace(/\s+/g, ' ').trim()))
})

it('a preview of a text of n lines that ends in a newline has n lines', () => {
  const shown = (text: string, limit: number) => preview({ what: 'CODE', text, limit, path: undefined }, caps)
  expect(shown('line\n'.repeat(100), 50)).toContain('preview_lines: [1-10]/100\n')
  expect(shown(`${'line\n'.repeat(99)}line`, 52)).toContain('preview_lines: [1-11]/100\n')
})

describe('cutting text', () => {
  it('never splits a surrogate pair, however much white space is removed', () => {
    expect(oneLine(`a${' '.repeat(18)}${'🙂'.repeat(30)}`, 10)).toBe('a…')
    const text = fc.array(fc.constantFrom('a', '🙂', ' ', '\n', '   '), { maxLength: 60 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (given, limit) => {
        for (const shown of [oneLine(given, limit), clip(given, limit), cutAt(given, limit)]) expect(shown.isWellFormed()).toBe(true)
        expect(oneLine(given, limit).length).toBeLessThanOrEqual(limit)
      }),
    )
  })
})

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

const marker = /\[base64 removed: (\d+) characters, about (\d+) bytes; [^\]]*\]/g
const line = (length: number) => 'QUJD'.repeat(length / 4)

describe('base64 in a text', () => {
  it('is replaced from 2,048 characters on', () => {
    expect(scrubBase64(line(2_044))).toBe(line(2_044))
    expect(scrubBase64(line(2_048)).replace(marker, '$1/$2')).toBe('2048/1536')
  })

  it('is found in lines of 60 characters and more, with any line break, also inside JSON', () => {
    for (const end of ['\n', '\r\n', '\\n', '\\r\\n']) {
      const text = `start ${Array(40).fill(line(76)).join(end)} end`
      expect(scrubBase64(text).replace(marker, '$1')).toBe('start 3040 end')
    }
  })

  it('is kept in short lines, and in lines that are not consecutive', () => {
    const short = Array(100).fill(line(56)).join('\n')
    const apart = Array(40).fill(line(76)).join('\n\n')
    expect([scrubBase64(short), scrubBase64(apart)]).toEqual([short, apart])
  })

  it('is removed with its padding, each run on its own', () => {
    expect(scrubBase64(`${line(2_048)}== and ${line(4_000)}`).replace(marker, '$1')).toBe('2050 and 4000')
  })

  it('is removed completely: a second pass changes nothing', () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.integer({ min: 1, max: 900 }).map((n) => line(n * 4)),
      fc.constantFrom('\n', '\r\n', '\\n', '=', '=='),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const once = scrubBase64(pieces.join(''))
        expect(scrubBase64(once)).toBe(once)
        expect(/[A-Za-z0-9+/]{2048}/.test(once)).toBe(false)
      }),
    )
  })

  it('takes linear time: ten million characters of near misses are fast', () => {
    const text = `${line(2_040)} `.repeat(5_000)
    expect(scrubBase64(text)).toBe(text)
  })
})
