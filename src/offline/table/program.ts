import type { Decimal } from './decimal.ts'
import type { Filter, Query } from './query.ts'

/** The paths of the table and of the answer file, relative to the output folder of the program. */
interface ProgramPaths {
  readonly table: string
  readonly answer: string
}

/**
 * The source of a JavaScript program that runs the query on the whole file and writes a `ProgramResult`. The program computes the same
 * result as `runQuery`.
 */
export function writeProgram(query: Query, paths: ProgramPaths): string {
  const asked = JSON.stringify({ ...specOf(query), ...paths }).replaceAll('<', '\\u003c')
  return `// Answers one question about a table: which rows match, and what they come to.
const { readFile, writeFile, mkdir } = await import('node:fs/promises')
const { join, dirname } = await import('node:path')
const asked = ${asked}
${programBody}`
}

const decimalSpec = ({ units, scale }: Decimal) => ({ units: String(units), scale })

const isDecimal = (value: Filter['value']): value is Decimal => typeof value === 'object' && 'units' in value

/** The query as JSON. Columns are replaced by their indices. */
function specOf({ measure, column, filters, groupBy, best }: Query) {
  const filterOf = (filter: Filter) => ({
    index: filter.column.index,
    test: filter.test,
    value: isDecimal(filter.value) ? decimalSpec(filter.value) : filter.value,
  })
  return {
    measure,
    column: column?.index ?? null,
    filters: filters.map(filterOf),
    groupBy: groupBy?.index ?? null,
    best: best ?? null,
  }
}

