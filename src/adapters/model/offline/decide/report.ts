import type { OpenDocument } from '../../../../offline/decide/open-documents.ts'
import { averageOf, compare, type Decimal, decimalText, sumOf } from '../../../../offline/table/decimal.ts'
import type { Table } from '../../../../offline/table/table.ts'
import { centralPassages, rankPassages } from '../../../../offline/text/rank.ts'
import { contentWords } from '../../../../offline/text/words.ts'
import { columnsOf, numbersIn } from '../table/columns.ts'
import { cite, escapeMarkup } from './quote.ts'

const maxPoints = 5

/** What documents are about, in their own words, with citations. */
export function outlineOf(documents: readonly OpenDocument[], about: string, level = '##'): string {
  return documents
    .filter(({ problem }) => problem === undefined)
    .map((document) =>
      [`${level} ${escapeMarkup(document.name)}`, overview(document), mainPoints(document, about)]
        .filter((text) => text !== '')
        .join('\n\n'),
    )
    .join('\n\n')
}

export function reportOf(documents: readonly OpenDocument[], about: string): string {
  const names = documents.map(({ name }) => escapeMarkup(name))
  const problems = documents.flatMap(({ problem }) => (problem === undefined ? [] : [`- ${escapeMarkup(problem)}.`]))
  return [
    `# Report on ${names.join(', ')}`,
    'Everything below is taken from the documents themselves, word for word where it is quoted.',
    outlineOf(documents, about),
    ...(problems.length > 0 ? ['## Not looked at', problems.join('\n')] : []),
    '',
  ].join('\n\n')
}

function overview({ passages, table, pages, partial }: OpenDocument): string {
  if (table) return `${table.rows.length} rows; columns: ${table.columns.map(escapeMarkup).join(', ')}.`
  const sections = [...new Set(passages.flatMap(({ headings }) => headings.slice(-1)))].slice(0, 12)
  return [
    ...(pages === undefined ? [] : [`${pages} ${pages === 1 ? 'page' : 'pages'}.`]),
    ...(sections.length > 1 ? [`Sections: ${sections.map(escapeMarkup).join(' · ')}.`] : []),
    ...(partial ? [`Only ${partial.seen} of ${partial.total} lines were looked at.`] : []),
  ].join(' ')
}

function mainPoints(document: OpenDocument, about: string): string {
  if (document.table) return figures(document.table, document)
  const wanted = contentWords(about).length > 0 ? rankPassages(about, document.passages).filter(({ covers }) => covers >= 0.5) : []
  const chosen =
    wanted.length > 0 ? wanted.slice(0, maxPoints).map(({ passage }) => passage) : centralPassages(document.passages, maxPoints)
  return chosen
    .map(({ text, page }) => `- “${escapeMarkup(text)}”${page === undefined ? '' : ` (page ${page})`}${cite(document)}`)
    .join('\n')
}

function figures(table: Table, document: OpenDocument): string {
  const numeric = columnsOf(table).filter(({ kind }) => kind === 'number')
  if (numeric.length === 0) return `The figures of this table are its rows.${cite(document)}`
  const lines = numeric.map((column) => {
    const numbers = numbersIn(table.rows, column)
    const sorted = numbers.toSorted(compare)
    const shown = [sumOf(numbers), averageOf(numbers).value, sorted[0] as Decimal, sorted.at(-1) as Decimal].map((value) =>
      decimalText(value),
    )
    return `| ${escapeMarkup(column.name)} | ${shown.join(' | ')} |`
  })
  return [
    '| column | total | average | lowest | highest |',
    '|---|---|---|---|---|',
    ...lines,
    '',
    `Reckoned over all rows.${cite(document)}`,
  ].join('\n')
}
