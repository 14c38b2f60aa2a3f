import { expect, it } from 'vitest'
import { findVolatileText } from './volatile-text.ts'

const found = (text: string) => findVolatileText(text).map(({ rule, at, length }) => [rule.split(' ')[0], text.slice(at, at + length)])

it.each([
  ['It is 2026-11-16T01:01:10Z.', '2026-11-16', '2026-11-16T01:01:10Z'],
  ['Now: 2026-11-16T01:01:10.123+02:00', '2026-11-16', '2026-11-16T01:01:10.123+02:00'],
  ['{"now":"2026-11-16T01:01Z"}', '2026-11-16', '2026-11-16T01:01Z'],
  ['The time is 2026-11-16 01:01:10.', '2026-11-16', '2026-11-16 01:01:10'],
])('finds a whole timestamp: %s', (text, date, time) => {
  expect(found(text)).toEqual([
    ['date', date],
    ['time', time],
  ])
})

it.each([
  ['Read report_2026-11-16_final first.', 'date', '2026-11-16'],
  ['今天是2026年11月16日。', 'date', '2026年11月16日'],
  ['Started at 20261116T010110Z', 'time', '20261116T010110Z'],
  ['Started at 1763258400.123456', 'time', '1763258400'],
])('finds a date or time beside other characters: %s', (text, rule, match) => {
  expect(found(text)).toEqual([[rule, match]])
})

it.each([
  'Use the API 2024-06-01T00:00:00Z.',
  'Write times like 2026-11-16T01:01:10+02:00.',
  'Write times such as 2026-11-16 01:01.',
  'We are open from 09:00 to 17:00.',
  'The limit is 1763258400.50 dollars.',
  'Version 2024.06.01 of 10.2.2024.1',
])('does not report what is constant: %s', (text) => {
  expect(found(text)).toEqual([])
})
