/** A table of a CSV file. */
export interface CsvTable {
  readonly rows: readonly (readonly string[])[]
  /** Whether the file has more rows. */
  readonly more: boolean
}

/** Reads the first rows of a CSV file. Cells may be quoted, and the delimiter is the character that occurs most often in the first line. */
export function readCsv(text: string, maxRows: number): CsvTable {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text
  const delimiter = delimiterOf(body)
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < body.length) {
    if (rows.length === maxRows) return { rows, more: true }
    const { value, end } = readCell(body, at, delimiter)
    row.push(value)
    const separator = body[end]
    at = end + 1
    if (separator === delimiter && at < body.length) continue
    if (separator === delimiter) row.push('')
    if (separator === '\r' && body[at] === '\n') at++
    rows.push(row)
    row = []
  }
  return { rows, more: false }
}

function delimiterOf(text: string): string {
  const end = text.search(/[\r\n]/)
  const line = end < 0 ? text : text.slice(0, end)
  const count = (character: string) => line.split(character).length
  return [',', ';', '\t'].reduce((best, next) => (count(next) > count(best) ? next : best))
}

/** The cell that begins at `start`. `end` is the position of the delimiter or line break after it. */
function readCell(text: string, start: number, delimiter: string): { readonly value: string; readonly end: number } {
  if (text[start] !== '"') {
    let end = start
    while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') end++
    return { value: text.slice(start, end), end }
  }
  const parts: string[] = []
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return { value: parts.join('') + text.slice(at), end: text.length } // the quote is never closed
    parts.push(text.slice(at, quote))
    if (text[quote + 1] === '"') {
      parts.push('"')
      at = quote + 2
      continue
    }
    let end = quote + 1
    while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') end++
    return { value: parts.join('') + text.slice(quote + 1, end), end }
  }
}
