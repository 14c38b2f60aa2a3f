import type { DocumentBlock, Inline, TableCell } from '../structure/document.ts'

type TableBlock = Extract<DocumentBlock, { kind: 'table' }>

/** A cell with its place in the grid of the table. */
interface PlacedCell {
  readonly cell: TableCell
  readonly column: number
  readonly row: number
  readonly columns: number
  readonly rows: number
}

/** Functions that make the Typst source of the cells and of the caption of a table. */
export interface TableContent {
  /** `columns` is the number of columns that share the width. */
  blocks(blocks: readonly DocumentBlock[], columns: number): string
  caption(content: readonly Inline[]): string
}

/** A table over the whole width. Its header rows are repeated on every page. */
export function tableSource({ rows, caption }: TableBlock, content: TableContent): string {
  const { cells, columns } = placeCells(rows.map((row) => row.cells))
  if (columns === 0) return '[]'
  const headerRows = countHeaderRows(rows, cells)
  const source = (placed: PlacedCell) => cellSource(placed, content.blocks(placed.cell.blocks, columns))
  const header = cells.filter(({ row }) => row < headerRows)
  const body = cells.filter(({ row }) => row >= headerRows)
  const parts = [
    ...(header.length === 0 ? [] : [`table.header(${header.map(source).join(', ')})`]),
    ...body.map(source),
    // Without this, Typst makes a table only as wide as its text.
    `columns: (1fr,) * ${columns}`,
  ]
  const table = `table(${parts.join(',\n')})`
  return caption.length === 0 ? table : `figure(${table}, caption: ${content.caption(caption)}, supplement: none)`
}

/** The header rows at the beginning. A header ends before a cell that reaches into the body. */
function countHeaderRows(rows: TableBlock['rows'], cells: readonly PlacedCell[]): number {
  const first = rows.findIndex(({ header }) => !header)
  const count = first === -1 ? 0 : first
  return cells.some(({ row, rows: height }) => row < count && row + height > count) ? 0 : count
}

/**
 * Gives every cell its place. Cells that span rows take places in the rows below, and the cells there move on to the next free column. The
 * span of a cell ends at the last row of the table, and before a column that another cell occupies.
 */
function placeCells(rows: readonly (readonly TableCell[])[]) {
  const taken = rows.map(() => new Set<number>())
  const cells: PlacedCell[] = []
  for (const [row, list] of rows.entries()) {
    let column = 0
    for (const cell of list) {
      while (taken[row]?.has(column)) column++
      const height = Math.min(cell.rows, rows.length - row)
      let width = 1
      while (width < cell.columns && !taken[row]?.has(column + width)) width++
      for (let down = 0; down < height; down++) for (let right = 0; right < width; right++) taken[row + down]?.add(column + right)
      cells.push({ cell, column, row, columns: width, rows: height })
      column += width
    }
  }
  return { cells, columns: Math.max(0, ...cells.map(({ column, columns }) => column + columns)) }
}

function cellSource({ cell, column, row, columns, rows }: PlacedCell, content: string): string {
  const { look, header } = cell
  const fill = look.background ?? (header ? 'e6ecf4' : undefined)
  const place = `x: ${column}, y: ${row}, colspan: ${columns}, rowspan: ${rows}`
  const style = `${fill === undefined ? '' : `, fill: rgb("${fill}")`}${look.align === undefined ? '' : `, align: ${look.align}`}`
  return `table.cell(${place}${style}, ${header ? `strong(${content})` : content})`
}
