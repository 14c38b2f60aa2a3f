import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createCommandLine } from './support/command-line.ts'
import { writtenPages } from './support/docs/pages.ts'

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

/** The commands in the code blocks of a page, without comments. Lines that only explain an output are no commands. */
const commandsIn = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^(?:[A-Z_]+=\S+ )*(?:npx )?daybook ([a-z-].*)$/gm)].map(([, words]) => words as string)

it('the pages name only existing commands and options', async () => {
  const found = writtenPages.flatMap((page) => commandsIn(page).map((words) => ({ page, words })))
  expect(found.length).toBeGreaterThan(60)
  const line = createCommandLine()
  const help = new Map<string, { readonly exitCode: number; readonly text: string }>()
  /** The help of a command. If the next word is a command in it, such as `set` in `admin budgets set`, the help of that command. */
  const helpOf = async ([command = '', ...rest]: readonly string[]): Promise<{ readonly exitCode: number; readonly text: string }> => {
    const known = help.get(command) ?? (await line.run(...command.split(' '), '--help'))
    help.set(command, known)
    const [next = '', ...others] = rest
    const isCommand = new RegExp(`^ {2}${next} `, 'm').test(known.text.split('\nCommands:')[1] ?? '')
    return /^[a-z-]+$/.test(next) && isCommand ? helpOf([`${command} ${next}`, ...others]) : known
  }
  try {
    for (const { page, words } of found) {
      const given =
        words
          .split(/ {2,}|#|(?<= )[;|>]/)[0]
          ?.trim()
          .split(' ') ?? []
      const start = given.findIndex((word, n) => !word.startsWith('--') && !given[n - 1]?.startsWith('--')) // after options of all commands
      const { exitCode, text } = await helpOf(given.slice(start))
      expect(exitCode, `${page}: daybook ${words}`).toBe(0)
      for (const option of given.filter((word) => /^--[a-z]/.test(word))) expect(text, `${page}: daybook ${words}`).toContain(option)
    }
  } finally {
    line.remove()
  }
})

it.each(['starter/agent', 'shop'])('the test examples/%s.test.ts passes', async (name) => {
  const { stdout } = await run(process.execPath, ['--conditions=daybook-source', '--test', `examples/${name}.test.ts`])
  expect(stdout).toMatch(/pass 1\n.*fail 0/s)
})
