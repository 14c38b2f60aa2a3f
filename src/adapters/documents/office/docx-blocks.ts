import type { Paragraph, ParagraphChild, Table } from 'docx'
import type { DocumentBlock, Inline } from '../structure/document.ts'
import { picture } from './docx-pictures.ts'
import { tableOf } from './docx-tables.ts'
import { anchorName, codeFont, type DocxContext, missingText, paragraphChildren, paragraphOptions } from './docx-text.ts'

/** The position of a block: how many lists it is nested in, and whether it is in a quote or in a cell of a table. */
interface Position {
  readonly listDepth: number
  readonly quoted: boolean
  readonly inCell: boolean
}

const outside: Position = { listDepth: 0, quoted: false, inCell: false }

/** Converts blocks to paragraphs and tables of a Word document. */
export async function fileChildren(
  blocks: readonly DocumentBlock[],
  context: DocxContext,
  position: Position = outside,
): Promise<readonly (Paragraph | Table)[]> {
  const children: (Paragraph | Table)[] = []
  for (const block of blocks) children.push(...(await blockChildren(block, context, position)))
  return children
}

async function blockChildren(block: DocumentBlock, context: DocxContext, position: Position): Promise<readonly (Paragraph | Table)[]> {
  const { docx } = context
  switch (block.kind) {
    case 'heading': {
      const children = await paragraphChildren(block.content, block.look, context)
      const heading = headings[Math.min(block.level, 6) - 1] ?? 'HEADING_6'
      const marked = block.anchor === undefined ? children : [new docx.Bookmark({ id: anchorName(block.anchor), children: [...children] })]
      return [
        new docx.Paragraph({
          heading: docx.HeadingLevel[heading],
          keepNext: true,
          children: marked,
          ...paragraphOptions(block.content, block.look, context),
        }),
      ]
    }
    case 'paragraph':
      return [await paragraph(block.content, block, context, position)]
    case 'list':
      return listChildren(block, context, position)
    case 'table': {
      const table = await tableOf(block, context, (blocks, inner) => fileChildren(blocks, inner, { ...outside, inCell: true }))
      return [...(await captionOf(block.caption, context)), table, spacer(context)]
    }
    case 'chart':
      return [centred(new docx.TextRun(context.addChart(block.chart)), context)]
    case 'code':
      return [codeParagraph(block.text, context)]
    case 'diagram': {
      const image = await context.drawDiagram(block.source)
      return [image ? centred(picture(image, 'diagram', context, context.width), context) : codeParagraph(block.source, context)]
    }
    case 'quote':
      return fileChildren(block.blocks, context, { ...position, quoted: true })
    case 'callout':
      return [await calloutTable(block, context), spacer(context)]
    case 'columns':
      return fileChildren(block.columns.flat(), context, position) // a page is too narrow for columns
    case 'image': {
      const image = await context.images.read(block.image)
      const child = image
        ? picture(image, block.image.alt, context, context.width)
        : new docx.TextRun({ text: missingText(block.image.alt), italics: true })
      return [centred(child, context), ...(await captionOf(block.caption, context))]
    }
    case 'rule':
      return [new docx.Paragraph({ border: { bottom: { style: docx.BorderStyle.SINGLE, size: 6, color: 'B8C0CC', space: 1 } } })]
    case 'notes':
      return [] // for speakers only
    case 'slide':
      return fileChildren(block.blocks, context, position)
    default:
      return block satisfies never
  }
}

const headings = ['HEADING_1', 'HEADING_2', 'HEADING_3', 'HEADING_4', 'HEADING_5', 'HEADING_6'] as const

async function paragraph(
  content: readonly Inline[],
  { look }: Extract<DocumentBlock, { kind: 'paragraph' }>,
  context: DocxContext,
  { listDepth, quoted, inCell }: Position,
): Promise<Paragraph> {
  const indent = listDepth > 0 ? { indent: { left: 720 * listDepth } } : {}
  return new context.docx.Paragraph({
    children: [...(await paragraphChildren(content, look, context))],
    ...(quoted && { style: 'Quote' }),
    ...(inCell && { spacing: { after: 0 } }),
    ...indent,
    ...paragraphOptions(content, look, context),
  })
}

async function listChildren(
  { items, ordered, start }: Extract<DocumentBlock, { kind: 'list' }>,
  context: DocxContext,
  position: Position,
): Promise<readonly (Paragraph | Table)[]> {
  const level = Math.min(position.listDepth, 8)
  const numbering = ordered ? { ...context.newList(start), level } : { reference: 'bullets', level }
  const inner = { ...position, listDepth: position.listDepth + 1 }
  const children: (Paragraph | Table)[] = []
  for (const item of items) {
    const [first, ...rest] = item
    const line = first?.kind === 'paragraph' ? first : undefined
    const content = line?.content ?? []
    const look = line?.look ?? {}
    const runs = await paragraphChildren(content, look, context)
    children.push(
      new context.docx.Paragraph({ numbering, children: [...runs], spacing: { after: 60 }, ...paragraphOptions(content, look, context) }),
    )
    children.push(...(await fileChildren(line ? rest : item, context, inner)))
  }
  return children
}

async function captionOf(caption: readonly Inline[], context: DocxContext): Promise<readonly Paragraph[]> {
  if (caption.length === 0) return []
  return [new context.docx.Paragraph({ style: 'Caption', children: [...(await paragraphChildren(caption, {}, context))] })]
}

const centred = (child: ParagraphChild, { docx }: DocxContext): Paragraph =>
  new docx.Paragraph({
    alignment: docx.AlignmentType.CENTER,
    spacing: { before: 120, after: 120, line: 240, lineRule: docx.LineRuleType.AUTO },
    children: [child],
  })

/** An empty line after a table, because Word joins two tables that have no paragraph between them. */
const spacer = ({ docx }: DocxContext) => new docx.Paragraph({ spacing: { after: 60, line: 120 } })

/** Code as one paragraph with line breaks, so that its background has no gaps. */
function codeParagraph(text: string, { docx }: DocxContext): Paragraph {
  const lines = text.split('\n')
  return new docx.Paragraph({
    style: 'Code',
    shading: { type: docx.ShadingType.CLEAR, fill: 'F2F4F7' },
    children: lines.map((line, index) => new docx.TextRun({ text: line, font: codeFont, ...(index > 0 && { break: 1 }) })),
  })
}

async function calloutTable({ blocks, look }: Extract<DocumentBlock, { kind: 'callout' }>, context: DocxContext): Promise<Table> {
  const { docx } = context
  const none = { style: docx.BorderStyle.NONE, size: 0, color: 'auto' }
  const children = await fileChildren(blocks, context)
  return new docx.Table({
    width: { size: 100, type: docx.WidthType.PERCENTAGE },
    rows: [
      new docx.TableRow({
        children: [
          new docx.TableCell({
            children: children.length === 0 ? [new docx.Paragraph('')] : [...children],
            shading: { type: docx.ShadingType.CLEAR, fill: look.background ?? 'EEF3F9' },
            margins: { top: 100, bottom: 60, left: 180, right: 180 },
            borders: { top: none, bottom: none, right: none, left: { style: docx.BorderStyle.SINGLE, size: 24, color: '1F5FA8' } },
          }),
        ],
      }),
    ],
  })
}
