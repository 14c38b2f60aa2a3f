import { afterAll, beforeAll, expect, it, vi } from 'vitest'

interface FakeElement {
  readonly tag: string
  readonly children: (FakeElement | string)[]
  readonly href?: string
}

/** The members of the DOM that markdown.js uses. They can create and append elements, and can not parse HTML. */
const createElement = (tag: string) => {
  const children: (FakeElement | string)[] = []
  return { tag, children, append: (child: FakeElement | string) => void children.push(child) }
}

let markdown: (text: string) => readonly FakeElement[]
beforeAll(async () => {
  vi.stubGlobal('document', { createElement })
  // imported by its URL, because it is a browser module without types
  markdown = (await import(new URL('./markdown.js', import.meta.url).href)).markdown
})
afterAll(() => vi.unstubAllGlobals())

const toMarkup = (part: FakeElement | string): string =>
  typeof part === 'string' ? part : `<${part.tag}${part.href ? ` ${part.href}` : ''}>${part.children.map(toMarkup).join('')}</>`
const render = (text: string) => markdown(text).map(toMarkup).join('')

it('renders the markdown that answers use', () => {
  expect(render('# Title\n\nSome **bold *x*** and `code`.')).toContain('<h3>Title</><p>Some <strong>')
  expect(render('- a\n- b\n\n1. c')).toBe('<ul><li>a</><li>b</></><ol><li>c</></>')
  expect(render('| a | b |\n|---|:-:|\n| 1 | 2 |')).toBe('<table><thead><tr><th>a</><th>b</></></><tbody><tr><td>1</><td>2</></></></>')
  expect(render('> one\n> > two')).toBe('<blockquote><p>one</><blockquote><p>two</></></>')
  expect(render('```js\n<b>\n```\nafter')).toBe('<pre><b></><p>after</>')
  expect(render('[here](https://a.example/x "t")')).toBe('<p><a https://a.example/x>here</></>')
})

it.each([
  '[a](javascript:alert(1))',
  '[a](JavaScript:alert(1))',
  '[a]( javascript:alert(1))',
  '[a](java\tscript:alert(1))',
  '[a](data:text/html,<script>alert(1)</script>)',
  '[a](vbscript:x)',
  '[a](//elsewhere.example)',
  '[a](https:javascript:alert(1))',
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '![a](javascript:alert(1))',
])('leaves %s as text', (text) => {
  expect(render(text)).toBe(`<p>${text}</>`)
})

it.each([
  ['brackets', '['.repeat(200_000)],
  ['stars', '*a'.repeat(200_000)],
  ['quotes in quotes', `${'>'.repeat(20_000)}x`],
  ['bars under a bar', `a|b\n${'|'.repeat(200_000)}x`],
  ['lines', 'x\n\n'.repeat(100_000)],
  ['links that never end', '[a](https://x'.repeat(20_000)],
])('renders a flood of %s in bounded time', (_name, text) => {
  expect(markdown(text).length).toBeGreaterThan(0)
})
