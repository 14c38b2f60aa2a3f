import { blockTags } from '../html-tags.ts'
import type { DocumentBlock, Inline, Look } from './document.ts'
import { classesOf, elementsBelow, type HtmlElement, type HtmlNode, isElement, isSilent, textOf } from './html.ts'
import { markdownToHtml } from './markdown.ts'
import { parseHtml } from './parse-html.ts'
import { isBlank, readImage, readInlines } from './read-inlines.ts'
import { readChart, readTable } from './read-table.ts'
import { parseColour, parseLength, stylesOf } from './styles.ts'

/** Reads the structure of a document. Of HTML, only the structure and a few styles are read. Scripts do not run. */
export async function readDocument(content: string, format: 'markdown' | 'html'): Promise<readonly DocumentBlock[]> {
  const root = await parseHtml(format === 'markdown' ? await markdownToHtml(content) : content)
  const body = [...elementsBelow(root)].find(({ name }) => name === 'body')
  return readBlocks((body ?? root).children)
}

/** Elements that begin a new line. They include `dialog`, because the content of a dialog is a part of the document. */
const blockNames: ReadonlySet<string> = new Set([...blockTags, 'dialog', 'html'])

const isBlock = (node: HtmlNode): node is HtmlElement =>
  typeof node === 'object' && (node.name === '#comment' || blockNames.has(node.name) || isLooseImage(node))

/** Whether an element only wraps blocks, as in `<a><div>…</div></a>`. */
const wrapsBlocks = (node: HtmlNode): node is HtmlElement =>
  isElement(node) && !isSilent(node) && !blockNames.has(node.name) && node.children.some((child) => isBlock(child) || wrapsBlocks(child))

const isLooseImage = (element: HtmlElement) => element.name === 'img' && classesOf(element).includes('block')

/** Reads nodes as blocks. Texts between blocks become paragraphs. */
export function readBlocks(nodes: readonly HtmlNode[]): readonly DocumentBlock[] {
  const blocks: DocumentBlock[] = []
  let line: HtmlNode[] = []
  const endLine = () => {
    const paragraph = readParagraph(line, {})
    line = []
    if (paragraph) blocks.push(paragraph)
  }
  for (const node of nodes) {
    if (!isBlock(node) && !wrapsBlocks(node)) {
      line.push(node)
      continue
    }
    endLine()
    blocks.push(...readBlock(node))
  }
  endLine()
  return blocks
}

/** Reads a line. A line with one image and no text becomes an image. Undefined when the line is empty. */
function readParagraph(nodes: readonly HtmlNode[], look: Look): DocumentBlock | undefined {
  if (isBlank(nodes)) return undefined
  const content = readInlines(nodes)
  const [only, ...more] = content.filter((part) => part.kind !== 'text' || part.text.trim() !== '')
  if (only?.kind === 'image' && more.length === 0) return { kind: 'image', image: only.image, caption: [] }
  return content.length === 0 ? undefined : { kind: 'paragraph', content, look }
}

function readBlock(element: HtmlElement): readonly DocumentBlock[] {
  const { name, children, attributes } = element
  switch (name) {
    case '#comment':
      return readNotes(textOf(children[0] ?? ''))
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6': {
      const anchor = attributes.id === undefined ? {} : { anchor: attributes.id }
      return [{ kind: 'heading', level: Number(name[1]), content: readInlines(children), look: readLook(element), ...anchor }]
    }
    case 'p': {
      const paragraph = readParagraph(children, readLook(element))
      return children.some(isBlock) ? readBlocks(children) : paragraph ? [paragraph] : []
    }
    case 'ul':
    case 'ol':
      return [readList(element)]
    case 'dl':
      return children.filter((child) => isElement(child, 'dt', 'dd')).flatMap((child) => readBlocks(child.children))
    case 'table':
      return [readChart(element) ?? readTable(element, readBlocks)]
    case 'pre':
      return [readCode(element)]
    case 'blockquote':
      return [{ kind: 'quote', blocks: readBlocks(children) }]
    case 'hr':
      return [{ kind: 'rule' }]
    case 'img':
      return [{ kind: 'image', image: readImage(element), caption: [] }]
    case 'figure':
      return readFigure(element)
    case 'aside':
      return isNotes(element) ? readNotes(`notes: ${textOf(element)}`) : [readCallout(element)]
    case 'section':
      return [{ kind: 'slide', blocks: readBlocks(children), look: readLook(element) }]
    default:
      return readContainer(element)
  }
}

