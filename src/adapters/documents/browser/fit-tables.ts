import type { Page } from 'playwright-core'

/**
 * Makes tables with many columns or very long words narrow enough for the page. First, very long words may break. If a table is still wider
 * than the page, its text gets smaller. If that is not enough, any word may break. Without these steps, the browser would print the whole
 * document smaller. `width` is the width between the margins of the paper in pixels, if the page will be printed.
 */
export const fitTables = (page: Page, width?: number): Promise<void> => page.evaluate(fitAll, width)

/** Styles of tables that were made narrower. */
export const fittedStyle = `
table.fitted th,table.fitted td{padding:.3em .35em}
table th.long,table td.long{overflow-wrap:anywhere;min-width:8em}
table.broken th,table.broken td{overflow-wrap:anywhere;min-width:0}
`

interface TableElement {
  readonly offsetWidth: number
  readonly textContent: string | null
  readonly rows: { readonly [index: number]: { readonly cells: { readonly length: number } } }
  querySelectorAll(selector: 'th,td'): Iterable<Pick<TableElement, 'textContent' | 'classList'>>
  readonly parentElement: { readonly clientWidth: number } | null
  readonly classList: { add(name: string): void }
  readonly style: { fontSize: string }
}
interface PageScope {
  readonly document: {
    readonly body: { readonly style: { width: string } } | null
    querySelectorAll(selector: 'table'): Iterable<TableElement>
  }
}

/** Runs in the page. */
function fitAll(width: number | undefined): void {
  const { document } = globalThis as unknown as PageScope
  const hasLongWord = ({ textContent }: Pick<TableElement, 'textContent'>) =>
    (textContent ?? '')
      .slice(0, 100_000)
      .split(/\s/)
      .some((word) => word.length > 20)
  const columnsOf = (table: TableElement) => table.rows[0]?.cells.length ?? 0
  const wide = [...document.querySelectorAll('table')].filter((table) => columnsOf(table) > 4 || hasLongWord(table))
  const style = document.body?.style
  if (wide.length === 0 || !style) return
  const before = style.width
  if (width !== undefined) style.width = `${width}px`
  const shrink = (table: TableElement, size: string) => {
    table.classList.add('fitted')
    table.style.fontSize = size
  }
  for (const table of wide) {
    const isTooWide = () => table.offsetWidth > (table.parentElement?.clientWidth ?? 0) + 1
    for (const cell of table.querySelectorAll('th,td')) if (hasLongWord(cell)) cell.classList.add('long')
    if (columnsOf(table) > 6) shrink(table, '8.6pt')
    for (const size of ['8.6pt', '7.6pt', '6.8pt']) if (isTooWide()) shrink(table, size)
    if (isTooWide()) table.classList.add('broken')
  }
  style.width = before
}
