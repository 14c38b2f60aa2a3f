import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { defaultExpirySettings } from '../src/core/expiry/expiry.ts'
import { caps } from '../src/core/render/caps.ts'

const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
const textOf = (file: string): string => readFileSync(file, 'utf8')
const pages = filesIn('docs/spec').filter((name) => name.endsWith('.md'))

interface Case {
  readonly page: string
  /** Such as `timeline 11.17`. */
  readonly name: string
  readonly files: readonly string[]
}

/** The cases of the specification, each with the files that test it. */
const cases: readonly Case[] = pages.flatMap((page) =>
  [...textOf(page).matchAll(/^\| (\w+ \d+\.\d+) \| [^|]+ \| ([^|]*) \|$/gm)].map(([, name = '', tests = '']) => ({
    page,
    name,
    files: [...tests.matchAll(/`([^`]+)`/g)].map(([, file]) => file as string),
  })),
)

it('the specification has cases, each with a number of its own and with tests', () => {
  expect(cases.length).toBeGreaterThan(200)
  const names = cases.map(({ name }) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  expect(cases.filter(({ files }) => files.length === 0)).toEqual([])
  expect(pages.filter((page) => page !== 'docs/spec/README.md' && !cases.some((each) => each.page === page))).toEqual([])
})

it.each(cases)('$name is named in every file that the specification lists for it', ({ name, files }) => {
  const [, spec, section, number] = /^(\w+) (\d+)\.(\d+)$/.exec(name) ?? []
  const among = new RegExp(`${spec} ${section}\\.[\\d ,.–and-]*\\b(${section}\\.)?${number}\\b|${spec} ${section}\\.${number}\\b`)
  for (const file of files) expect(textOf(file), file).toMatch(among)
})

it('every case number in a test name is in the specification', () => {
  const known = new Set(cases.map(({ name }) => name))
  const tests = [...filesIn('src'), ...filesIn('test')].filter((path) => path.endsWith('.test.ts') || path.endsWith('scenario.ts'))
  const named = tests.flatMap((path) => [...textOf(path).matchAll(/\b(timeline|tools|loop) (\d+\.\d+|[A-Z]\d+)\b/g)].map(([name]) => name))
  expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([])
})

/** The numbers of a table whose rows have a name and a number: `| \`userText\` | 160,000 | … |`. */
const numbersIn = (page: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...textOf(page).matchAll(/^\| `(\w+)` \| ([\d,]+) \| /gm)].map(([, name = '', number = '']) => [
      name,
      Number(number.replaceAll(',', '')),
    ]),
  )

it('the limits in the specification are those of the code', () => {
  expect(numbersIn('docs/spec/timeline/prompt.md')).toEqual(caps)
  expect(numbersIn('docs/spec/timeline/expiry.md')).toEqual(defaultExpirySettings)
})

/** The fixed parts of the texts in a table column `exact text`. A part such as `<path>` stands for a value. */
function exactTexts(page: string): readonly string[] {
  return textOf(page)
    .split('\n\n')
    .filter((paragraph) => /^\|.*\| exact text \|/.test(paragraph))
    .flatMap((table) => table.split('\n').slice(2))
    .flatMap((row) => [...(row.replaceAll('\\|', '¦').split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g)])
    .flatMap(([, text = '']) => text.replaceAll('¦', '|').split(/<[^>]*>|\d/))
    .map((part) => part.trim())
    .filter((part) => part.length > 3)
}

it('the exact texts in the specification are in the code, or in the examples of prompts', () => {
  const code = [...filesIn('src'), ...filesIn('test/golden')]
    .filter((path) => path.endsWith('.txt') || (path.endsWith('.ts') && !path.endsWith('.test.ts')))
    .map(textOf)
    .join('\n')
    .replace(/' \+\n\s*'/g, '')
  const texts = pages.flatMap(exactTexts)
  expect(texts.length).toBeGreaterThan(80)
  expect(texts.filter((text) => !code.includes(text))).toEqual([])
})
