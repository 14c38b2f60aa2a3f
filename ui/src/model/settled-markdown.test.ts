import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chunksOf, emptyMarkdown, settleMarkdown, splitOpenFence } from './settled-markdown.ts'

const line = fc.oneof(
  fc.constantFrom('', '# Title', '- item', '1. item', '  more', '```', '```js', '~~~', '> quote', '| a | b |', '    code'),
  fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\n', ' ')),
  fc.constant('a paragraph that is long enough to fill a chunk after some of them. '.repeat(40)),
)
const text = fc.array(line, { maxLength: 60 }).map((lines) => lines.join('\n'))

it('the chunks are the text, and a text that grows has the same chunks as one that came at once', () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (whole, cuts) => {
      const at = [...cuts.map((cut) => cut % (whole.length + 1)), whole.length].sort((a, b) => a - b)
      const grown = at.reduce((settled, end) => settleMarkdown(whole.slice(0, end), settled), emptyMarkdown)
      expect(chunksOf(grown).join('')).toBe(whole)
      expect(chunksOf(grown)).toEqual(chunksOf(settleMarkdown(whole)))
    }),
  )
})

it('only the last chunk changes while a text grows', () => {
  const paragraphs = Array.from({ length: 200 }, (_, index) => `Paragraph ${index}. ${'words '.repeat(40)}\n\n`)
  let settled = emptyMarkdown
  let grown = ''
  for (const paragraph of paragraphs) {
    const before = chunksOf(settled)
    grown += paragraph
    settled = settleMarkdown(grown, settled)
    expect(chunksOf(settled).slice(0, before.length - 1)).toEqual(before.slice(0, -1))
  }
  expect(chunksOf(settled).length).toBeGreaterThan(4)
})

it('a chunk never begins inside of a code fence', () => {
  const code = `\`\`\`\n${'some code\n\n'.repeat(3_000)}\`\`\`\n\nAfter.`
  for (const chunk of chunksOf(settleMarkdown(`Before.\n\n${code}`))) expect((chunk.match(/```/g) ?? []).length % 2).toBe(0)
})

it('an open fence is split from the text before it', () => {
  expect(splitOpenFence('Text\n\n```js title\nlet a')).toEqual({ before: 'Text\n\n', language: 'js', code: 'let a' })
  expect(splitOpenFence('```\na\n```\n')).toBeUndefined()
  expect(splitOpenFence('~~~py\n```\nx')).toEqual({ before: '', language: 'py', code: '```\nx' })
  expect(splitOpenFence('Only `code` here')).toBeUndefined()
})
