import { type Chart, type ChartType, chartTypes, type DocumentBlock, type TableCell, type TableRow } from './document.ts'
import { elementsBelow, type HtmlElement, type HtmlNode, isElement, textOf } from './html.ts'
import { readInlines } from './read-inlines.ts'
import { parseColour, stylesOf } from './styles.ts'

const maxSpan = 50

/** Reads a table. Rows in `thead`, and rows with `th` cells only, are header rows. */
export function readTable(table: HtmlElement, readBlocks: (nodes: readonly HtmlNode[]) => readonly DocumentBlock[]): DocumentBlock {
  const caption = table.children.find((child) => isElement(child, 'caption'))
  const rows = rowsOf(table).map(({ element, inHead }): TableRow => {
    const cells = cellsOf(element)
    return {
      header: inHead || (cells.length > 0 && cells.every(({ name }) => name === 'th')),
      cells: cells.map((cell): TableCell => {
        const { attributes, children, name } = cell
        return {
          header: inHead || name === 'th',
          blocks: readBlocks(children),
          columns: spanOf(attributes.colspan),
          rows: spanOf(attributes.rowspan),
          look: cellLook(cell),
        }
      }),
    }
  })
  return { kind: 'table', rows, caption: isElement(caption) ? readInlines(caption.children) : [] }
}

function cellLook(cell: HtmlElement): TableCell['look'] {
  const styles = stylesOf(cell)
  const align = styles.get('text-align') ?? cell.attributes.align
  const background = parseColour(styles.get('background-color') ?? styles.get('background'))
  return {
    ...((align === 'center' || align === 'right' || align === 'left') && { align }),
    ...(background !== undefined && { background }),
  }
}

function spanOf(value: string | undefined): number {
  const span = Number.parseInt(value ?? '1', 10)
  return Number.isSafeInteger(span) && span > 1 ? Math.min(span, maxSpan) : 1
}

function rowsOf(table: HtmlElement): readonly { readonly element: HtmlElement; readonly inHead: boolean }[] {
  return table.children.flatMap((child) => {
    if (isElement(child, 'tr')) return [{ element: child, inHead: false }]
    if (!isElement(child, 'thead', 'tbody', 'tfoot')) return []
    const inHead = child.name === 'thead'
    return child.children.filter((row) => isElement(row, 'tr')).map((element) => ({ element: element as HtmlElement, inHead }))
  })
}

const cellsOf = (row: HtmlElement): readonly HtmlElement[] =>
  row.children.filter((cell): cell is HtmlElement => isElement(cell, 'td', 'th'))

/** The chart that a table with the attribute `data-chart` asks for. Undefined when the table has no numbers to draw. */
export function readChart(table: HtmlElement): DocumentBlock | undefined {
  const type = table.attributes['data-chart']?.trim().toLowerCase()
  if (type === undefined) return undefined
  const chart = chartOf(table, chartTypes.find((known) => known === type) ?? 'bar')
  return chart && { kind: 'chart', chart }
}

function chartOf(table: HtmlElement, type: ChartType): Chart | undefined {
  const [head, ...rows] = rowsOf(table).map(({ element }) => cellsOf(element).map((cell) => textOf(cell).trim()))
  const [, ...names] = head ?? []
  const title = table.attributes['data-title'] ?? captionText(table)
  const labels = rows.map(([label = '']) => label)
  const all = names.map((name, index) => ({ name, values: rows.map((row) => parseNumber(row[index + 1] ?? '')) }))
  const series = all.flatMap(({ name, values }) => (values.some(Number.isNaN) ? [] : [{ name, values }]))
  return labels.length === 0 || series.length === 0 ? undefined : { type, title, labels, series }
}

function captionText(table: HtmlElement): string {
  const caption = [...elementsBelow(table)].find(({ name }) => name === 'caption')
  return caption ? textOf(caption).trim() : ''
}

/** Reads a number such as `1,234.5`, `12 %`, `$ 3` or `−4`. NaN for other texts. */
function parseNumber(text: string): number {
  const digits = text.replace(/[\s,'’%$€£¥]/gu, '').replace(/^[−–]/u, '-')
  return /^[-+]?\d{1,15}(?:\.\d{1,15})?$/.test(digits) ? Number(digits) : Number.NaN
}
