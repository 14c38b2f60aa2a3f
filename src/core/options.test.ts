import { expect, it } from 'vitest'
import { checkOptions, group, listOf, text } from './options.ts'

const rule = group('an object', { names: listOf('texts', text) })
const check = (names: unknown) => () => checkOptions('run', { names }, rule)

it.each([
  ['a list', ['a', 'b']],
  ['a list whose methods are replaced', Object.assign(['a'], { entries: 5, map: 5, [Symbol.iterator]: 5 })],
])('accepts %s', (_, names) => {
  expect(check(names)).not.toThrow()
})

it.each([
  ['an item of another type', ['a', 3]],
  ['a hole', new Array(2).fill('a', 0, 1)],
  ['a list whose methods hide the item', Object.assign(['a', 3], { entries: () => [], [Symbol.iterator]: () => [].values() })],
])('names the item in the error: %s', (_, names) => {
  expect(check(names)).toThrow(/`names\[1\]` must be a text/)
})
