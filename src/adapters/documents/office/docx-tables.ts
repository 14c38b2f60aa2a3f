import type { TableCell as DocxCell, Paragraph, Table, TableRow } from 'docx'
import type { DocumentBlock, TableCell } from '../structure/document.ts'
import type { DocxContext } from './docx-text.ts'

type TableBlock = Extract<DocumentBlock, { kind: 'table' }>
type Children = readonly (Paragraph | Table)[]

const lineColour = 'C9D1DC'

/** A table over the whole width. Its header rows are repeated on every page. */
export async function tableOf(
  { rows }: TableBlock,
  context: DocxContext,
  fileChildren: (blocks: readonly DocumentBlock[], context: DocxContext) => Promise<Children>,
): Promise<Table> {
  const { docx } = context
  const columns = Math.max(1, ...rows.map(({ cells }) => cells.reduce((sum, cell) => sum + cell.columns, 0)))
  const inner = { ...context, width: context.width / columns }
  const line = { style: docx.BorderStyle.SINGLE, size: 4, color: lineColour }
  const cellOf = async (cell: TableCell) => {
    const children = await fileChildren(withLook(cell), inner)
    const fill = cell.look.background ?? (cell.header ? 'E6ECF4' : undefined)
    return new docx.TableCell({
      children: children.length === 0 ? [new docx.Paragraph('')] : [...children],
      ...(cell.columns > 1 && { columnSpan: cell.columns }),
      ...(cell.rows > 1 && { rowSpan: cell.rows }),
      ...(fill !== undefined && { shading: { type: docx.ShadingType.CLEAR, fill } }),
      margins: { top: 50, bottom: 30, left: 110, right: 110 },
    })
  }
  // The cells are converted one after the other, because footnotes get their numbers in the order of conversion.
  const tableRows: TableRow[] = []
  for (const { header, cells } of rows) {
    const made: DocxCell[] = []
    for (const cell of cells) made.push(await cellOf(cell))
    tableRows.push(new docx.TableRow({ ...(header && { tableHeader: true }), cantSplit: true, children: made }))
  }
  return new docx.Table({
    width: { size: 100, type: docx.WidthType.PERCENTAGE },
    borders: { top: line, bottom: line, left: line, right: line, insideHorizontal: line, insideVertical: line },
    rows: tableRows,
  })
}

/** The blocks of a cell, with the alignment of the cell. The text of a header cell is bold. */
function withLook({ blocks, header, look }: TableCell): readonly DocumentBlock[] {
  return blocks.map((block) =>
    block.kind === 'paragraph'
      ? {
          ...block,
          look: { ...look, ...block.look },
          content: block.content.map((part) => (header && part.kind === 'text' ? { ...part, bold: true as const } : part)),
        }
      : block,
  )
}
