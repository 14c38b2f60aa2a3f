import { expect, it } from 'vitest'
import { parseSelector } from '../path/selector.ts'
import { selectSources, sourcesBySid } from './select.ts'

const pool = { rows: [1, 2, 4].map((sid) => ({ sid, url: `https://a.b/${sid}` })), next_sid: 6 }

it('gives the rows behind a selector and names those that are not there', () => {
  const { rows, missing } = selectSources(pool, parseSelector('4,2-3,9').sids)
  expect(rows.map(({ sid }) => sid)).toEqual([2, 4])
  expect(missing).toEqual([3, 9])
})

it('finds a row by its number', () => {
  expect(sourcesBySid(pool).get(4)).toBe(pool.rows[2])
  expect(sourcesBySid(pool).get(3)).toBeUndefined()
})
