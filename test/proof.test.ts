import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { sections } from '../scripts/proof/sections.ts'

const proof = readFileSync('docs/proof.md', 'utf8')

it('every section of the page has the command of its list, and the page has no other section', () => {
  const known = new Map(sections.map(({ title, command }) => [title, command.join(' ')]))
  const headings = [...proof.matchAll(/^## (.*)$/gm)].map(([, title = '']) => title)
  expect(headings.filter((title) => !known.has(title))).toEqual([])
  expect(headings.filter((title) => !proof.includes(`\`${known.get(title)}\` on `))).toEqual([])
  expect(headings.length).toBeGreaterThan(0)
})

const ratio = /\d+(?:\.\d+)? ×(?! \d)/g

/**
 * The figures of a text that are not on the page of measured tables. A figure is a ratio such as `1.3 ×`, and not a product such as `2 × 3`.
 * Code blocks are left out: they show the output of a command that stands beside them.
 */
const unproved = (text: string) =>
  [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(ratio)].map(([figure]) => figure).filter((figure) => !proof.includes(figure))

it('README and documentation quote no ratio that is not measured', () => {
  const files = ['README.md', ...globSync('docs/**/*.md', { exclude: ['docs/proof.md', 'docs/spec/**', 'docs/reference/**'] })]
  expect(files.length).toBeGreaterThan(30)
  const found = files.flatMap((file) => unproved(readFileSync(file, 'utf8')).map((figure) => `${file}: ${figure}`))
  expect(found).toEqual([])
  expect(unproved('It is 123.45 × faster.')).toEqual(['123.45 ×'])
})
