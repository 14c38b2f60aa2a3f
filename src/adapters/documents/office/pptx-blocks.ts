import type PptxGenJS from 'pptxgenjs'
import type { Chart, DocumentBlock, Inline, TableCell } from '../structure/document.ts'
import { chartColours } from '../structure/draw-chart.ts'
import type { DrawDiagram } from './docx.ts'
import type { ImageReader, OfficeImage } from './images.ts'
import { columnGap, columnWidth, heightOf, sum, tableTextSize, textSize } from './pptx-layout.ts'
import { codeFont, paragraphRuns, type TextSetting, textRuns } from './pptx-text.ts'

/** Values that `placeBlocks` needs besides the blocks and their place. */
export interface SlideContext {
  readonly slide: PptxGenJS.default.Slide
  readonly images: ImageReader
  readonly drawDiagram: DrawDiagram
  readonly setting: TextSetting
  readonly scale: number
}

/** A place on a slide, in inches. */
export interface Place {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Places blocks below each other. Pictures take the space that is left. */
export async function placeBlocks(blocks: readonly DocumentBlock[], place: Place, context: SlideContext): Promise<void> {
  const groups = groupText(blocks)
  const heights = groups.map((group) => sum(group.map((block) => heightOf(block, place.width, context.scale))))
  const pictures = groups.filter(isPicture).length
  const left = Math.max(0, place.height - sum(heights))
  const end = place.y + place.height
  let { y } = place
  for (const [index, group] of groups.entries()) {
    const wanted = (heights[index] ?? 0) + (isPicture(group) ? left / pictures : 0)
    const height = Math.min(Math.max(0.3, end - y), wanted)
    await placeGroup(group, { ...place, y, height }, context)
    y += height
  }
}

const isPicture = ([block]: readonly DocumentBlock[]) => block?.kind === 'image' || block?.kind === 'chart' || block?.kind === 'diagram'

const isText = ({ kind }: DocumentBlock) => kind === 'paragraph' || kind === 'heading' || kind === 'list' || kind === 'quote'

/** Groups neighbouring text blocks, which become one box. Every other block is a group of its own. */
function groupText(blocks: readonly DocumentBlock[]): readonly (readonly DocumentBlock[])[] {
  const groups: DocumentBlock[][] = []
  for (const block of blocks) {
    const last = groups.at(-1)
    if (isText(block) && last?.every(isText)) last.push(block)
    else groups.push([block])
  }
  return groups
}

async function placeGroup(group: readonly DocumentBlock[], place: Place, context: SlideContext): Promise<void> {
  const [block] = group
  if (!block || isText(block)) {
    const setting = { ...context.setting, size: textSize(context.scale) }
    context.slide.addText([...textRuns(group, setting)], { ...boxOf(place), valign: 'top', margin: 0, fontSize: setting.size })
    return
  }
  await placeBlock(block, place, context)
}

const boxOf = ({ x, y, width, height }: Place) => ({ x, y, w: width, h: height })

async function placeBlock(block: DocumentBlock, place: Place, context: SlideContext): Promise<void> {
  const { slide, setting, scale } = context
  switch (block.kind) {
    case 'table':
      placeTable(block, place, context)
      return
    case 'chart':
      placeChart(block.chart, place, context)
      return
    case 'code':
      slide.addText([...textRuns([block], { ...setting, colour: '1B2733', size: textSize(scale) })], {
        ...boxOf(shrink(place)),
        fill: { color: 'F2F4F7' },
        fontFace: codeFont,
        valign: 'top',
        margin: 8,
      })
      return
    case 'diagram': {
      const image = await context.drawDiagram(block.source)
      if (image) placeImage(image, 'diagram', place, context)
      else await placeBlock({ kind: 'code', text: block.source, language: 'mermaid' }, place, context)
      return
    }
    case 'image': {
      const image = await context.images.read(block.image)
      const below = block.caption.length > 0 ? 0.35 : 0
      if (image) placeImage(image, block.image.alt, { ...place, height: place.height - below }, context)
      else if (block.image.alt !== '')
        slide.addText(`[${block.image.alt}]`, { ...boxOf(place), italic: true, fontSize: textSize(scale), color: setting.colour })
      if (below > 0) placeCaption(block.caption, { ...place, y: place.y + place.height - below, height: below }, context)
      return
    }
    case 'callout': {
      const colour = block.look.colour ?? '1B2733'
      const box = shrink(place)
      slide.addText([...textRuns(block.blocks, { ...setting, colour, size: textSize(scale) })], {
        ...boxOf(box),
        fill: { color: block.look.background ?? 'EEF3F9' },
        valign: 'middle',
        margin: 10,
      })
      slide.addShape('rect', { x: box.x, y: box.y, w: 0.06, h: box.height, fill: { color: '1F5FA8' }, line: { color: '1F5FA8', width: 0 } })
      return
    }
    case 'columns': {
      const width = columnWidth(block.columns.length, place.width)
      for (const [index, column] of block.columns.entries())
        await placeBlocks(column, { ...place, x: place.x + index * (width + columnGap), width }, context)
      return
    }
    case 'slide':
      await placeBlocks(block.blocks, place, context)
      return
    case 'paragraph':
    case 'heading':
    case 'list':
    case 'quote':
    case 'rule':
    case 'notes':
      return // `placeBlocks` places consecutive texts together, and a slide shows no rules and no notes
    default:
      block satisfies never
  }
}

function placeCaption(caption: readonly Inline[], place: Place, { slide, setting }: SlideContext): void {
  const runs = paragraphRuns(caption, { align: 'center' }, { italic: true }, { ...setting, size: 13 })
  slide.addText([...runs], { ...boxOf(place), margin: 0, valign: 'top' })
}

/** A place with a small space below. */
const shrink = (place: Place): Place => ({ ...place, height: Math.max(0.2, place.height - 0.12) })

function placeImage(image: OfficeImage, alt: string, place: Place, { slide }: SlideContext): void {
  const room = shrink(place)
  const scale = Math.min(room.width / image.width, room.height / image.height, 1 / 72)
  const [width, height] = [image.width * scale, image.height * scale]
  const mime = { png: 'image/png', jpg: 'image/jpeg', gif: 'image/gif', svg: 'image/svg+xml' }[image.type]
  const data = `${mime};base64,${Buffer.from(image.bytes).toString('base64')}`
  slide.addImage({ data, x: room.x + (room.width - width) / 2, y: room.y, w: width, h: height, altText: alt.slice(0, 250) })
}

/** A chart that the presentation program draws itself, so that its numbers can be edited. */
function placeChart({ type, title, labels, series }: Chart, place: Place, { slide }: SlideContext): void {
  const data = series.map(({ name, values }) => ({ name, labels: [...labels], values: [...values] }))
  const shown = type === 'pie' ? data.slice(0, 1) : data
  slide.addChart(type, shown, {
    ...boxOf(shrink(place)),
    chartColors: type === 'pie' ? chartColours.slice(0, Math.max(1, labels.length)) : chartColours.slice(0, shown.length),
    showTitle: title !== '',
    title: title === '' ? ' ' : title,
    titleFontSize: 16,
    titleColor: '1B2733',
    showLegend: type === 'pie' || shown.length > 1,
    legendPos: type === 'pie' ? 'r' : 't',
    legendFontSize: 12,
    catAxisLabelFontSize: 12,
    valAxisLabelFontSize: 12,
    valGridLine: { color: 'DDE3EA', size: 0.75 },
    ...(type === 'pie' && { showPercent: true, dataLabelColor: 'FFFFFF', dataLabelFontSize: 12 }),
    altText: [title, ...shown.map(({ name, values }) => `${name}: ${values.join(', ')}`)].join('. ').slice(0, 250),
  })
}

function placeTable(
  { rows, caption }: Extract<DocumentBlock, { kind: 'table' }>,
  place: Place,
  { slide, setting, scale }: SlideContext,
): void {
  const size = tableTextSize(scale)
  const top = caption.length > 0 ? 0.35 : 0
  if (top > 0)
    slide.addText([...paragraphRuns(caption, {}, { italic: true }, { ...setting, size: 13 })], { ...boxOf(place), h: 0.3, margin: 0 })
  const line = { type: 'solid' as const, pt: 0.75, color: 'C9D1DC' }
  const cellOf = (cell: TableCell) => {
    const fill = cell.look.background ?? (cell.header ? 'E6ECF4' : undefined)
    return {
      text: textRuns(withAlignment(cell), { ...setting, size, colour: '1B2733' }).map(({ text, options }) => ({
        text: text ?? '',
        options: { ...options, paraSpaceAfter: 0, ...(cell.header && { bold: true }) },
      })),
      options: {
        ...(cell.columns > 1 && { colspan: cell.columns }),
        ...(cell.rows > 1 && { rowspan: cell.rows }),
        ...(fill !== undefined && { fill: { color: fill } }),
        border: [line, line, line, line] as [typeof line, typeof line, typeof line, typeof line],
        valign: 'middle' as const,
        margin: [0.04, 0.08, 0.04, 0.08] as [number, number, number, number],
        fontSize: size,
      },
    }
  }
  if (rows.length === 0) return
  slide.addTable(
    rows.map(({ cells }) => cells.map(cellOf) as PptxGenJS.default.TableRow),
    { x: place.x, y: place.y + top, w: place.width, autoPage: false },
  )
}

const withAlignment = ({ blocks, look }: TableCell): readonly DocumentBlock[] =>
  blocks.map((block) => (block.kind === 'paragraph' ? { ...block, look: { ...look, ...block.look } } : block))
