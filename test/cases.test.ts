import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const page = readFileSync('test/cases.md', 'utf8')

interface Row {
  readonly spec: string
  readonly section: string
  readonly number: number
  readonly files: readonly string[]
}

/** The cases in test/cases.md, each with the files that test it. */
const rows: readonly Row[] = page.split(/^## /m).flatMap((chapter) => {
  const [, spec = '', section = ''] = /\(`(\w+) (\d+)\.N`\)/.exec(chapter) ?? []
  return [...chapter.matchAll(/^\| (\d+) \| [^|]+ \| ([^|]*) \|$/gm)].map(([, number, proof = '']) => ({
    spec,
    section,
    number: Number(number),
    files: [...proof.matchAll(/`([^`]+)`/g)].map(([, file]) => file as string),
  }))
})

it.each(rows.filter(({ files }) => files.length > 0))(
  '$spec $section.$number is named in every file that the page lists for it',
  ({ spec, section, number, files }) => {
    const one = `${section}\\.${number}\\b`
    const among = new RegExp(`${spec} ${section}\\.[\\d ,.–and-]*\\b(${section}\\.)?${number}\\b|${spec} ${one}`)
    for (const file of files) expect(readFileSync(file, 'utf8'), file).toMatch(among)
  },
)

it('every case number in a test name is on the page', () => {
  const known = new Set(rows.filter(({ files }) => files.length > 0).map(({ spec, section, number }) => `${spec} ${section}.${number}`))
  const tests = ['src', 'test'].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts') || path.endsWith('scenario.ts'))
      .map((path) => join(root, path)),
  )
  const named = tests.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/\b(timeline 11|tools 18|loop 17)\.\d+/g)].map(([name]) => name),
  )
  expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([])
})
