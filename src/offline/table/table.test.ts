import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { averageOf, type Decimal, decimalOf, decimalText, sumOf } from './decimal.ts'
import { runQuery } from './query.ts'
import { readQuestion } from './question.ts'
import { parseTable, type Row } from './table.ts'

const sales = parseTable(
  [
    'date,region,product,units,revenue',
    '2025-01-10,North,Kettle,12,358.80',
    '2025-01-22,South,Kettle,7,209.30',
    '2025-02-03,North,Toaster,20,899.00',
    '2025-02-14,West,"Lamp, desk",5,124.95',
    '2025-03-01,South,Toaster,31,1393.45',
    '2025-03-09,North,"Lamp, desk",9,224.91',
  ].join('\n'),
)

/** The result of a question: its groups, or its value with the numbers of its rows, or only the numbers of its rows. */
function resultOf(question: string) {
  const query = readQuestion(question, sales)
  if (!query) return undefined
  const { value, rows, groups } = runQuery(sales, query)
  if (groups.length > 0) return groups.map((group) => `${group.name}=${group.value}`).join(' ')
  return value === undefined ? rows.map(({ number }) => number) : [value, rows.map(({ number }) => number)]
}

describe('a question about a table', () => {
  it.each([
    ['How many orders are there?', ['6', [1, 2, 3, 4, 5, 6]]],
    ['How many orders came from the North?', ['3', [1, 3, 6]]],
    ['What is the total revenue?', ['3210.41', [1, 2, 3, 4, 5, 6]]],
    ['What is the total revenue in the South?', ['1602.75', [2, 5]]],
    ['What was the average units sold?', ['14', [1, 2, 3, 4, 5, 6]]],
    ['Which order had the highest revenue?', ['1393.45', [5]]],
    ['Which order had the lowest revenue?', ['124.95', [4]]],
    ['How many units of the Toaster were sold?', ['51', [3, 5]]],
    ['How many orders had a revenue above 300?', ['3', [1, 3, 5]]],
    ['Show the orders with units of at most 7', [2, 4]],
    ['Which orders were for a "Lamp, desk"?', [4, 6]],
    ['Top 2 orders by revenue', [3, 5]],
    ['What is the revenue per region?', 'North=1482.71 South=1602.75 West=124.95'],
    ['Which region had the most revenue?', 'South=1602.75'],
    ['Which product sold the most units?', 'Toaster=51'],
    ['How many different products are there?', ['3', [1, 2, 3, 4, 5, 6]]],
    ['What is the total revenue in February?', ['1023.95', [3, 4]]],
    ['Wie viele Bestellungen kamen aus North?', ['3', [1, 3, 6]]],
    ['How many lamps were sold?', ['14', [4, 6]]],
    ['Which region ordered the most often?', 'North=3'],
    ['Which is the latest order?', ['2025-03-09', [6]]],
    ['What is the total of units times revenue?', undefined],
    ['What is the weather like?', undefined],
  ])('is answered: %s', (question, expected) => {
    const found = resultOf(question)
    const sorted = question.startsWith('Top') && Array.isArray(found) ? [...(found as number[])].sort((a, b) => a - b) : found
    expect(sorted).toEqual(expected)
  })

  it('reports words and names that the table does not know, so that not all rows are counted', () => {
    expect(readQuestion('How many orders came from Paris?', sales)?.unknownWords).toEqual({ words: [], names: ['Paris'] })
    expect(readQuestion('How many pages does the lease have?', sales)?.unknownWords.words).toEqual(['pages', 'lease'])
    expect(readQuestion('Wie viele Bestellungen gibt es?', sales)?.unknownWords.names).toEqual([])
  })

  it('parses quotes, line breaks in cells, other delimiters, a byte order mark and short rows', () => {
    const { columns, rows } = parseTable('\uFEFFname;says;n\r\n"A ""the"" one";"two\nlines";3\r\n\r\nB\r\n')
    expect(columns).toEqual(['name', 'says', 'n'])
    expect(rows.map(({ cells, line, number }) => ({ cells, line, number }))).toEqual([
      { cells: ['A "the" one', 'two\nlines', '3'], line: 2, number: 1 },
      { cells: ['B'], line: 5, number: 2 },
    ])
  })

  it('parses the cells that were written', () => {
    const cell = fc.string({ maxLength: 8 }).map((text) => text.trim().replaceAll('\r', ''))
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
    fc.assert(
      fc.property(fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 6 }), (rows) => {
        const text = ['"a","b","c"', ...rows.map((row) => row.map(quoted).join(','))].join('\n')
        expect(parseTable(text).rows.map(({ cells }) => cells)).toEqual(rows)
      }),
    )
  })

  it('parses any text into rows that are in the text, in its order', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab",;|\t\n\r ') }), (file) => {
        const { rows } = parseTable(file)
        let from = 0
        for (const [index, { raw, number }] of rows.entries()) {
          from = file.indexOf(raw, from) + raw.length
          expect(from).toBeGreaterThanOrEqual(raw.length)
          expect(number).toBe(index + 1)
        }
      }),
    )
  })

  it('is answered only with matching rows, whatever the table and the question are', () => {
    const word = fc.constantFrom(
      'how many',
      'total',
      'average',
      'highest',
      'top 2',
      'per',
      'which',
      'show',
      'north',
      'kettle',
      'lamp',
      'units',
      'region',
      'above 5',
      'paris',
    )
    const cells = fc.tuple(
      fc.constantFrom('North', 'South', 'west', ''),
      fc.constantFrom('Kettle', 'Lamp, desk'),
      fc.constantFrom('3', '12', '-1', '7.5'),
    )
    let answered = 0
    const runs = 300
    fc.assert(
      fc.property(fc.array(cells, { maxLength: 6 }), fc.array(word, { maxLength: 6 }), (rows, words) => {
        const table = parseTable(['region,product,units', ...rows.map((row) => row.map((cell) => `"${cell}"`).join(','))].join('\n'))
        const query = readQuestion(words.join(' '), table)
        if (!query) return
        answered++
        const { matching, rows: chosen, groups, value } = runQuery(table, query)
        const isMatching = ({ cells: [region = '', product = '', units = ''] }: Row) =>
          query.filters.every(({ column, test, value: wanted }) => {
            const cell = [region, product, units][column.index] ?? ''
            if (test === 'is') return cell.toLowerCase() === wanted.toLowerCase()
            if (test === 'one of') return wanted.includes(cell)
            return test === 'more' && Number(cell) > Number(decimalText(wanted as Decimal))
          })
        expect(matching).toEqual(table.rows.filter(isMatching))
        expect(matching).toEqual(expect.arrayContaining([...chosen]))
        if (query.groupBy && !query.best) expect(groups.flatMap((group) => group.rows)).toHaveLength(matching.length)
        if (query.measure === 'count' && !query.groupBy) expect(value).toBe(String(matching.length))
      }),
      { numRuns: runs },
    )
    expect(answered).toBeGreaterThan(runs / 3)
  })
})

describe('decimalOf', () => {
  it.each([
    ['1,234.50', '1234.5'],
    ['1.234,50 €', '1234.5'],
    ['$12', '12'],
    ['-0.25', '-0.25'],
    ['12 %', '12'],
    ['1 200', '1200'],
  ])('parses %s as %s', (cell, plain) => expect(decimalText(decimalOf(cell) ?? { units: 0n, scale: 0 })).toBe(plain))

  it.each(['', 'x', '1-2', '12 boxes', '1,2,3', '2025-01-01'])('does not take %j for a number', (cell) =>
    expect(decimalOf(cell)).toBeUndefined(),
  )

  it('adds exactly, and averages say when they were rounded', () => {
    const tenths = ['0.1', '0.2'].map((cell) => decimalOf(cell) ?? { units: 0n, scale: 0 })
    expect(decimalText(sumOf(tenths))).toBe('0.3')
    const thirds = ['1', '1', '2'].map((cell) => decimalOf(cell) ?? { units: 0n, scale: 0 })
    expect(averageOf(thirds)).toEqual({ value: { units: 13333n, scale: 4 }, exact: false })
  })
})