/** Reads a `div` or a similar element. Its classes and styles say whether it is a callout, speaker notes or a row of columns. */
function readContainer(element: HtmlElement): readonly DocumentBlock[] {
  if (isNotes(element)) return readNotes(`notes: ${textOf(element)}`)
  if (isCallout(element)) return [readCallout(element)]
  if (isRow(element)) {
    const columns = element.children.filter((child) => isElement(child) && !isSilent(child)).map((child) => readBlocks([child]))
    if (columns.length > 1) return [{ kind: 'columns', columns }]
  }
  if (element.children.some((child) => isBlock(child) || wrapsBlocks(child))) return readBlocks(element.children)
  const paragraph = readParagraph(element.children, readLook(element))
  return paragraph ? [paragraph] : []
}

const hasClass = (element: HtmlElement, names: readonly string[]) => classesOf(element).some((name) => names.includes(name.toLowerCase()))
const isNotes = (element: HtmlElement) => hasClass(element, ['notes', 'speaker-notes'])
const isCallout = (element: HtmlElement) =>
  hasClass(element, ['callout', 'note', 'tip', 'warning', 'important', 'card', 'box', 'highlight'])

function isRow(element: HtmlElement): boolean {
  const styles = stylesOf(element)
  const display = styles.get('display') ?? ''
  const isFlexRow = display.includes('flex') && !(styles.get('flex-direction') ?? '').startsWith('column')
  return isFlexRow || display.includes('grid') || hasClass(element, ['columns', 'cols', 'row', 'two-column', 'two-columns', 'grid'])
}

const readCallout = (element: HtmlElement): DocumentBlock => ({
  kind: 'callout',
  blocks: readBlocks(element.children),
  look: readLook(element),
})

/** Speaker notes in a comment such as `<!-- notes: Say hello. -->`. Other comments are left out. */
function readNotes(text: string): readonly DocumentBlock[] {
  const [, notes] = /^\s{0,99}notes?:([\s\S]*)$/i.exec(text) ?? []
  const lines = (notes ?? '').split('\n').map((line) => line.trim())
  return notes === undefined || notes.trim() === '' ? [] : [{ kind: 'notes', text: lines.join('\n').trim() }]
}

function readList({ name, children, attributes }: HtmlElement): DocumentBlock {
  const items = children.filter((child) => isElement(child, 'li')).map((item) => readBlocks(item.children))
  const start = Number.parseInt(attributes.start ?? '1', 10)
  return { kind: 'list', ordered: name === 'ol', start: Number.isSafeInteger(start) && start > 0 ? start : 1, items }
}

function readCode(element: HtmlElement): DocumentBlock {
  const text = textOf(element).replace(/\n$/, '')
  if (classesOf(element).includes('mermaid')) return { kind: 'diagram', source: text }
  const code = element.children.find((child) => isElement(child, 'code'))
  const language = (isElement(code) ? classesOf(code) : []).find((name) => name.startsWith('language-'))?.slice('language-'.length) ?? ''
  return language === 'mermaid' ? { kind: 'diagram', source: text } : { kind: 'code', text, language }
}

/** Reads a `figure`. Its caption becomes the caption of its first image or table. */
function readFigure({ children }: HtmlElement): readonly DocumentBlock[] {
  const captionElement = children.find((child) => isElement(child, 'figcaption'))
  const caption: readonly Inline[] = isElement(captionElement) ? readInlines(captionElement.children) : []
  const blocks = readBlocks(children.filter((child) => child !== captionElement))
  const at = blocks.findIndex(({ kind }) => kind === 'image' || kind === 'table')
  if (at === -1) return caption.length === 0 ? blocks : [...blocks, { kind: 'paragraph', content: caption, look: {} }]
  return blocks.map((block, index) => (index === at && (block.kind === 'image' || block.kind === 'table') ? { ...block, caption } : block))
}

/** The look of a block, by its attributes `style`, `align` and `dir`. */
export function readLook(element: HtmlElement): Look {
  const { attributes } = element
  const styles = stylesOf(element)
  const align = styles.get('text-align') ?? attributes.align
  const colour = parseColour(styles.get('color'))
  const background = parseColour(styles.get('background-color') ?? styles.get('background'))
  const size = parseLength(styles.get('font-size'))
  const { dir } = attributes
  return {
    ...((align === 'center' || align === 'right' || align === 'left') && { align }),
    ...(colour !== undefined && { colour }),
    ...(background !== undefined && { background }),
    ...(size !== undefined && { size }),
    ...((dir === 'rtl' || dir === 'ltr') && { direction: dir }),
  }
}
