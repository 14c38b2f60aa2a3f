import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createMarkdown, markdownFor } from './markdown.ts'
import { styleFor } from './terminal.ts'

/** Styles that can be read in an expectation. */
const marked = {
  dim: (text: string) => `<d>${text}</d>`,
  bold: (text: string) => `<b>${text}</b>`,
  success: (text: string) => text,
  failure: (text: string) => text,
  link: (text: string) => `<c>${text}</c>`,
  italic: (text: string) => `<i>${text}</i>`,
}
const render = (...pieces: readonly string[]) => {
  const markdown = createMarkdown(marked)
  return pieces.map((piece) => markdown.write(piece)).join('') + markdown.end()
}

it.each([
  ['# Title\n\nText', '<b>Title</b>\n\nText'],
  ['### A `b` c', '<b>A `b` c</b>'],
  ['#hashtag', '#hashtag'],
  ['- one\n  * two\n+ three', '• one\n  • two\n• three'],
  ['1. one\n2. two', '1. one\n2. two'],
  ['a **bold** and *soft* and `code`', 'a <b>bold</b> and <i>soft</i> and <c>code</c>'],
  ['2 * 3 * 4, 5**2, **kwargs, a*b*c', '2 * 3 * 4, 5**2, **kwargs, a*b*c'],
  ['`**not bold**`', '<c>**not bold**</c>'],
  ['see [the page](https://a.example/x) now', 'see the page<d> (https://a.example/x)</d> now'],
  ['cited [[1]](https://a.example)', 'cited [1]<d> (https://a.example)</d>'],
  ['[https://a.example](https://a.example)', 'https://a.example'],
  ['a [x] and arr[0](1', 'a [x] and arr[0](1'],
  ['> quoted\ntext', '<d>│ </d>quoted\ntext'],
  ['```ts\nconst a = **b**\n- c\n```\nafter', '<d>```ts</d>\n<c>const a = **b**</c>\n<c>- c</c>\n<d>```</d>\nafter'],
  ['escaped \\* star \\\\ and C:\\dir', 'escaped * star \\ and C:\\dir'],
  ['---\nover', '---\nover'],
  ['-', '-'],
  ['**a***', '<b>a</b>*'],
  ['**open\nnext', '**open\nnext'],
])('renders %j', (text, expected) => {
  expect(render(text)).toBe(expected)
  expect(render(...text)).toBe(expected === render(text) ? joined(expected, render(...text)) : expected)
})

/** A run of one style may be painted in several pieces. After joining the pieces, the text is the same. */
const joinPieces = (text: string) => text.replace(/<\/(\w)><\1>/g, '')
const joined = (expected: string, actual: string) => (joinPieces(actual) === joinPieces(expected) ? actual : expected)

const piece = fc.constantFrom('*', '**', '`', '```', '#', '- ', '[', '](', ')', '\\', '\n', ' ', 'a', 'word', '1.', '> ', 'é', '🚀')
const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))

it('gives the same output however the text is split into pieces', () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(20), { maxLength: 10 }), (whole, sizes) => {
      const pieces: string[] = []
      let rest = whole
      for (const size of sizes) {
        pieces.push(rest.slice(0, size))
        rest = rest.slice(size)
      }
      expect(joinPieces(render(...pieces, rest))).toBe(joinPieces(render(whole)))
    }),
  )
})

it('loses no words, and writes only styles of its own', () => {
  fc.assert(
    fc.property(text, (whole) => {
      const words = (from: string) =>
        from
          .replaceAll(/<\/?[bcdi]>/g, '')
          .match(/[a-zé🚀1]/gu)
          ?.join('')
      expect(words(render(whole))).toBe(words(whole))
    }),
  )
})

it('holds back no more than the beginning of a mark', () => {
  const markdown = createMarkdown(marked)
  expect(markdown.write('A long line that has no mark')).toBe('A long line that has no mark')
  expect(markdown.write(` **${'x'.repeat(2_000)}`)).toContain('xxx')
})

it('is used only for terminals with colours', () => {
  expect(markdownFor({ isTTY: true }, {})?.().write('**a**')).toContain('\x1b[1m')
  expect(markdownFor({ isTTY: true }, { NO_COLOR: '1' })).toBeUndefined()
  expect(markdownFor({ isTTY: true }, { TERM: 'dumb' })).toBeUndefined()
  expect(markdownFor({}, {})).toBeUndefined()
  expect(markdownFor({}, { FORCE_COLOR: '1' })).toBeUndefined() // a file gets the Markdown as the model wrote it
  expect(styleFor({ isTTY: true }, {}).italic('a')).toBe('\x1b[3ma\x1b[23m')
})
