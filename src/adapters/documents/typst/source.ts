import { linkAddress, type SourceNumbers } from '../structure/citations.ts'
import { type DocumentBlock, type DocumentImage, type Inline, isRightToLeft, type Look, plainText } from '../structure/document.ts'
import { drawChart } from '../structure/draw-chart.ts'
import { tableSource } from './table-source.ts'

/** Values that `typstSource` needs besides the blocks. */
export interface SourceContext {
  readonly citations: SourceNumbers
  /** The width of the text in points. */
  readonly width: number
  /** The file name of an image and its size in pixels. Undefined when there is no such image. */
  imageFile(image: DocumentImage): { readonly name: string; readonly width: number; readonly height: number } | undefined
}

/** How a document looks: the same sizes and colours as a PDF of the browser, in the fonts that Typst contains. */
const preamble = `
#set page(paper: "a4", margin: (top: 25mm, right: 20mm, bottom: 30mm, left: 20mm), numbering: "1 / 1")
#set text(size: 10.5pt, fill: rgb("1b2733"), font: ("Libertinus Serif", "Noto Sans CJK SC", "WenQuanYi Micro Hei", "Droid Sans Fallback", "DejaVu Sans"), fallback: true)
#set par(leading: 0.68em, spacing: 1em)
#show heading: set block(above: 1.4em, below: 0.7em)
#show heading.where(level: 1): set text(size: 22pt, fill: rgb("14395f"))
#show heading.where(level: 2): set text(size: 15.5pt, fill: rgb("14395f"))
#show heading.where(level: 3): set text(size: 12.5pt)
#show link: set text(fill: rgb("1f5fa8"))
#show raw: set text(font: ("DejaVu Sans Mono", "Noto Sans CJK SC", "Droid Sans Fallback"), size: 8.6pt)
#show raw.where(block: true): block.with(width: 100%, fill: rgb("f5f7f9"), stroke: rgb("dde3ea"), radius: 4pt, inset: 8pt)
#set table(stroke: (x: none, y: 0.7pt + rgb("d5dce4")), inset: (x: 7pt, y: 4pt))
#show table: set text(size: 9.6pt)
#show figure.caption: set text(size: 9pt, fill: rgb("46525f"))
`

/** The Typst source of a document. All texts are string literals, so no text is read as code. */
export function typstSource(blocks: readonly DocumentBlock[], options: SourceContext & { readonly title?: string | undefined }): string {
  const title = options.title === undefined ? '' : `#set document(title: ${literal(options.title)})\n`
  return `${title}${preamble}\n#${blocksSource(blocks, options)}\n`
}

