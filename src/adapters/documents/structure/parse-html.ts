import { paragraphEnders, tokenizeHtml, voidTags } from '../html-tags.ts'
import type { HtmlElement, HtmlNode } from './html.ts'
import { loadPackage } from './packages.ts'

/** Elements that are nested deeper are left out, but not their text. So recursive functions over the tree do not exceed the stack. */
const maxDepth = 100

/** For each element, the open elements that end when this element begins. Authors may leave out the end tags of these open elements. */
const endedBy: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['li', ['li', 'p']],
  ['dt', ['dt', 'dd', 'p']],
  ['dd', ['dt', 'dd', 'p']],
  ['td', ['td', 'th', 'p']],
  ['th', ['td', 'th', 'p']],
  ['tr', ['td', 'th', 'tr', 'p']],
  ['tbody', ['td', 'th', 'tr', 'thead', 'tbody']],
  ['tfoot', ['td', 'th', 'tr', 'thead', 'tbody']],
  ['body', ['head']],
  ...paragraphEnders.map(endsParagraph),
])

function endsParagraph(tag: string): [string, readonly string[]] {
  return [tag, ['p']]
}

/** Parses HTML. Never fails: any text is HTML. */
export async function parseHtml(html: string): Promise<HtmlElement> {
  const { Tokenizer } = await loadPackage('htmlparser2', () => import('htmlparser2'))
  const root: HtmlElement = { name: '#root', attributes: {}, children: [], start: 0, end: html.length }
  const open: HtmlElement[] = [root]
  const top = () => open.at(-1) as HtmlElement // the root is never closed
  let tooDeep = 0

  function endTop(end: number): void {
    top().end = end
    open.pop()
  }

  function openTag(name: string, written: Readonly<Record<string, string>>, start: number, end: number): void {
    const ended = endedBy.get(name)
    if (tooDeep === 0) while (ended?.includes(top().name)) endTop(start)
    const attributes = Object.fromEntries(Object.entries(written).map(([key, value]) => [key, withoutControls(value)]))
    const element: HtmlElement = { name, attributes, children: [], start, end: end + 1 }
    if (voidTags.has(name)) top().children.push(element)
    else if (open.length > maxDepth) tooDeep++
    else {
      top().children.push(element)
      open.push(element)
    }
  }

  function closeTag(closed: string, end: number): void {
    if (voidTags.has(closed)) return
    if (tooDeep > 0) {
      tooDeep--
      return
    }
    const at = open.findLastIndex((element) => element.name === closed)
    if (at > 0) while (open.length > at) endTop(end)
  }

  const tokens = {
    openTag,
    closeTag: (name: string, end: number) => closeTag(name, html.indexOf('>', end) + 1 || html.length),
    text: (text: string) => appendText(top().children, text),
    comment: (start: number, end: number) =>
      void top().children.push({ name: '#comment', attributes: {}, children: [html.slice(start, end)], start, end }),
  }
  tokenizeHtml(html, tokens, Tokenizer)
  while (open.length > 1) endTop(html.length)
  return root
}

/** Appends a text. The tokenizer divides texts at entities, so the text is joined with a text directly before it. */
function appendText(children: HtmlNode[], text: string): void {
  const last = children.at(-1)
  const clean = withoutControls(text)
  if (typeof last === 'string') children[children.length - 1] = last + clean
  else if (clean !== '') children.push(clean)
}

/** Removes characters that XML files must not contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
const withoutControls = (text: string) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '').toWellFormed()
