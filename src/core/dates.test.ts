import { expect, it } from 'vitest'
import { dateInWords, isoDate } from './dates.ts'

it.each([
  ['2026-03-05', '2026-03-05T00:00:00Z'],
  ['2026-03-05T10:00:00', '2026-03-05T10:00:00Z'], // not in the time zone of this machine
  ['2026-03-05T10:00:00+02:00', '2026-03-05T08:00:00Z'],
  ['5 March 2026', '2026-03-05T00:00:00Z'],
  ['Mar 5, 2026', '2026-03-05T00:00:00Z'],
  ['Tue, 02 Jan 2024 03:04:05 GMT', '2024-01-02T03:04:05Z'],
])('%s is %s', (text, iso) => expect(isoDate(text)).toBe(iso))

it.each([undefined, 7, '', 'soon', '1970-01-01', '12:00', '2026-02-30x', '9999-01-01', `2026-01-01${' '.repeat(99)}`])(
  '%j is no date of a page',
  (text) => expect(isoDate(text)).toBeUndefined(),
)

it('a date in words is counted from now', () => {
  const now = Date.UTC(2026, 2, 5, 12)
  expect(['3 days ago', '1 hour ago', '2 Weeks ago', 'Mar 5, 2026', 'days ago', undefined].map((text) => dateInWords(text, now))).toEqual([
    '2026-03-02T12:00:00Z',
    '2026-03-05T11:00:00Z',
    '2026-02-19T12:00:00Z',
    '2026-03-05T00:00:00Z',
    undefined,
    undefined,
  ])
})
