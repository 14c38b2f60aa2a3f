import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { parseMarkdown } from '../model/markdown.ts'
import { chunksOf, settleMarkdown } from '../model/settled-markdown.ts'
import MarkdownView from './markdown-view.tsx'

const render = (text: string, live = false) =>
  renderToStaticMarkup(<MarkdownView text={text} live={live} />).replace(/ (?:class|tabindex|aria-label|role|target|rel)="[^"]*"/g, '')

it('renders the markdown that answers use', () => {
  expect(render('# Title\n\nSome **bold *x*** and `code`.')).toBe(
    '<h1>Title</h1><p>Some <strong>bold <em>x</em></strong> and <code>code</code>.</p>',
  )
  expect(render('- a\n- b\n\n3. c')).toBe('<ul><li>a</li><li>b</li></ul><ol start="3"><li>c</li></ol>')
  expect(render('| a | b |\n|---|:-:|\n| 1 | 2 |')).toContain('<td>1</td><td>2</td>')
  expect(render('> one\n> > two')).toBe('<blockquote><p>one</p><blockquote><p>two</p></blockquote></blockquote>')
  expect(render('```js\n<b>\n```\nafter')).toContain('<code>&lt;b&gt;</code>')
  expect(render('[here](https://a.example/x "t")')).toBe('<p><a href="https://a.example/x">here</a></p>')
})

it.each([
  '[a](javascript:alert(1))',
  '[a](JavaScript:alert(1))',
  '[a](<javascript:alert(1)>)',
  '[a](java&#9;script:alert(1))',
  '[a](data:text/html,<script>alert(1)</script>)',
  '[a](vbscript:x)',
  '[a](//elsewhere.example)',
  '[a](file:///etc/passwd)',
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '<a href="javascript:alert(1)" style="position:fixed">x</a>',
  '<svg onload=alert(1)>',
  '![a](javascript:alert(1))',
  '![a](https://elsewhere.example/pixel.png)',
  '<javascript:alert(1)>',
])('makes no link, image or element of %s', (text) => {
  for (const live of [false, true]) expect(render(text, live)).not.toMatch(/<(?!\/?(?:p|span)\b)/)
})

it('closes emphasis that is still being written, and keeps an open fence in its own element', () => {
  expect(render('some **bold', true)).toBe('<p>some <strong>bold</strong></p>')
  expect(render('text\n\n```js\nlet a = **1', true)).toContain('<code>let a = **1</code>')
})

it.each([
  ['brackets', '['.repeat(50_000)],
  ['stars', '*a'.repeat(50_000)],
  ['quotes in quotes', `${'>'.repeat(20_000)}x`],
  ['bars under a bar', `a|b\n${'|'.repeat(50_000)}x`],
  ['lines', 'x\n\n'.repeat(30_000)],
  ['links that never end', '[a](https://x'.repeat(20_000)],
  ['addresses', 'www.a.example '.repeat(20_000)],
])('reads a flood of %s in bounded time', (_name, text) => {
  expect(chunksOf(settleMarkdown(text)).flatMap(parseMarkdown).length).toBeGreaterThan(0)
})
