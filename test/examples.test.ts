import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createHooks } from '../src/agent/hooks.ts'
import { defaultAgentSettings } from '../src/agent/settings.ts'
import { variables } from '../src/config.ts'
import { createCommandLine } from './support/command-line.ts'

const run = promisify(execFile)
const readme = readFileSync('README.md', 'utf8')

/** Runs an example. Examples import `daybook` by its name, and this condition resolves the name to the sources. */
const example = async (name: string) => (await run(process.execPath, ['--conditions=daybook-source', `examples/${name}.ts`])).stdout

it.each(['minimal', 'own-tool'])('examples/%s.ts runs, and the README shows what it prints', async (name) => {
  expect(readme).toContain(`\`\`\`\n${await example(name)}\`\`\``)
})

it('examples/offline.ts runs, and docs/offline.md shows it and what it prints', async () => {
  const page = readFileSync('docs/offline.md', 'utf8')
  expect(page).toContain(`\`\`\`ts\n${readFileSync('examples/offline.ts', 'utf8')}\`\`\``)
  expect(page).toContain(`\`\`\`\n${await example('offline')}\`\`\``)
})

it('the README shows examples/minimal.ts as it is', () => {
  expect(readme).toContain(`\`\`\`ts\n${readFileSync('examples/minimal.ts', 'utf8')}\`\`\``)
})

const linksIn = (document: string) =>
  [...readFileSync(document, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target]) => join(dirname(document), target as string))

it('every file that the documents link to exists', () => {
  const pages = readdirSync('docs').map((name) => `docs/${name}`)
  for (const document of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'WORDS.md', ...pages]) {
    for (const target of linksIn(document)) expect(() => readFileSync(target), `${document} -> ${target}`).not.toThrow()
  }
})

it('every file that the README links to is in the npm package', () => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly files: readonly string[] }
  const missing = linksIn('README.md').filter((target) => !files.some((entry) => target === entry || target.startsWith(`${entry}/`)))
  expect(missing).toEqual([])
})

it('every source file that ARCHITECTURE.md names exists', () => {
  const paths = readdirSync('.', { recursive: true, encoding: 'utf8' }).filter((path) => /^(src|test|docs)\//.test(path))
  const named = [...readFileSync('ARCHITECTURE.md', 'utf8').matchAll(/`([\w./-]+\.(?:ts|md))`/g)].map(([, path]) => path as string)
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter((name) => !paths.some((path) => path === name || path.endsWith(`/${name}`)))).toEqual([])
})

it.each(['README.md', 'docs/cli.md'])('%s names only existing commands and options', async (document) => {
  const lines = [...readFileSync(document, 'utf8').matchAll(/^(?:npx )?daybook ([a-z].*)$/gm)].map(([, words]) => words as string)
  expect(lines.length).toBeGreaterThan(4)
  const line = createCommandLine()
  try {
    for (const words of lines) {
      const [command = '', ...rest] = words.split(/ {2,}|#/)[0]?.split(' ') ?? []
      const { exitCode, text } = await line.run(command, '--help')
      expect(exitCode, words).toBe(0)
      for (const option of rest.filter((word) => word.startsWith('--'))) expect(text, words).toContain(option)
    }
  } finally {
    line.remove()
  }
})

it('docs/cli.md has every setting, by its name in a file and by its environment variable', () => {
  const page = readFileSync('docs/cli.md', 'utf8')
  for (const [name, variable] of Object.entries(variables)) expect(page).toMatch(new RegExp(`\\| \`${name}\`[^|]* \\| \`${variable}\` \\|`))
})

it('docs/sdk.md has every setting of an agent and every hook', () => {
  const page = readFileSync('docs/sdk.md', 'utf8')
  const cells = page.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')[1] as string] : []))
  const named = new Set(cells.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name)))
  expect(Object.keys(defaultAgentSettings).filter((name) => !named.has(name))).toEqual([])
  const hooks = createHooks([], { timeoutMs: 1, onError: () => {} })
  expect(Object.keys(hooks).filter((name) => !named.has(name))).toEqual([])
})
