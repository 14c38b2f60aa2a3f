import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'daybook-modules-'))
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

/** Modules that can not be loaded, and the expected message for each. The modules `a/…` are imported by a module that has no error. */
const cases: Readonly<Record<string, readonly [source: string, words: string]>> = {
  'throws.ts': ['\nfunction tools(): never {\n  throw new TypeError("bad tools")\n}\ntools()\n', 'bad tools (throws.ts:3:9)'],
  'end.mjs': ['\nexport const agent = {', 'Unexpected end of input (end.mjs:2)'],
  'twice.ts': ['\nconst one: string[] = []\nconst one = 1\n', "Identifier 'one' has already been declared (twice.ts:3)"],
  'types.ts': ['\n\nenum Kind { One }\n', 'TypeScript enum is not supported in strip-only mode (types.ts:3)'],
  'broken.ts': ['\nexport const tools = {{\n', '(broken.ts:2)'],
  'export.ts': ["\nimport { tools } from './good.ts'\n", "does not provide an export named 'tools' (export.ts:2)"],
  'missing.ts': ["\nimport './nothing.ts'\n", '(missing.ts:2)'],
  'package.ts': ["\nimport 'no-such-package'\n", "Cannot find package 'no-such-package'"],
  'option.ts': ['\nexport const agent = { tool: [] }', 'there is no option `tool`'],
  'thrown-text.ts': ['throw "a text"', 'a text'],
}

/** Loads all modules in one process. Vitest would import them in its own way, with other error messages. */
let results: Readonly<Record<string, string>>
beforeAll(() => {
  write('package.json', '{ "type": "module" }')
  mkdirSync(join(folder, 'a'))
  write('good.ts', 'export const other = 1\n')
  for (const [name, [source]] of Object.entries(cases)) {
    write(name, source)
    write(`a/${name}`, `\nimport '../${name}'\nexport const agent = {}\n`)
  }
  const program = `
    const { loadAgentModule } = await import('./src/cli/modules/agent-module.ts')
    const { createLoad } = await import('./src/cli/modules/load-module.ts')
    const results = {}
    for (const [index, name] of process.argv.slice(2).entries())
      results[name] = await loadAgentModule(name, process.argv[1], createLoad(1 + index)).then(() => 'loaded', (error) => error.message)
    console.log(JSON.stringify(results))`
  const names = Object.keys(cases).flatMap((name) => [name, `a/${name}`])
  results = JSON.parse(
    execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', program, folder, ...names], { encoding: 'utf8' }),
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('an error in a module of the user is shown with its place', () => {
  it.each(Object.keys(cases))('%s', (name) => {
    expect(results[name]).toContain(cases[name]?.[1])
    expect(results[name]).not.toContain('daybook-load')
  })

  it.each(Object.keys(cases).filter((name) => name !== 'option.ts'))('%s, imported by another module', (name) => {
    expect(results[`a/${name}`]).toContain(cases[name]?.[1])
  })

  it('a module without an error is loaded, whatever its imported modules do', () => {
    expect(results['a/option.ts']).toBe('loaded')
  })
})
