import { expect, it } from 'vitest'
import { plainLine, plainText } from './terminal.ts'

it('shows signs that a terminal would obey, instead of sending them', () => {
  expect(plainText('a\x1b]52;c;ZXZpbA==\x07b\x9b2Jc\r\nd\te\u202ef')).toBe('a␛]52;c;ZXZpbA==␇b\ufffd2Jc\nd\te\ufffdf')
  expect(plainLine(' a title\n\x1b[2J over two lines ')).toBe('a title ␛[2J over two lines')
})

it('leaves ordinary text of every language as it is', () => {
  const text = 'naïve café 😀 日本語\n\tשלום ✓ →'
  expect(plainText(text)).toBe(text)
})
