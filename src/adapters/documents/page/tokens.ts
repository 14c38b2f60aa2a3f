import type { Tokenizer } from 'htmlparser2'
import { paragraphEnders, tokenizeHtml, voidTags } from '../html-tags.ts'

export type Attributes = Readonly<Record<string, string>>

/** Receives the elements of a page. Opened elements are closed again, in the reverse order. Void elements such as `<br>` are not closed. */
export interface TokenHandler {
  open(tag: string, attributes: Attributes): void
  text(text: string): void
  close(tag: string): void
}

/** Elements deeper than this are left out, but not their text. So recursive functions over the tree do not exceed the stack. */
export const maxDepth = 150

export const isVoid = (tag: string): boolean => voidTags.has(tag)

const paragraph = new Set(['p'])
const cells = new Set(['td', 'th'])
const rows = new Set(['td', 'th', 'tr'])
const groups = new Set(['td', 'th', 'tr', 'thead', 'tbody'])
const terms = new Set(['dt', 'dd', 'p'])

/** For each element, the open elements that end when this element begins. Pages may leave out the end tags of these open elements. */
const endedBy: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['li', new Set(['li', 'p'])],
  ['dt', terms],
  ['dd', terms],
  ['td', cells],
  ['th', cells],
  ['tr', rows],
  ['tbody', groups],
  ['tfoot', groups],
  ['option', new Set(['option'])],
  ['body', new Set(['head'])],
  ...paragraphEnders.map(endsParagraph),
])

function endsParagraph(tag: string): readonly [string, ReadonlySet<string>] {
  return [tag, paragraph]
}

/** Splits HTML into elements and text. */
export function readTokens(html: string, handler: TokenHandler, HtmlTokenizer: typeof Tokenizer): void {
  const open: string[] = []
  let tooDeep = 0

  const endLast = () => {
    const last = open.pop()
    if (last !== undefined) handler.close(last)
  }

  function openTag(tag: string, attributes: Attributes): void {
    const ended = endedBy.get(tag)
    if (ended && tooDeep === 0) while (ended.has(open.at(-1) ?? '')) endLast()
    if (isVoid(tag)) handler.open(tag, attributes)
    else if (open.length >= maxDepth) tooDeep++
    else {
      open.push(tag)
      handler.open(tag, attributes)
    }
  }

  function endTag(closed: string): void {
    if (isVoid(closed)) return
    if (tooDeep > 0) {
      tooDeep--
      return
    }
    const at = open.lastIndexOf(closed)
    if (at >= 0) while (open.length > at) endLast()
  }

  tokenizeHtml(html, { openTag, closeTag: endTag, text: handler.text }, HtmlTokenizer)
  while (open.length > 0) endLast()
}