/** A string literal. Control characters are left out, because they have no visible form. */
function literal(text: string): string {
  const escaped = text
    .replace(/\r\n?/g, '\n')
    .replace(/(?!\n|\t)\p{Cc}/gu, '')
    .replace(/[\\"]/g, '\\$&')
  return `"${escaped.replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`
}

/** A block of code that gives the contents one after the other. */
const sequence = (parts: readonly string[]): string => (parts.length === 0 ? '[]' : `{\n${parts.join('\n')}\n}`)

const blocksSource = (blocks: readonly DocumentBlock[], context: SourceContext): string =>
  sequence(blocks.flatMap((block) => blockSource(block, context) ?? []))

function blockSource(block: DocumentBlock, context: SourceContext): string | undefined {
  const nested = (blocks: readonly DocumentBlock[]) => blocksSource(blocks, context)
  switch (block.kind) {
    case 'heading': {
      const level = Math.min(Math.max(block.level, 1), 6)
      return withLook(block.look, block.content, `heading(level: ${level}, ${inlineSource(block.content, context)})`)
    }
    case 'paragraph':
      return `${withLook(block.look, block.content, `par(${inlineSource(block.content, context)})`)}`
    case 'list': {
      const items = block.items.map(nested).join(', ')
      return block.ordered ? `enum(start: ${Math.max(0, Math.trunc(block.start))}, ${items})` : `list(${items})`
    }
    case 'table':
      return tableSource(block, {
        blocks: (blocks, columns) => blocksSource(blocks, { ...context, width: context.width / columns }),
        caption: (content) => inlineSource(content, context),
      })
    case 'chart':
      return `align(center, image(bytes(${literal(drawChart(block.chart).svg)}), format: "svg", width: 90%, alt: ${literal(block.chart.title)}))`
    case 'code':
      return rawSource(block.text, block.language)
    case 'diagram':
      return rawSource(block.source, '')
    case 'quote':
      return `quote(block: true, ${nested(block.blocks)})`
    case 'callout': {
      const fill = block.look.background ?? 'eef3f9'
      return `block(width: 100%, fill: rgb("${fill}"), stroke: (left: 4pt + rgb("1f5fa8")), inset: 10pt, ${nested(block.blocks)})`
    }
    case 'columns':
      return `grid(columns: (1fr,) * ${Math.max(1, block.columns.length)}, gutter: 1.6em, ${block.columns.map(nested).join(', ')})`
    case 'image': {
      const picture = imageSource(block.image, context)
      const caption = plainText(block.caption).trim() === '' ? '' : `, caption: ${inlineSource(block.caption, context)}, supplement: none`
      return `figure(${picture}${caption})`
    }
    case 'rule':
      return 'line(length: 100%, stroke: 0.7pt + rgb("c9d1dc"))'
    case 'slide':
      return nested(block.blocks)
    case 'notes':
      return undefined // for speakers only
    default:
      return block satisfies never
  }
}

const rawSource = (text: string, language: string) => {
  const known = /^[a-z0-9+#-]{1,20}$/i.test(language) ? `lang: ${literal(language.toLowerCase())}, ` : ''
  return `raw(block: true, ${known}${literal(text)})`
}

/** The content with its style and its direction. The direction follows from the text, unless the author has set it. */
function withLook(look: Look, content: readonly Inline[], source: string): string {
  const rightToLeft = look.direction === undefined ? isRightToLeft(plainText(content)) : look.direction === 'rtl'
  const styles = [
    ...(look.colour === undefined ? [] : [`fill: rgb("${look.colour}")`]),
    ...(look.size === undefined ? [] : [`size: ${points(look.size)}`]),
    ...(rightToLeft ? ['dir: rtl'] : []),
  ]
  const styled = styles.length === 0 ? source : `text(${styles.join(', ')}, ${source})`
  const aligned = look.align ?? (rightToLeft ? 'right' : undefined)
  const placed = aligned === undefined ? styled : `align(${aligned}, ${styled})`
  return look.background === undefined ? placed : `block(width: 100%, inset: 4pt, fill: rgb("${look.background}"), ${placed})`
}

const points = (size: number) => `${Math.min(Math.max(size, 4), 96)}pt`

const inlineSource = (content: readonly Inline[], context: SourceContext): string =>
  sequence(content.flatMap((part) => partSource(part, context)))

function partSource(part: Inline, context: SourceContext): readonly string[] {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [textSource(part)]
    case 'break':
      return ['linebreak()']
    case 'image':
      return [`box(${imageSource(part.image, context)})`]
    case 'citation': {
      const numbers = context.citations.of(part.sids).map(({ number, url }) => {
        const address = linkAddress(url)
        return address === undefined ? literal(`${number}`) : `link(${literal(address)}, ${literal(`${number}`)})`
      })
      return numbers.length === 0 ? [] : [`super(${sequence(['"["', numbers.join('\n","\n'), '"]"'])})`]
    }
    default:
      return part satisfies never
  }
}

function textSource({ text, ...style }: Extract<Inline, { kind: 'text' }>): string {
  let source = style.code ? `raw(${literal(text)})` : literal(text)
  const styles = [
    ...(style.colour === undefined ? [] : [`fill: rgb("${style.colour}")`]),
    ...(style.size === undefined ? [] : [`size: ${points(style.size)}`]),
  ]
  if (styles.length > 0) source = `text(${styles.join(', ')}, ${source})`
  if (style.bold) source = `strong(${source})`
  if (style.italic) source = `emph(${source})`
  if (style.strike) source = `strike(${source})`
  if (style.underline) source = `underline(${source})`
  if (style.position === 'super') source = `super(${source})`
  if (style.position === 'sub') source = `sub(${source})`
  const address = linkAddress(style.link)
  return address === undefined ? source : `link(${literal(address)}, ${source})`
}

/** A pixel is 0.75 points. An image is at most as wide as the text, and at most 220 mm high. */
function imageSource(image: DocumentImage, context: SourceContext): string {
  const file = context.imageFile(image)
  if (!file) return literal(image.alt === '' ? '[image]' : `[${image.alt}]`)
  const scale = Math.min(0.75, context.width / file.width, 620 / file.height)
  const size = `width: ${(file.width * scale).toFixed(2)}pt, height: ${(file.height * scale).toFixed(2)}pt`
  return `image(${literal(file.name)}, ${size}, alt: ${literal(image.alt)})`
}
