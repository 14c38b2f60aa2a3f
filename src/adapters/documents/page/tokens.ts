import type { Tokenizer } from 'htmlparser2'

export type Attributes = Readonly<Record<string, string>>

/** Receives the elements of a page. Each opened element is closed again, in the reverse order. Void elements such as `<br>` are not closed. */
export interface TokenHandler {
  open(tag: string, attributes: Attributes): void
  text(text: string): void
  close(tag: string): void
}

/** Elements deeper than this are left out, but not their text. So functions that walk through the tree may call themselves. */
export const maxDepth = 150

const voidTags: ReadonlySet<string> = new Set([
  ...['area', 'base', 'basefont', 'br', 'col', 'embed', 'frame', 'hr', 'img', 'input', 'link', 'meta', 'param', 'source', 'track', 'wbr'],
])
export const isVoid = (tag: string): boolean => voidTags.has(tag)

const paragraph = new Set(['p'])
const cells = new Set(['td', 'th'])
const rows = new Set(['td', 'th', 'tr'])
const groups = new Set(['td', 'th', 'tr', 'thead', 'tbody'])
const terms = new Set(['dt', 'dd', 'p'])

/** The elements that end when one of these begins, because pages may leave out their end tags. */
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
  ...[
    'address',
    'article',
    'aside',
    'blockquote',
    'details',
    'div',
    'dl',
    'fieldset',
    'figure',
    'footer',
    'form',
    'h1',
    'h2',
    'h3',
    'h4',
  ].map(endsParagraph),
  ...['h5', 'h6', 'header', 'hr', 'main', 'nav', 'ol', 'p', 'pre', 'section', 'table', 'ul'].map(endsParagraph),
])

function endsParagraph(tag: string): readonly [string, ReadonlySet<string>] {
  return [tag, paragraph]
}

/**
 * Splits HTML into elements and text. It uses only the tokenizer of htmlparser2 and not its parser, which takes quadratic time for many
 * elements in elements.
 */
export function readTokens(html: string, handler: TokenHandler, HtmlTokenizer: typeof Tokenizer): void {
  const open: string[] = []
  let tooDeep = 0
  let tag = ''
  let attributes: Record<string, string> = {}
  let name = ''
  let value: string[] = []

  const endLast = () => {
    const last = open.pop()
    if (last !== undefined) handler.close(last)
  }

  function endOpenTag(): void {
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

  const ignore = () => {}
  const tokenizer = new HtmlTokenizer(
    { decodeEntities: true },
    {
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase()
        attributes = {}
      },
      onattribname(start, end) {
        name = html.slice(start, end).toLowerCase()
        value = []
      },
      onattribdata: (start, end) => void value.push(html.slice(start, end)),
      onattribentity: (code) => void value.push(String.fromCodePoint(code)),
      onattribend() {
        if (!Object.hasOwn(attributes, name) && name !== '__proto__') attributes[name] = value.join('')
      },
      onopentagend: endOpenTag,
      onselfclosingtag: endOpenTag, // HTML ignores the slash
      onclosetag: (start, end) => endTag(html.slice(start, end).toLowerCase()),
      ontext: (start, end) => handler.text(html.slice(start, end)),
      ontextentity: (code) => handler.text(String.fromCodePoint(code)),
      oncdata: ignore,
      oncomment: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  while (open.length > 0) endLast()
}
