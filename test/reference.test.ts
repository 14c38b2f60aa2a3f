import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { readCodeFields } from '../scripts/reference/code-fields.ts'
import { commentText } from '../scripts/reference/comments.ts'
import { codesIn } from '../scripts/reference/error-codes.ts'
import { withTexts } from '../scripts/reference/markdown.ts'
import { referencePages } from '../scripts/reference/pages.ts'
import { sdkPages } from '../scripts/reference/sdk.ts'
import { examplesIn, pagesWithExamples, withExamples } from '../scripts/reference/shown-examples.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-reference-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const committed = (name: string): string => readFileSync(join('docs/reference', name), 'utf8')
const howToFix = (name: string) => `docs/reference/${name} is not up to date: run \`npm run reference\``

it('the pages about settings, commands, routes, events, blocks and errors are those that the sources give', async () => {
  for (const [name, text] of Object.entries(await referencePages())) expect(committed(name), howToFix(name)).toBe(text)
})

it('the pages about the SDK are those that the declarations give, and there are no other pages', async () => {
  execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', folder])
  const pages = sdkPages(folder)
  for (const [name, text] of Object.entries(pages)) expect(committed(name), howToFix(name)).toBe(text)
  const files = readdirSync('docs/reference', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'))
  expect(files.sort()).toEqual([...Object.keys(pages), ...Object.keys(await referencePages())].sort())
})

it('a name without a text, and a text without a name, are errors', () => {
  expect(withTexts('code', ['b', 'a'], { a: 'first', b: 'second' })).toEqual([
    ['`a`', 'first'],
    ['`b`', 'second'],
  ])
  expect(() => withTexts('code', ['a', 'new.code'], { a: 'first' })).toThrow('the reference has no text for the code new.code')
  expect(() => withTexts('code', ['a'], { a: 'first', old: 'gone' })).toThrow('old, which does not exist')
})

it('every code that the sources can write is found, also one of a union type or of the calls of a function', () => {
  const project = join(folder, 'codes')
  mkdirSync(project)
  const files = {
    'tsconfig.json': JSON.stringify({
      compilerOptions: { module: 'nodenext', strict: true, noEmit: true, allowImportingTsExtensions: true },
    }),
    'errors.ts': `
      export type Limit = 'too_long' | 'TooWide'
      export interface Notice { readonly code: string; readonly message: string }
      export const failed = (code: string, message: string) => ({ ok: false, error: { code, message } })
      export function warning(code: string, again = false): Notice {
        return again ? warning(code) : { code: \`warning.\${code}\`, message: '' }
      }`,
    'tool.ts': `
      import * as errors from './errors.ts'
      import { failed, type Limit, type Notice } from './errors.ts'
      export const written = [failed('SearchError', ''), errors.warning('odd')]
      export const ofLimit = (limit: Limit) => failed(limit, '')
      export const passedOn = (error: { code: string }, notice: Notice) => [failed(error.code, ''), { ...notice, code: notice.code }]
      export const indirect = (message: string) => ['one'].map((code) => failed(code, message))
      export const report = { path: 'a.txt', error_code: 'in_details' }
      export const program = { code: String(1), language: 'python' }`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text)
  const { codes, computed } = readCodeFields(join(project, 'tsconfig.json'))
  expect([...codes.keys()].sort()).toEqual(['SearchError', 'TooWide', 'in_details', 'too_long', 'warning.odd'])
  expect([...computed].sort()).toEqual(['tool.ts: code', 'tool.ts: error.code', 'tool.ts: notice.code'])
  expect(() => codesIn({ codes, computed })).toThrow(/^list the codes of tool.ts: .+ in scripts/)
})

it('every example is shown on a page', () => {
  const shown = new Set(pagesWithExamples().flatMap((page) => examplesIn(readFileSync(page, 'utf8'))))
  const elsewhere = ['minimal', 'offline', 'mcp-server'] // test/examples.test.ts runs the first two, and examples/mcp.ts starts the third
  const examples = readdirSync('examples').flatMap((name) => (name.endsWith('.ts') ? [name.replace(/\.ts$/, '')] : []))
  expect(examples.filter((name) => !shown.has(name) && !elsewhere.includes(name))).toEqual([])
})

it.each(pagesWithExamples())('%s shows its examples as they are, and what they print', async (page) => {
  const text = readFileSync(page, 'utf8')
  expect(text, 'run `npm run reference`').toBe(await withExamples(text))
})

it('a doc comment keeps its paragraphs, its items and its drawings', () => {
  const comment = `/**
 * A store with a file for
 * each <name>:
 *
 *   <folder>/a    one
 *            b    two
 *
 * After the drawing:
 *
 * - the first item
 *   goes on;
 * - the second item.
 */`
  expect(commentText(comment)).toBe(
    [
      'A store with a file for each \\<name>:',
      '```text\n<folder>/a    one\n         b    two\n```',
      'After the drawing:',
      '- the first item goes on;\n- the second item.',
    ].join('\n\n'),
  )
  expect(commentText('/** One line. */')).toBe('One line.')
})
