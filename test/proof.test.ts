import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createPage, keptSection } from '../scripts/proof/page.ts'
import { makeSection, textOf } from '../scripts/proof/run.ts'
import { type Section, sections } from '../scripts/proof/sections.ts'
import { figuresIn, unprovedFigures } from './support/figures.ts'

const proof = readFileSync('docs/proof.md', 'utf8')

it('every section of the page shows the commands of its list, and the page has no other section', () => {
  const titles = sections.map(({ title }) => title)
  const headings = [...proof.matchAll(/^## (.*)$/gm)].map(([, title = '']) => title)
  expect(headings.filter((title) => !titles.includes(title))).toEqual([])
  expect(headings.length).toBeGreaterThan(0)
  const missing = sections.flatMap(({ name, commands, full, isMarkdown }) => {
    const text = keptSection(proof, name)
    if (text === undefined || isMarkdown) return []
    const shows = (list: Section['commands']) => list.every((command) => text.includes(`\`${textOf(command)}`))
    return shows(commands) || (full && shows(full.commands)) ? [] : [name]
  })
  expect(missing).toEqual([])
})

it('the page begins with a row for every section, which says when it was made, or that it was not run', () => {
  for (const { title, name } of sections) {
    const row = proof.split('\n').find((line) => line.startsWith(`| [${title}]`) || line.startsWith(`| ${title} `)) ?? ''
    expect(row).toMatch(keptSection(proof, name) === undefined ? /\| not run \|$/ : /\| made on \d{4}-\d\d-\d\d/)
  }
})

const quick: Section = { name: 'quick', title: 'Quick', about: 'About.', commands: [], minutes: 1 }

it('a command that fails, hangs, prints nothing or does not exist is named, and the next one runs', async () => {
  const node = (code: string) => ['node', '-e', code] as const
  const commands = [
    node('console.log("one  1.00 × floor  (budget 2)  ok"); process.exit(3)'),
    node('console.log("two  9.00 × floor  (budget 2)  OVER"); setTimeout(() => {}, 60_000)'),
    node('0'),
  ]
  const made = await makeSection({ ...quick, commands, minutes: 0.05 }, () => {})
  expect(made.problems).toMatchObject([
    expect.stringMatching(/: it ended with code 3$/),
    expect.stringMatching(/: it did not end within 0 minutes$/),
    expect.stringMatching(/: there was no time left for it$/),
  ])
  expect(made.text).toContain('Of 2 lines with a budget, 1 is over it.')
  expect(made.text).toContain('one  1.00 ×')
  expect(made.text).toContain('two  9.00 ×')
  const unprepared = { ...quick, prepare: node('throw new Error("no disk")'), commands: [node('console.log("one")')] }
  expect((await makeSection(unprepared, () => {})).problems).toMatchObject([
    expect.stringMatching(/: it ended with code 1 \(Error: no disk\)$/),
  ])
  const empty = await makeSection({ ...quick, commands: [node('0'), node('console.log("not run: x, because y")')] }, () => {})
  expect(empty.problems).toMatchObject([expect.stringMatching(/: it printed nothing$/), 'x, because y'])
  const page = createPage([quick, { ...quick, name: 'other', title: 'Other' }], [empty.text])
  expect(page).toMatch(/^\| \[Quick\]\(#quick\) \| made on [\d-]+\. Not complete: .*x, because y\. \|$/m)
  expect(page).toContain('| Other | not run |')
  expect(keptSection(page, 'quick')).toBe(empty.text)
})

/** Numbers that the program is set to, and that nothing measures. */
const settings: Readonly<Record<string, readonly string[]>> = {
  'docs/sandbox.md': ['250 milliseconds'], // how often limits are checked
  'docs/sdk.md': ['200 milliseconds'], // how often another process looks for offers
  'docs/server.md': ['250 ms'], // the field `retry` of event streams
  'docs/web.md': ['60 %', '25 %', '15 %'], // the weights of a rank
  'docs/scaling.md': ['60 %', '300 messages a second', '30,000 short reads a second'], // assumptions of the arithmetic
}

it('README and documentation quote no figure that is not measured', () => {
  const exclude = ['docs/proof.md', 'docs/changes.md', 'docs/spec/**', 'docs/reference/**'] // changes were measured when they were made
  const files = ['README.md', ...globSync('docs/**/*.md', { exclude })]
  expect(files.length).toBeGreaterThan(30)
  const found = files.flatMap((file) =>
    unprovedFigures(readFileSync(file, 'utf8'), proof)
      .filter((figure) => !settings[file]?.includes(figure))
      .map((figure) => `${file}: ${figure}`),
  )
  expect(found).toEqual([])
})

it('the list of settings has no figure that the documentation does not have', () => {
  const unused = Object.entries(settings).flatMap(([file, figures]) => {
    const known = new Set(figuresIn(readFileSync(file, 'utf8')).map(({ text }) => text))
    return figures.filter((figure) => !known.has(figure))
  })
  expect(unused).toEqual([])
})

it('a figure is a ratio, a percentage, a short time or a rate, outside of code', () => {
  const text = 'It is 12.5 × faster, 3 times as fast, takes 7 % or 2 µs or 1,200 ms, does 10 turns per second or 9/s. `5 ×` 2 × 3.'
  expect(figuresIn(text).map((each) => each.text)).toEqual([
    '12.5 ×',
    '3 times as',
    '7 %',
    '2 µs',
    '1,200 ms',
    '10 turns per second',
    '9/s',
  ])
})

it('a figure is proved if the page has it, or if its line names a bench whose output has one of the same size', () => {
  const page = '`node bench/run.ts loop`:\n\n```\nround  5.0 µs  2.00 × floor\n```\n'
  expect(unprovedFigures('2.00 × and 3.00 ×', page)).toEqual(['3.00 ×'])
  expect(unprovedFigures('| round | 7 µs | `npm run bench -- loop` |', page)).toEqual([])
  expect(unprovedFigures('| round | 70 µs | `npm run bench -- loop` |', page)).toEqual(['70 µs'])
  expect(unprovedFigures('| round | 7 µs | `npm run bench -- store` |', page)).toEqual(['7 µs'])
})
