import { describe, expect, it } from 'vitest'
import { advanceCode, createCodeContext, isFenced } from './code-fence.ts'

function readingOf(text: string) {
  const context = createCodeContext()
  for (let at = 0; at < text.length; at++) advanceCode(context, text, at, at + 1)
  const whole = createCodeContext()
  advanceCode(whole, text, 0, text.length)
  expect(whole).toEqual(context)
  return context
}

describe('a fence', () => {
  it.each([
    '```',
    '```py',
    '   ```\ncode',
    '~~~ a `b`',
    'text\n~~~~\n~~~\n',
    '````\n```\n',
    '```\n```py\n',
    '```\n~~~\n',
    '```\n    ```\n',
    '```\n``` x',
  ])('is open after %j', (text) => {
    expect(isFenced(readingOf(text)) && !readingOf(text).closing).toBe(true)
  })

  it.each(['', '``', 'a ```', '    ```', '```\n```\n', '````\n`````\n', '```\n   ``` \t\r\n', '``` x ```', '```x`', '~~', '~~~\n~~~\n'])(
    'is not open after %j',
    (text) => {
      expect(isFenced(readingOf(text))).toBe(false)
    },
  )

  it('is ending after a run as long as its own, whatever blanks follow', () => {
    expect(readingOf('```\n```')).toMatchObject({ closing: true, backticks: 0 })
    expect(readingOf('```\n```  \t')).toMatchObject({ closing: true })
    expect(readingOf('```\n```  \tx')).toMatchObject({ closing: false })
  })
})

describe('backticks', () => {
  it('are counted on their line, also those of a fence that was none', () => {
    expect(readingOf('a `b` `c').backticks).toBe(3)
    expect(readingOf('a `b` `c\n`').backticks).toBe(1)
    expect(readingOf('```x``` `').backticks).toBe(7)
  })
})
