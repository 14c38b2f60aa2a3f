import { expect, it } from 'vitest'
import { plainLine, plainText, styleFor } from './terminal.ts'

it('replaces control characters by visible ones', () => {
  expect(plainText('a\x1b]52;c;ZXZpbA==\x07b\x9b2Jc\r\nd\te\u202ef')).toBe('a␛]52;c;ZXZpbA==␇b\ufffd2Jc\nd\te\ufffdf')
  expect(plainLine(' a title\n\x1b[2J over two lines ')).toBe('a title ␛[2J over two lines')
})

it('leaves text of every language unchanged', () => {
  const text = 'naïve café 😀 日本語\n\tשלום ✓ →'
  expect(plainText(text)).toBe(text)
})

it('uses colours only on a terminal that wants them', () => {
  const { dim, bold, success, failure, link } = styleFor({ isTTY: true }, {})
  expect([dim('a'), bold('b'), success('c'), failure('d'), link('e')]).toEqual([
    '\x1b[2ma\x1b[22m',
    '\x1b[1mb\x1b[22m',
    '\x1b[32mc\x1b[39m',
    '\x1b[31md\x1b[39m',
    '\x1b[36me\x1b[39m',
  ])
  expect(styleFor({}, { FORCE_COLOR: '1' }).failure('x')).toBe('\x1b[31mx\x1b[39m')
  for (const [stream, environment] of [
    [{}, {}],
    [{ isTTY: true }, { NO_COLOR: '1' }],
    [{ isTTY: true }, { NO_COLOR: '1', FORCE_COLOR: '1' }],
    [{ isTTY: true }, { TERM: 'dumb' }],
  ] as const) {
    expect(styleFor(stream, environment).failure('x')).toBe('x')
  }
})
