import { absoluteUrl } from './head.ts'
import { isBlockTag, type PageElement } from './tree.ts'

/** How `toMarkdown` writes a page. */
export interface MarkdownOptions {
  /** The address that relative links refer to. */
  readonly base: string
  /**
   * Which parts of the page are left out. `parts`: elements whose tag or role says that they are not text of the page, such as menus.
   * `likely`: also elements whose class or id suggests this.
   */
  readonly leaveOut: 'parts' | 'likely'
  readonly maxLength: number
}

/** Writes elements of a page as Markdown. */
export function toMarkdown(roots: readonly PageElement[], options: MarkdownOptions): string {
  const lines: string[] = []
  const writer: Writer = { options, lines, left: options.maxLength }
  for (const root of roots) writeBlock(root, writer)
  return tidy(lines.join('\n'))
}

interface Writer {
  readonly options: MarkdownOptions
  readonly lines: string[]
  /** How many characters may still be written. */
  left: number
}

/** Keeps at most one empty line between two blocks, and none at the end. */
function tidy(text: string): string {
  const kept: string[] = []
  for (const line of text.split('\n')) if (line.trim() !== '' || (kept.at(-1) ?? '') !== '') kept.push(line.trim() === '' ? '' : line)
  return kept.join('\n').trimEnd()
}

const isLeftOut = ({ junk }: PageElement, { leaveOut }: MarkdownOptions) => junk === 'part' || (junk === 'likely' && leaveOut === 'likely')

function push(writer: Writer, text: string): void {
  if (writer.left <= 0) return
  writer.left -= text.length + 1
  writer.lines.push(text)
}

const paragraph = (writer: Writer, text: string) => {
  if (text === '') return
  push(writer, '')
  for (const line of text.split('\n')) push(writer, line.trim())
  push(writer, '')
}

const headingLevel = (tag: string) => (/^h[1-6]$/.test(tag) ? Number(tag[1]) : 0)

/** Writes an element that begins on a new line. */
function writeBlock(element: PageElement, writer: Writer): void {
  if (isLeftOut(element, writer.options) || writer.left <= 0) return
  const { tag } = element
  const level = headingLevel(tag)
  if (level > 0) paragraph(writer, withMark('#'.repeat(level), inlineText(element, writer)))
  else if (tag === 'pre') writeCode(element, writer)
  else if (tag === 'ul' || tag === 'ol') writeList(element, writer)
  else if (tag === 'table') writeTable(element, writer)
  else if (tag === 'blockquote') writeQuote(element, writer)
  else if (tag === 'hr') paragraph(writer, '---')
  else if (tag === 'dt') paragraph(writer, emphasised('**', inlineText(element, writer)))
  else writeChildren(element, writer)
}

const withMark = (mark: string, text: string) => (text === '' ? '' : `${mark} ${text.replaceAll('\n', ' ')}`)

/** Writes the children of an element: runs of text and inline elements as paragraphs, the other elements as blocks. */
function writeChildren({ children }: PageElement, writer: Writer): void {
  let run: (PageElement | string)[] = []
  const endRun = () => {
    if (run.length > 0) paragraph(writer, inlineOf(run, writer))
    run = []
  }
  for (const child of children) {
    if (typeof child === 'string' || !child.hasBlock) run.push(child)
    else {
      endRun()
      writeBlock(child, writer)
    }
  }
  endRun()
}

function writeCode(element: PageElement, writer: Writer): void {
  const code = rawText(element)
  const fence = code.includes('```') ? '````' : '```'
  push(writer, '')
  for (const line of [fence, ...trimLines(code).split('\n'), fence]) push(writer, line)
  push(writer, '')
}

/** Removes empty lines at both ends. The spaces at the start of the first line stay. */
function trimLines(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const first = lines.findIndex((line) => line.trim() !== '')
  const last = lines.findLastIndex((line) => line.trim() !== '')
  return first < 0 ? '' : lines.slice(first, last + 1).join('\n')
}

function rawText({ children }: PageElement): string {
  return children.map((child) => (typeof child === 'string' ? child : child.tag === 'br' ? '\n' : rawText(child))).join('')
}

/** Writes the children of an element into lines of their own. */
function innerLines(element: PageElement, { options, left }: Writer): readonly string[] {
  const inner: Writer = { options, lines: [], left }
  writeChildren(element, inner)
  return tidy(inner.lines.join('\n')).split('\n')
}

function writeQuote(element: PageElement, writer: Writer): void {
  push(writer, '')
  for (const line of innerLines(element, writer)) push(writer, line === '' ? '>' : `> ${line}`)
  push(writer, '')
}

