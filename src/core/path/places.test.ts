import { expect, it } from 'vitest'
import { stripAbsolutePaths } from './places.ts'

it.each([
  ["ENOENT: no such file, open '/home/me/secret/x.txt'", "ENOENT: no such file, open 'x.txt'"],
  ['at file:///srv/daybook/src/a.ts:3:5 (/tmp/b/)', 'at a.ts:3:5 (b)'],
  ['open C:\\Users\\me\\y.txt or D:/z.txt', 'open y.txt or z.txt'],
  ['dir=/var/lib/app', 'dir=app'],
])('an absolute path is cut to its last part: %s', (text, expected) => {
  expect(stripAbsolutePaths(text)).toBe(expected)
})

it.each([
  'GET https://example.com/home/me and http://a/tmp/b',
  'POST /v1/items/3 failed',
  'turn_1/files/tmp/a.md, fi:turn_1.files/home/a.md',
  '3/4 and/or 10:30',
])('what is no place on a disk stays: %s', (text) => {
  expect(stripAbsolutePaths(text)).toBe(text)
})
