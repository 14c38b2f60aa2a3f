import { type Decimal, decimalOf } from '../../../../offline/table/decimal.ts'
import type { Row, Table } from '../../../../offline/table/table.ts'
import { wordsOf } from '../../../../offline/text/words.ts'

/** A column and what its cells are. */
export interface Column {
  readonly name: string
  readonly index: number
  readonly kind: 'number' | 'date' | 'text' // what only names rows is text
  readonly stems: readonly string[]
}

const isDate = (cell: string) => /^\d{4}-\d{2}(?:-\d{2})?(?:[T ].*)?$/.test(cell)

export function columnsOf({ columns, rows }: Table): readonly Column[] {
  return columns.map((name, index) => {
    const cells = rows.map((row) => cellOf(row, index)).filter((cell) => cell !== '')
    const all = (test: (cell: string) => boolean) => cells.length > 0 && cells.every(test)
    const numeric = all((cell) => decimalOf(cell) !== undefined) && !isIdentifier(name, cells)
    const kind = numeric ? 'number' : all(isDate) ? 'date' : 'text'
    return { name, index, kind, stems: wordsOf(name.replaceAll('_', ' ')).map(({ stem }) => stem) }
  })
}

/** Numbers that name rows: nobody wants their sum. */
function isIdentifier(name: string, cells: readonly string[]): boolean {
  if (!cells.every((cell) => /^\d+$/.test(cell)) || new Set(cells).size < cells.length) return false
  const counts = cells.length > 2 && cells.every((cell, index) => index === 0 || BigInt(cell) === BigInt(cells[index - 1] as string) + 1n)
  return counts || /(?:^|[\s_-])(?:id|no|nr|number|nummer|key|code)$/i.test(name)
}

export const cellOf = ({ cells }: Row, index: number): string => (cells[index] ?? '').trim()

export function numbersIn(rows: readonly Row[], { index }: Column): readonly Decimal[] {
  return rows.flatMap((row) => decimalOf(cellOf(row, index)) ?? [])
}
