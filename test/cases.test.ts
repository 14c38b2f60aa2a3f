import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** The cases of spec/timeline.md §11 from rendering to recall; the numbers between them are no cases. */
const timelineCases = [
  ...[22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41, 49, 50, 51, 52, 53, 55, 56, 58, 59, 61, 62, 64, 65, 67, 68],
  ...[73, 74, 76, 77, 79, 80, 82, 83, 84, 85, 86, 88, 89, 91, 92, 94, 95, 97, 98, 100, 101, 103, 104, 106],
]

const root = join(import.meta.dirname, '..')
const sources = ['src', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') || path.includes('conformance'))
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(root, folder, path), 'utf8')),
)
const numbers = (text: string) => [...text.matchAll(/timeline (11\.\d+(?:, 11\.\d+)*)/g)].flatMap(([, found]) => found?.split(', ') ?? [])

it('every case of the timeline from rendering to recall is a test, or waits for what it needs', () => {
  const known = new Set([...sources.flatMap(numbers), ...numbers(readFileSync(join(import.meta.dirname, 'cases.md'), 'utf8'))])
  expect(timelineCases.map((number) => `11.${number}`).filter((number) => !known.has(number))).toEqual([])
})
