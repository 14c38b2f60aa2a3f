import type { Tokenizer } from 'htmlparser2'

/* Facts about HTML that the readers of documents and of web pages share. */

/** Elements without content and without an end tag. */
export const voidTags: ReadonlySet<string> = new Set([
  ...['area', 'base', 'basefont', 'br', 'col', 'embed', 'frame', 'hr', 'img', 'input', 'link', 'meta', 'param', 'source', 'track', 'wbr'],
])

/** Elements whose start tag ends an open paragraph, because authors may leave out the end tag of a paragraph. */
export const paragraphEnders: readonly string[] = [
  ...['address', 'article', 'aside', 'blockquote', 'details', 'div', 'dl', 'fieldset', 'figure', 'footer', 'form'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'header', 'hr', 'main', 'nav', 'ol', 'p', 'pre', 'section', 'table', 'ul'],
]

/** Elements that begin a new line. All other elements are parts of a line, except those of tables. */
export const blockTags: ReadonlySet<string> = new Set([
  ...paragraphEnders,
  ...['body', 'center', 'dd', 'dt', 'figcaption', 'li', 'summary'],
])

/** Receives the tokens of a text, with their positions in the text. */
export interface HtmlTokens {
  /** `start` is the position of the `<`, and `end` is the position of the `>`. */
  openTag(name: string, attributes: Readonly<Record<string, string>>, start: number, end: number): void
  closeTag(name: string, end: number): void
  text(text: string): void
  comment?(start: number, end: number): void
}

/**
 * Splits HTML into tags and text. It uses only the tokenizer of htmlparser2. The parser of this package takes quadratic time for deeply
 * nested elements.
 */
export function tokenizeHtml(html: string, tokens: HtmlTokens, HtmlTokenizer: typeof Tokenizer): void {
  let tag = { name: '', start: 0 }
  let attributes: Record<string, string> = {}
  let name = ''
  let value: string[] = []
  const ignore = () => {}
  const endOpenTag = (end: number) => tokens.openTag(tag.name, attributes, tag.start, end)
  const tokenizer = new HtmlTokenizer(
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
        if (!Object.hasOwn(attributes, name) && name !== '__proto__') attributes[name] = value.join('')
      },
      onopentagend: endOpenTag,
      onselfclosingtag: endOpenTag, // HTML ignores the slash
      onclosetag: (start, end) => tokens.closeTag(html.slice(start, end).toLowerCase(), end),
      ontext: (start, end) => tokens.text(html.slice(start, end)),
      ontextentity: (code) => tokens.text(String.fromCodePoint(code)),
      oncomment: (start, end) => tokens.comment?.(start, end),
      oncdata: ignore,
      ondeclaration: ignore,
      onprocessinginstruction: ignore,
      onend: ignore,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
}
