/** A node of an HTML document: an element, or a text. */
export type HtmlNode = HtmlElement | string

/** An element of an HTML document. */
export interface HtmlElement {
  /** The name in lower case. `#root` for the root and `#comment` for a comment, whose text is its only child. */
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: HtmlNode[]
  /** Where the element begins and ends in the text. `end` is the position after the last character. */
  readonly start: number
  end: number
}

/** Whether a node is an element, and if `names` are given, whether it has one of these names. */
export const isElement = (node: HtmlNode | undefined, ...names: readonly string[]): node is HtmlElement =>
  typeof node === 'object' && (names.length === 0 ? node.name !== '#comment' : names.includes(node.name))

/** The words in the attribute `class`. */
export const classesOf = ({ attributes }: HtmlElement): readonly string[] =>
  (attributes.class ?? '').split(/\s/).filter((word) => word !== '')

/** The text of a node, without comments, scripts and styles. */
export function textOf(node: HtmlNode): string {
  if (typeof node === 'string') return node
  return isSilent(node) ? '' : node.children.map(textOf).join('')
}

/** Whether the content of an element is not text of the document. */
export const isSilent = ({ name }: HtmlElement): boolean => silent.has(name)

const silent: ReadonlySet<string> = new Set(['#comment', 'script', 'style', 'template', 'noscript', 'head', 'title'])

/** All elements below an element, in the order of the document. */
export function* elementsBelow(element: HtmlElement): Generator<HtmlElement> {
  for (const child of element.children) {
    if (typeof child === 'string') continue
    yield child
    yield* elementsBelow(child)
  }
}

/** Escapes a text for HTML, also inside of attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] as string)

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
