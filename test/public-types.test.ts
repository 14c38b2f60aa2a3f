import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createDeclarationReader, type Declaration } from './support/package/declarations.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-types-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json', '--outDir', folder])

const { exportsOf, typesIn } = createDeclarationReader(folder)
const { exports: packageExports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, unknown> }
const entries = Object.entries(packageExports).flatMap(([entry, target]) => {
  const source = (target as { readonly 'daybook-source'?: string })['daybook-source']
  const file = source?.replace('./src/', '')
  return file === undefined ? [] : [{ entry: entry.replace(/^\./, 'daybook'), file, declarations: exportsOf(file) }]
})
const keyOf = ({ file, name }: Declaration) => `${file}#${name}`

it('finds the values and types of the entries', () => {
  const [main] = entries
  const names = main?.declarations.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['createAgent', 'Agent', 'defineTool', 'Failure']))
  expect(entries.flatMap(({ declarations }) => declarations).flatMap(typesIn).length).toBeGreaterThan(300)
})

it.each(entries)('$entry exports every type that the signatures of its values name', ({ declarations }) => {
  const exported = new Set(declarations.map(keyOf))
  const missing = declarations
    .filter(({ isType }) => !isType)
    .flatMap((value) => typesIn(value).map((type) => ({ value, type })))
    .filter(({ type }) => !exported.has(keyOf(type)))
    .map(({ value, type }) => `${value.name}: ${type.name} (${type.file})`)
  expect(missing).toEqual([])
})

it.each(entries)('$entry has a doc comment on every export', ({ declarations }) => {
  const withoutComment = declarations.filter(({ file, name }) => {
    const before = readFileSync(join('src', file), 'utf8').split(
      new RegExp(`^export (?:async )?(?:interface|type|class|function\\*?|const) ${name}\\b`, 'm'),
    )[0]
    return !before?.trimEnd().endsWith('*/')
  })
  expect(withoutComment.map(({ file, name }) => `${name} (${file})`)).toEqual([])
})

it('every type that an exported type names can be imported from some entry', () => {
  const exported = new Set(entries.flatMap(({ declarations }) => declarations.map(keyOf)))
  const missing = new Map<string, string>()
  for (const { entry, declarations } of entries)
    for (const declaration of declarations)
      for (const type of typesIn(declaration))
        if (!exported.has(keyOf(type))) missing.set(`${type.name} (${type.file})`, `${entry}: ${declaration.name}`)
  expect([...missing].map(([type, user]) => `${type} of ${user}`)).toEqual([])
})

it.each(entries)('the types of $entry need no optional package, except those of the server', ({ entry, file }) => {
  const allowed = entry === 'daybook/server' ? /^(?:zod|node:.*|hono|@hono\/zod-openapi)$/ : /^(?:zod|node:.*)$/
  expect([...packagesNeededBy(file)].filter((name) => !allowed.test(name))).toEqual([])
})

/** The packages that the declarations of a file import, directly or through other files. */
function packagesNeededBy(file: string, seen = new Set<string>(), packages = new Set<string>()): ReadonlySet<string> {
  seen.add(file)
  const text = readFileSync(join(folder, file.replace(/\.ts$/, '.d.ts')), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  for (const [, name = ''] of text.matchAll(/\b(?:from |import\()['"]([^'"]+)['"]/g)) {
    const next = join(file, '..', name)
    if (!name.startsWith('.')) packages.add(name)
    else if (!seen.has(next)) packagesNeededBy(next, seen, packages)
  }
  return packages
}
