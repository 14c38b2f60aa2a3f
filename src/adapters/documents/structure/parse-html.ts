import type { HtmlElement, HtmlNode } from './html.ts'
import { loadPackage } from './packages.ts'

/** Elements that are nested deeper are left out, but not their text. So functions that walk through the tree may call themselves. */
const maxDepth = 100

const voidTags: ReadonlySet<string> = new Set([
  ...['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'param', 'source', 'track', 'wbr'],
])

/** The elements that end when one of these begins, because authors may leave out their end tags. */
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
  ...['address', 'article', 'aside', 'blockquote', 'div', 'dl', 'figure', 'footer', 'form', 'h1', 'h2', 'h3'].map(endsParagraph),
  ...['h4', 'h5', 'h6', 'header', 'hr', 'main', 'nav', 'ol', 'p', 'pre', 'section', 'table', 'ul'].map(endsParagraph),
])

function endsParagraph(tag: string): [string, readonly string[]] {
  return [tag, ['p']]
}

/**
 * Parses HTML. Never fails: any text is HTML. It uses only the tokenizer of the package, because its parser takes quadratic time for many
 * elements that are not closed.
 */
export async function parseHtml(html: string): Promise<HtmlElement> {
  const { Tokenizer } = await loadPackage('htmlparser2', () => import('htmlparser2'))
  const root: HtmlElement = { name: '#root', attributes: {}, children: [], start: 0, end: html.length }
  const open: HtmlElement[] = [root]
  const top = () => open.at(-1) as HtmlElement // the root is never closed
  let tooDeep = 0
  let tag = { name: '', start: 0 }
  let attributes: Record<string, string> = {}
  let name = ''
  let value: string[] = []

  function endTop(end: number): void {
    top().end = end
    open.pop()
  }

  function openTag(end: number): void {
    const ended = endedBy.get(tag.name)
    if (tooDeep === 0) while (ended?.includes(top().name)) endTop(tag.start)
    const element: HtmlElement = { name: tag.name, attributes, children: [], start: tag.start, end: end + 1 }
    if (voidTags.has(tag.name)) top().children.push(element)
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

  const ignore = () => {}
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname(start, end) {
        tag = { name: html.slice(start, end).toLowerCase(), start: start - 1 }
        attributes = {}
      },
      onattribname(start, end) {
        name = html.slice(start, end).toLowerCase()
        value = []
      },
      onattribdata: (start, end) => void value.push(html.slice(start, end)),
      onattribentity: (code) => void value.push(String.fromCodePoint(code)),
      onattribend() {
        if (!Object.hasOwn(attributes, name) && name !== '__proto__') attributes[name] = withoutControls(value.join(''))
      },
      onopentagend: openTag,
      onselfclosingtag: openTag, // HTML ignores the slash
      onclosetag: (start, end) => closeTag(html.slice(start, end).toLowerCase(), html.indexOf('>', end) + 1 || html.length),
      ontext: (start, end) => appendText(top().children, html.slice(start, end)),
      ontextentity: (code) => appendText(top().children, String.fromCodePoint(code)),
      oncomment(start, end) {
        top().children.push({ name: '#comment', attributes: {}, children: [html.slice(start, end)], start, end })
      },
      oncdata: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  while (open.length > 1) endTop(html.length)
  return root
}

/** Appends a text. The tokenizer divides texts at entities, so it is joined with the text before. */
function appendText(children: HtmlNode[], text: string): void {
  const last = children.at(-1)
  const clean = withoutControls(text)
  if (typeof last === 'string') children[children.length - 1] = last + clean
  else if (clean !== '') children.push(clean)
}

/** Removes characters that XML files must not contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to remove
const withoutControls = (text: string) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '').toWellFormed()
