import { describe, expect, it } from 'vitest'
import { advanceCode, createCodeContext, isFenced } from './code-fence.ts'

function contextAfter(text: string) {
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
    expect(isFenced(contextAfter(text)) && !contextAfter(text).closing).toBe(true)
  })

  it.each(['', '``', 'a ```', '    ```', '```\n```\n', '````\n`````\n', '```\n   ``` \t\r\n', '``` x ```', '```x`', '~~', '~~~\n~~~\n'])(
    'is not open after %j',
    (text) => {
      expect(isFenced(contextAfter(text))).toBe(false)
    },
  )

  it('closes at a run of at least its length, unless text follows on the line', () => {
    expect(contextAfter('```\n```')).toMatchObject({ closing: true, backticks: 0 })
    expect(contextAfter('```\n```  \t')).toMatchObject({ closing: true })
    expect(contextAfter('```\n```  \tx')).toMatchObject({ closing: false })
  })
})

describe('backticks', () => {
  it('are counted per line, including those of inline code that looked like a fence', () => {
    expect(contextAfter('a `b` `c').backticks).toBe(3)
    expect(contextAfter('a `b` `c\n`').backticks).toBe(1)
    expect(contextAfter('```x``` `').backticks).toBe(7)
  })
})