const programBody = String.raw`const base = globalThis.OUTPUT_DIR ?? process.env.OUTPUT_DIR ?? '.'

function records(text, delimiter) {
  const found = []
  let [at, line] = [0, 1]
  while (at < text.length) {
    const [start, cells] = [at, []]
    for (;;) {
      let cell
      if (text[at] === '"') {
        const closing = /"((?:[^"]|"")*)"(?=[\r\n]|$|[,;\t|])/y
        closing.lastIndex = at
        const match = closing.exec(text)
        if (match) [cell, at] = [match[1].replaceAll('""', '"'), at + match[0].length]
      }
      const from = at
      while (at < text.length && text[at] !== delimiter && text[at] !== '\n') at++
      cells.push(cell ?? text.slice(from, at).trim())
      if (text[at] !== delimiter) break
      at++
    }
    const raw = text.slice(start, at)
    if (raw.trim() !== '') found.push({ cells, line, raw: raw.replace(/\r$/, '') })
    line += raw.split('\n').length
    at++
  }
  return found
}

function number(cell) {
  const text = cell.trim().replace(/^(?:[€$£¥]|EUR|USD|GBP|CHF)\s*|\s*(?:[€$£¥%]|EUR|USD|GBP|CHF)$/g, '').replace(/[\s'_](?=\d{3}\b)/g, '')
  const [, sign, digits] = /^([-+]?)(\d[\d.,]*)$/.exec(text) ?? []
  if (digits === undefined) return undefined
  let plain
  if (/^\d+(?:\.\d+)?$/.test(digits)) plain = digits
  else if (/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits)) plain = digits.replaceAll(',', '')
  else if (/^\d{1,3}(?:\.\d{3})+(?:,\d+)?$/.test(digits)) plain = digits.replaceAll('.', '').replace(',', '.')
  else if (/^\d+,\d+$/.test(digits)) plain = digits.replace(',', '.')
  if (plain === undefined) return undefined
  const [whole, fraction = ''] = plain.split('.')
  return { units: BigInt((sign === '-' ? '-' : '') + whole + fraction), scale: fraction.length }
}

const scaled = (n, scale) => n.units * 10n ** BigInt(scale - n.scale)
const compare = (a, b) => {
  const scale = Math.max(a.scale, b.scale)
  const difference = scaled(a, scale) - scaled(b, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
const total = (numbers) => {
  const scale = Math.max(0, ...numbers.map((n) => n.scale))
  return { units: numbers.reduce((sum, n) => sum + scaled(n, scale), 0n), scale }
}
const written = ({ units, scale }, keep) => {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  let fraction = digits.slice(digits.length - scale)
  while (fraction.length > keep && fraction.endsWith('0')) fraction = fraction.slice(0, -1)
  return (units < 0n ? '-' : '') + digits.slice(0, digits.length - scale) + (fraction === '' ? '' : '.' + fraction)
}

const folded = (text) => text.normalize('NFKD').replace(/\p{M}+/gu, '').toLowerCase().replaceAll('ß', 'ss')
const cell = (row, index) => (row.cells[index] ?? '').trim()

function passes(row, { index, test, value }) {
  const own = cell(row, index)
  if (test === 'is') return folded(own) === folded(value)
  if (test === 'one of') return value.includes(own)
  if (test === 'begins') return own.startsWith(value)
  if (test === 'month') return Number(own.slice(5, 7)) === value
  const n = number(own)
  if (!n) return false
  const order = compare(n, { units: BigInt(value.units), scale: value.scale })
  return { more: order > 0, less: order < 0, 'at least': order >= 0, 'at most': order <= 0 }[test]
}

function measure(rows) {
  if (asked.column === null || asked.measure === 'count' || asked.measure === 'rows') return { value: String(rows.length), exact: true }
  const cells = rows.map((row) => cell(row, asked.column))
  if (asked.measure === 'distinct') return { value: String(new Set(cells.filter((own) => own !== '')).size), exact: true }
  const numbers = cells.flatMap((own) => number(own) ?? [])
  const sum = total(numbers)
  if (asked.measure !== 'average') return { value: written(sum, sum.scale), exact: true }
  if (numbers.length === 0) return { value: '', exact: true }
  const [count, scale] = [BigInt(numbers.length), Math.max(sum.scale, 4)]
  const units = scaled(sum, scale)
  const exact = units % count === 0n
  const half = (units < 0n ? -count : count) / 2n
  return { value: written({ units: exact ? units / count : (units + half) / count, scale }, 0), exact }
}

function best(items, order, count, compared) {
  const sorted = items.toSorted((a, b) => order * compared(a, b))
  const last = sorted[Math.min(count, sorted.length) - 1]
  return last === undefined ? [] : sorted.filter((item) => order * compared(item, last) <= 0)
}

const text = (await readFile(join(base, asked.table), 'utf8')).replace(/^\uFEFF/, '')
const head = text.split('\n', 1)[0].replace(/"[^"]*"/g, '')
const delimiter = [',', ';', '\t', '|'].toSorted((a, b) => head.split(b).length - head.split(a).length)[0]
const rows = records(text, delimiter).slice(1).map((row, index) => ({ ...row, number: index + 1 }))
const matching = rows.filter((row) => asked.filters.every((filter) => passes(row, filter)))
const direction = asked.best?.order === 'lowest' ? 1 : -1
let [answer, groups, chosen] = [{ exact: true }, [], matching]
if (asked.groupBy !== null) {
  groups = Object.entries(Object.groupBy(matching, (row) => '=' + cell(row, asked.groupBy)))
    .map(([name, own]) => ({ name: name.slice(1), value: measure(own).value, numbers: own.map((row) => row.number).slice(0, 40) }))
  const size = ({ value }) => number(value) ?? { units: 0n, scale: 0 }
  if (asked.best) groups = best(groups, direction, asked.best.count, (a, b) => compare(size(a), size(b)))
} else if (asked.best && asked.column !== null) {
  const compared = (a, b) => {
    const [left, right] = [cell(a, asked.column), cell(b, asked.column)]
    return number(left) && number(right) ? compare(number(left), number(right)) : left < right ? -1 : left > right ? 1 : 0
  }
  chosen = best(matching.filter((row) => cell(row, asked.column) !== ''), direction, asked.best.count, compared)
  if (asked.measure !== 'rows' && chosen.length > 0) answer = { value: cell(chosen.at(-1), asked.column), exact: true }
} else if (asked.measure !== 'rows') answer = measure(matching)

const shown = chosen.slice(0, 6).map(({ number, line, raw }) => ({ number, line, raw: raw.slice(0, 500).replace(/[\ud800-\udbff]$/, '') }))
const told = { ...answer, rows: rows.length, matching: matching.length, chosen: chosen.length, numbers: chosen.slice(0, 400).map((row) => row.number), shown, groups: groups.slice(0, 40) }
await mkdir(dirname(join(base, asked.answer)), { recursive: true })
await writeFile(join(base, asked.answer), JSON.stringify(told))
`
