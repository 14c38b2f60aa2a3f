import { wordsOf } from '../text/words.ts'
import { type Decimal, decimalOf } from './decimal.ts'

/** A CSV file: the names of its columns, and rows whose cells are texts. */
export interface Table {
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

export interface Row {
  readonly cells: readonly string[]
  /** The number of the row's first line in the file, from 1. */
  readonly line: number
  /** The number of the row, from 1. The header is not counted. */
  readonly number: number
  /** The text of the row in the file. */
  readonly raw: string
}

const delimiters = [',', ';', '\t', '|'] as const

/** Parses CSV (RFC 4180). It accepts four delimiters, short rows, empty lines and a byte order mark. Never throws. */
export function parseTable(text: string): Table {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text
  const records = recordsOf(body, delimiterOf(body))
  const [header, ...rest] = records
  const columns = (header?.cells ?? []).map((cell, index) => cell.trim() || `column ${index + 1}`)
  return { columns, rows: rest.map((record, index) => ({ ...record, number: index + 1 })) }
}

/** The delimiter that occurs most often in the first line. Delimiters in quotes are not counted. */
function delimiterOf(text: string): string {
  const line = (text.split('\n', 1)[0] ?? '').replace(/"[^"]*"/g, '')
  return delimiters.toSorted((a, b) => line.split(b).length - line.split(a).length)[0] ?? ','
}

function recordsOf(text: string, delimiter: string): readonly Omit<Row, 'number'>[] {
  const records: Omit<Row, 'number'>[] = []
  const closing = closingQuotes(text, delimiter)
  let [start, line] = [0, 1]
  while (start < text.length) {
    const { cells, end } = recordAt(text, start, delimiter, closing)
    const raw = text.slice(start, end).replace(/\r$/, '')
    if (raw.trim() !== '') records.push({ cells, line, raw })
    line += text.slice(start, end).split('\n').length
    start = end + 1
  }
  return records
}

/**
 * Reads the record that starts at index `start`, and returns its cells and the index of its end. A quote that is never closed is an
 * ordinary character.
 */
function recordAt(
  text: string,
  start: number,
  delimiter: string,
  closing: ReadonlyMap<number, number>,
): { readonly cells: readonly string[]; readonly end: number } {
  const cells: string[] = []
  let at = start
  for (;;) {
    const quoted = text[at] === '"' ? quotedAt(text, at, closing) : undefined
    const from = quoted?.end ?? at
    let end = from
    while (end < text.length && text[end] !== delimiter && text[end] !== '\n') end++
    cells.push(quoted ? quoted.cell : text.slice(at, end).replace(/\r$/, '').trim())
    if (text[end] !== delimiter) return { cells, end }
    at = end + 1
  }
}

function quotedAt(
  text: string,
  start: number,
  closing: ReadonlyMap<number, number>,
): { readonly cell: string; readonly end: number } | undefined {
  const end = closing.get(text.indexOf('"', start + 1))
  return end === undefined ? undefined : { cell: text.slice(start + 1, end).replaceAll('""', '"'), end: end + 1 }
}

/**
 * Maps the index of a quote to the index of the quote that closes the cell. The key is the first quote after the opening quote of the cell.
 * This may be the closing quote itself, or the first of two quotes in a row, which stand for one quote in the text. The quotes are visited
 * from the last to the first, so that the time stays linear even in a file full of quotes.
 */
function closingQuotes(text: string, delimiter: string): ReadonlyMap<number, number> {
  const closing = new Map<number, number>()
  let next = -1 // the quote after `at`
  let second = -1 // the quote after `next`
  for (let at = text.lastIndexOf('"'); at !== -1; at = at === 0 ? -1 : text.lastIndexOf('"', at - 1)) {
    const follower = text[at + 1]
    const closes = follower === undefined || follower === delimiter || follower === '\n' || follower === '\r'
    const end = closes ? at : closing.get(follower === '"' ? second : next)
    if (end !== undefined) closing.set(at, end)
    second = next
    next = at
  }
  return closing
}

/** A column, with the kind of values that all its cells contain. */
export interface Column {
  readonly name: string
  readonly index: number
  /** A column of numbers that only identify rows, such as order numbers, has the kind `text`. */
  readonly kind: 'number' | 'date' | 'text'
  /** The stems of the words in the column's name. */
  readonly stems: readonly string[]
}

const isDate = (cell: string) => /^\d{4}-\d{2}(?:-\d{2})?(?:[T ].*)?$/.test(cell)

/**
 * Columns after the first 200 are ignored. A hostile file could have so many columns and rows that reading all cells would take too long.
 */
const maxColumns = 200

export function columnsOf({ columns, rows }: Table): readonly Column[] {
  return columns.slice(0, maxColumns).map((name, index) => {
    const cells = rows.map((row) => cellOf(row, index)).filter((cell) => cell !== '')
    const every = (test: (cell: string) => boolean) => cells.length > 0 && cells.every(test)
    const numeric = every((cell) => decimalOf(cell) !== undefined) && !isIdentifier(name, cells)
    const kind = numeric ? 'number' : every(isDate) ? 'date' : 'text'
    return { name, index, kind, stems: wordsOf(name.replaceAll('_', ' ')).map(({ stem }) => stem) }
  })
}

/**
 * Whether the numbers in a column only identify rows, so that their sum has no meaning. This is assumed if all numbers differ and, in
 * addition, are consecutive or the column has a name such as "id".
 */
function isIdentifier(name: string, cells: readonly string[]): boolean {
  if (!cells.every((cell) => /^\d+$/.test(cell)) || new Set(cells).size < cells.length) return false
  const consecutive =
    cells.length > 2 && cells.every((cell, index) => index === 0 || BigInt(cell) === BigInt(cells[index - 1] as string) + 1n)
  return consecutive || /(?:^|[\s_-])(?:id|no|nr|number|nummer|key|code)$/i.test(name)
}

export const cellOf = ({ cells }: Row, index: number): string => (cells[index] ?? '').trim()

export function numbersIn(rows: readonly Row[], { index }: Column): readonly Decimal[] {
  return rows.flatMap((row) => decimalOf(cellOf(row, index)) ?? [])
}
