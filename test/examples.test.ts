import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
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
