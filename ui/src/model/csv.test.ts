import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readCsv } from './csv.ts'
import { tableCsv } from './table-csv.ts'

it('reads quoted cells, other delimiters and a byte order mark', () => {
  expect(readCsv('\uFEFFa,"b, c",d\r\n1,"say ""hi""\nthere",\n', 10)).toEqual({
    rows: [
      ['a', 'b, c', 'd'],
      ['1', 'say "hi"\nthere', ''],
    ],
    more: false,
  })
  expect(readCsv('a;b\n1,5;2', 10).rows).toEqual([
    ['a', 'b'],
    ['1,5', '2'],
  ])
  expect(readCsv('', 10)).toEqual({ rows: [], more: false })
  expect(readCsv('a\nb\nc', 2)).toEqual({ rows: [['a'], ['b']], more: true })
  expect(readCsv('"never closed, x\ny', 2).rows).toEqual([['never closed, x\ny']])
})

it('reads what the page writes as CSV', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'é') })
  const header = fc.constant(['one', 'two', 'three'])
  const table = fc.tuple(header, fc.array(fc.tuple(cell, cell, cell), { maxLength: 6 })).map(([head, rows]) => [head, ...rows])
  fc.assert(
    fc.property(table, (rows) => {
      expect(readCsv(tableCsv(rows), 100).rows).toEqual(rows)
    }),
  )
})