function writeList(list: PageElement, writer: Writer): void {
  let number = 1
  push(writer, '')
  for (const item of list.children) {
    if (typeof item === 'string' || isLeftOut(item, writer.options)) continue
    const mark = list.tag === 'ol' ? `${number++}. ` : '- '
    const lines = innerLines(item, writer).filter((line) => line !== '')
    for (const [index, line] of lines.entries()) push(writer, (index === 0 ? mark : ' '.repeat(mark.length)) + line)
  }
  push(writer, '')
}

/**
 * Writes a table with pipes. A table with a single column, or with another table in it, is used for layout: only its content is written.
 */
function writeTable(table: PageElement, writer: Writer): void {
  const rows = rowsOf(table, [])
  const cells = rows.map((row) => row.children.filter((cell): cell is PageElement => typeof cell !== 'string' && isCell(cell)))
  const columns = cells.reduce((most, row) => Math.max(most, row.length), 0)
  if (columns < 2 || cells.some((row) => row.some(hasTable))) writeChildren(table, writer)
  else writeRows(cells, columns, writer)
}

function writeRows(rows: readonly (readonly PageElement[])[], columns: number, writer: Writer): void {
  push(writer, '')
  for (const [index, row] of rows.entries()) {
    const texts = row.map((cell) => inlineText(cell, writer).replaceAll('\n', ' ').replaceAll('|', '\\|'))
    push(writer, `| ${texts.join(' | ')} |`)
    if (index === 0) push(writer, `|${' --- |'.repeat(Math.min(columns, 100))}`)
  }
  push(writer, '')
}

const isCell = ({ tag }: PageElement) => tag === 'td' || tag === 'th'
const hasTable = ({ children }: PageElement): boolean =>
  children.some((child) => typeof child !== 'string' && (child.tag === 'table' || hasTable(child)))

function rowsOf(parent: PageElement, rows: PageElement[]): readonly PageElement[] {
  for (const child of parent.children) {
    if (typeof child === 'string') continue
    if (child.tag === 'tr') rows.push(child)
    else if (child.tag === 'tbody' || child.tag === 'thead' || child.tag === 'tfoot') rowsOf(child, rows)
  }
  return rows
}

const inlineText = (element: PageElement, writer: Writer) => inlineOf(element.children, writer)

/** The text of inline content, with line breaks only where the page has them. */
function inlineOf(children: readonly (PageElement | string)[], writer: Writer): string {
  const parts: string[] = []
  writeInline(children, writer, parts)
  const text = parts.join('').trim() // `writeInline` has turned all other white space into spaces
  const spaced = text.includes('  ') ? text.replace(/ {2,}/g, ' ') : text
  return spaced.includes('\n') ? spaced.replace(/ ?\n ?/g, '\n') : spaced
}

function writeInline(children: readonly (PageElement | string)[], writer: Writer, parts: string[]): void {
  for (const child of children) {
    if (typeof child === 'string') parts.push(child.replace(/\s+/g, ' '))
    else if (!isLeftOut(child, writer.options)) writeInlineElement(child, writer, parts)
  }
}

function writeInlineElement(element: PageElement, writer: Writer, parts: string[]): void {
  const { tag, children } = element
  if (tag === 'br') parts.push('\n')
  else if (tag === 'img') parts.push(image(element, writer.options))
  else if (tag === 'code' || tag === 'kbd' || tag === 'samp') parts.push(codeSpan(rawText(element)))
  else if (tag === 'a') parts.push(link(element, inlineOf(children, writer), writer.options))
  else if (tag === 'b' || tag === 'strong') parts.push(emphasised('**', inlineOf(children, writer)))
  else if (tag === 'i' || tag === 'em') parts.push(emphasised('*', inlineOf(children, writer)))
  else if (tag === 'del' || tag === 's') parts.push(emphasised('~~', inlineOf(children, writer)))
  else {
    const isBlock = isBlockTag(tag)
    if (isBlock) parts.push(' ')
    writeInline(children, writer, parts)
    if (isBlock) parts.push(' ')
  }
}

const emphasised = (mark: string, text: string) => (text === '' ? '' : `${mark}${text}${mark}`)

function codeSpan(text: string): string {
  const code = text.replace(/\s+/g, ' ').trim()
  if (code === '') return ''
  return code.includes('`') ? `\`\` ${code} \`\`` : `\`${code}\``
}

function link({ href }: PageElement, text: string, { base }: MarkdownOptions): string {
  const url = absoluteUrl(href, base)
  return text === '' || url === undefined ? text : `[${text.replaceAll('\n', ' ')}](${url})`
}

/** An image without a description is left out, because its address alone tells the reader nothing. */
function image({ alt, href }: PageElement, { base }: MarkdownOptions): string {
  const description = (alt ?? '').replace(/\s+/g, ' ').trim().slice(0, 500)
  const url = absoluteUrl(href, base)
  return description === '' || url === undefined ? '' : `![${description}](${url})`
}
