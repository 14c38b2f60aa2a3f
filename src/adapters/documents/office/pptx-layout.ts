import { type DocumentBlock, type Inline, plainText, type TableRow } from '../structure/document.ts'

/*
 * Estimates how high blocks are on a slide. A presentation program does not move blocks to the next slide, so the place of each block must
 * be computed.
 */

/** The size of text in points, at a scale. The other blocks use the same scale. With a smaller scale, more fits on a slide. */
export const textSize = (scale: number): number => 18 * scale

/** The height of an image, a chart or a diagram, in inches. */
export const pictureHeight = 4.2

/** An estimate of the height of a block in inches, if it is `width` inches wide. */
export function heightOf(block: DocumentBlock, width: number, scale: number): number {
  const size = textSize(scale)
  switch (block.kind) {
    case 'paragraph':
      return linesHeight(block.content, width, block.look.size ?? size) + (size * 0.4) / 72
    case 'heading':
      return linesHeight(block.content, width, size * 1.15) + (size * 0.4) / 72
    case 'list':
      return sum(block.items.map((item) => sum(item.map((inner) => heightOf(inner, width - 0.4, scale)))))
    case 'quote':
      return sum(block.blocks.map((inner) => heightOf(inner, width, scale)))
    case 'callout':
      return sum(block.blocks.map((inner) => heightOf(inner, width - 0.4, scale))) + 0.3
    case 'table':
      return sum(block.rows.map((row) => rowHeight(row, width, scale))) + (block.caption.length > 0 ? 0.35 : 0)
    case 'code':
    case 'diagram': {
      const lines = (block.kind === 'code' ? block.text : block.source).split('\n')
      return (lines.length * size * 0.75 * 1.25) / 72 + 0.3
    }
    case 'chart':
    case 'image':
      return pictureHeight * scale + 0.2
    case 'columns': {
      const inner = columnWidth(block.columns.length, width)
      return Math.max(0, ...block.columns.map((column) => sum(column.map((each) => heightOf(each, inner, scale)))))
    }
    case 'slide':
      return sum(block.blocks.map((inner) => heightOf(inner, width, scale)))
    case 'rule':
    case 'notes':
      return 0
    default:
      return block satisfies never
  }
}

/** The space between two columns, in inches. */
export const columnGap = 0.4

export const columnWidth = (count: number, width: number): number => (width - columnGap * (count - 1)) / count

/** The height of a row of a table. Cells have smaller text and margins. */
export function rowHeight({ cells }: TableRow, width: number, scale: number): number {
  const size = tableTextSize(scale)
  const columns = Math.max(1, sum(cells.map((cell) => cell.columns)))
  const heights = cells.map((cell) => {
    const inner = (width / columns) * cell.columns - 0.2
    return sum(
      cell.blocks.map((block) => ('content' in block ? linesHeight(block.content, inner, size) : heightOf(block, inner, scale * 0.75))),
    )
  })
  return Math.max((size * 1.25) / 72, ...heights) + 0.14
}

export const tableTextSize = (scale: number): number => 14 * scale

/** The height of text in lines of `width` inches. */
function linesHeight(content: readonly Inline[], width: number, size: number): number {
  const perLine = Math.max(1, (width * 72) / (size * 0.5))
  const lines = plainText(content)
    .split('\n')
    .map((line) => Math.max(1, Math.ceil(textWidth(line) / perLine)))
  return (sum(lines) * size * 1.22) / 72
}

/** The width of a text, in widths of a Latin letter. Chinese, Japanese and Korean characters are twice as wide. */
function textWidth(text: string): number {
  let width = 0
  for (const character of text) width += (character.codePointAt(0) ?? 0) >= 0x2e80 ? 2 : 1
  return width
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Groups blocks so that each group fits on a slide. Tables, lists and code are divided if they do not fit. */
export function paginate(
  blocks: readonly DocumentBlock[],
  width: number,
  height: number,
  scale: number,
): readonly (readonly DocumentBlock[])[] {
  const pages: DocumentBlock[][] = [[]]
  let left = height
  const queue = [...blocks]
  for (let block = queue.shift(); block !== undefined; block = queue.shift()) {
    const page = pages.at(-1) as DocumentBlock[] // there is always a page
    const needed = heightOf(block, width, scale)
    if (needed <= left) {
      page.push(block)
      left -= needed
      continue
    }
    const parts = divide(block, width, left, scale) ?? (page.length === 0 ? divide(block, width, height, scale) : undefined)
    if (parts) {
      page.push(parts[0])
      queue.unshift(parts[1])
    } else if (page.length === 0) {
      page.push(block) // the block fits on no slide, so it is shown as far as possible
    } else queue.unshift(block)
    pages.push([])
    left = height
  }
  return pages.filter((page, index) => index === 0 || page.length > 0)
}

/** Divides a block so that the first part is at most `left` inches high. Undefined when it can not be divided there. */
function divide(block: DocumentBlock, width: number, left: number, scale: number): readonly [DocumentBlock, DocumentBlock] | undefined {
  switch (block.kind) {
    case 'table': {
      const head = block.rows.filter(({ header }) => header)
      const rows = block.rows.filter(({ header }) => !header)
      const room = left - sum(head.map((row) => rowHeight(row, width, scale)))
      const count = fitting(
        rows.map((row) => rowHeight(row, width, scale)),
        room,
      )
      if (count < 1 || count === rows.length) return undefined
      return [
        { ...block, rows: [...head, ...rows.slice(0, count)] },
        { ...block, rows: [...head, ...rows.slice(count)], caption: [] },
      ]
    }
    case 'list': {
      const count = fitting(
        block.items.map((item) => sum(item.map((inner) => heightOf(inner, width - 0.4, scale)))),
        left,
      )
      if (count < 1 || count === block.items.length) return undefined
      return [
        { ...block, items: block.items.slice(0, count) },
        { ...block, items: block.items.slice(count), start: block.start + count },
      ]
    }
    case 'code': {
      const lines = block.text.split('\n')
      const count = Math.floor((left - 0.3) / ((textSize(scale) * 0.75 * 1.25) / 72))
      if (count < 3 || count >= lines.length) return undefined
      return [
        { ...block, text: lines.slice(0, count).join('\n') },
        { ...block, text: lines.slice(count).join('\n') },
      ]
    }
    default:
      return undefined
  }
}

/** How many of the first values have a sum of at most `room`. */
function fitting(heights: readonly number[], room: number): number {
  let used = 0
  for (const [index, height] of heights.entries()) {
    used += height
    if (used > room) return index
  }
  return heights.length
}
