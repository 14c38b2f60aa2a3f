import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const readme = readFileSync('README.md', 'utf8')

/** Examples import the package by its name; this condition lets that mean the sources. */
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

it('every file the documents link to is there', () => {
  for (const document of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']) {
    for (const [, target] of readFileSync(document, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
      expect(() => readFileSync(target as string), `${document} -> ${target}`).not.toThrow()
    }
  }
})
