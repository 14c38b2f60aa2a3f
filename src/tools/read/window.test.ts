import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { roughTokens } from '../../core/estimate/tokens.ts'
import type { Numbering } from './request.ts'
import { requestsOf } from './request.ts'
import { type ReadLimits, readLimits, showText } from './window.ts'

const path = 'fi:t1.files/a.txt'

interface Item {
  readonly line_start?: number
  readonly line_count?: number
  readonly offset_text_symbols?: number
  readonly max_text_symbols?: number
  readonly line_numbers?: Exclude<Numbering, 'default'>
}

/** Shows a part of a text, in the same way as a call of `react.read` with this item. */
function show(text: string, item: Item, limits: Partial<ReadLimits> = {}, tokens = roughTokens) {
  const [request] = requestsOf({ paths: [], items: [{ path, ...item }] }, 'c1')
  if (!request) throw new Error('no request')
  return showText(text, { ...request, path }, { ...readLimits, ...limits }, tokens)
}

const continueItem = (shown: string) => {
  const params = /\ncontinue: react\.read\((\{.*\})\)$/.exec(shown)?.[1]
  return params === undefined ? undefined : (JSON.parse(params) as { items: [Item] }).items[0]
}

/** The shown part of a text, without header, footer and line numbers. */
function bodyOf(shown: string): string {
  const symbols = /^symbols: \[\d+-\d+\]/m.test(shown.split('\n')[2] ?? '')
  const lines = shown.split('\n').slice(symbols ? 3 : 4)
  return (continueItem(shown) ? lines.slice(0, -2) : lines).join('\n')
}

describe('a window of a text', () => {
  it.each<[Numbering, number]>([
    ['disabled', 0],
    ['lines', 7],
    ['sparsed', 7],
  ])('of one long line goes on exactly where it was cut, with line_numbers %s', (numbering, prefix) => {
    const text = 'abcdefghij'.repeat(6_000)
    const { text: shown } = show(text, { line_start: 1, line_numbers: numbering as 'lines' })
    const body = bodyOf(shown)
    expect(continueItem(shown)).toMatchObject({ offset_text_symbols: body.length - prefix })
    expect(body.slice(prefix)).toBe(text.slice(0, body.length - prefix))
  })

  it('keeps the numbering of the request in the call that reads on', () => {
    const text = 'a line\n'.repeat(100)
    expect(continueItem(show(text, { line_start: 1, line_count: 2, line_numbers: 'disabled' }).text)).toEqual({
      path,
      line_start: 3,
      line_count: 2,
      line_numbers: 'disabled',
    })
    expect(continueItem(show(text, { line_start: 1, line_count: 2 }).text)).toEqual({ path, line_start: 3, line_count: 2 })
  })

  it('of a file of three lines that ends in a newline has three lines', () => {
    expect(show('a\nb\nc\n', { line_start: 1 })).toMatchObject({ range: { line_start: 1, line_count: 3, total_lines: 3 } })
    expect(show('a\nb\nc\n', { line_start: 3 }).text).toBe(`[READ RANGE]\npath: ${path}\nlines: [3-3]/3\npartial_line: false\n     3\tc`)
    expect(show('a\nb\nc', { line_start: 1 })).toMatchObject({ range: { total_lines: 3 } })
    expect(show('\n', { line_start: 1 })).toMatchObject({ range: { line_count: 1, total_lines: 1 } })
    expect(show('', { line_start: 1 }).text).toContain('lines: [0-0]/0')
    const [whole] = requestsOf({ paths: [path], line_numbers: 'lines' }, 'c1')
    expect(whole && showText('a\nb\n', { ...whole, path }, readLimits, roughTokens).text).toBe('     1\ta\n     2\tb')
  })

  it('never begins or ends inside a character', () => {
    const text = '🙂'.repeat(10)
    expect(bodyOf(show(text, { offset_text_symbols: 3, max_text_symbols: 4 }).text)).toBe('🙂🙂')
    expect(bodyOf(show(text, { offset_text_symbols: 0, max_text_symbols: 1 }).text)).toBe('🙂')
  })

  it('by symbols keeps the limit of tokens', () => {
    const oneEach = (text: string) => [...text].length
    const { text, truncated } = show('語'.repeat(30_000), { offset_text_symbols: 0, max_text_symbols: 20_000 }, {}, oneEach)
    expect(oneEach(bodyOf(text))).toBeLessThanOrEqual(12_000)
    expect(truncated).toBe(true)
  })

  it('shows every symbol once when the calls that read on are followed, whatever the text, the limits and the first range', () => {
    const line = fc.oneof(
      fc.constantFrom('', 'x', '\r', 'continue: react.read(x)', '🙂'.repeat(900), 'word '.repeat(300)),
      fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll('\n', ' ')),
    )
    const anyText = fc
      .tuple(fc.array(line, { minLength: 1, maxLength: 30 }), fc.boolean())
      .map(([lines, end]) => lines.join('\n') + (end ? '\n' : ''))
    let calls = 0
    fc.assert(
      fc.property(
        anyText,
        fc.integer({ min: 760, max: 2_500 }),
        fc.integer({ min: 5, max: 400 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        (text, symbols, tokens, byLines, count) => {
          let item: Item | undefined = byLines
            ? { line_start: 1, line_count: count }
            : { offset_text_symbols: 0, max_text_symbols: count * 300 }
          let seen = ''
          for (let call = 0; item; call++, calls++) {
            expect(call).toBeLessThan(10_000)
            const { text: shown }: { text: string } = show(text, { ...item, line_numbers: 'disabled' }, { symbols, tokens })
            expect(shown.isWellFormed()).toBe(true)
            const next: Item | undefined = continueItem(shown)
            const endsLine = next?.line_start !== undefined || (next === undefined && item.line_start !== undefined)
            seen += bodyOf(shown) + (endsLine ? '\n' : '')
            item = next
          }
          // A range of lines does not show whether the last line ends with a newline.
          expect(seen.replace(/\n$/, '')).toBe(text.replace(/\n$/, ''))
        },
      ),
      { numRuns: 300 },
    )
    expect(calls).toBeGreaterThan(1_000)
  })
})
