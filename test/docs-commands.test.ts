import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from './support/command-line.ts'
import { writtenPages } from './support/docs/pages.ts'
import { pdf } from './support/sample-files/pdf.ts'

/** The `daybook` commands in the code blocks of a page. A comment follows after `#` or after two spaces. */
const commandsIn = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^(?:[A-Z_]+=\S+ )*(?:npx )?daybook ([a-z-].*)$/gm)].map(([, words = '']) =>
    (words.split(/ {2,}| #/)[0] as string).trim(),
  )

/** Commands that the test can not run, and why. The test in test/examples.test.ts checks that these commands and their options exist. */
const notRun: readonly (readonly [RegExp, string])[] = [
  [/^(?:serve|dev)\b/, 'runs until it is ended'],
  [/--server|--token/, 'needs a server'],
  [/--model (?:ollama|anthropic)/, 'needs a provider'],
  [/database|^migrate/, 'needs a database'],
  [/^(?:approve|refuse|complete|steer|stop)\b/, 'needs a turn that waits or runs'],
  [/^(?:backup|restore)\b|--data restored/, 'writes to a folder outside of the test, or needs it: see test/backup'],
]
const isRun = (command: string): boolean => !notRun.some(([pattern]) => pattern.test(command))

let line: CommandLine | undefined
afterEach(() => line?.remove())

/** A folder with the files and conversations that the pages name. */
async function prepare(): Promise<{ readonly commandLine: CommandLine; readonly turn: string }> {
  const created = createCommandLine({ model: 'offline' })
  line = created
  const file = (name: string, content: string | Uint8Array) => writeFileSync(join(created.folder, name), content)
  file('orders.csv', 'order,city,price\n1,Bergen,189.90\n2,Oslo,49.50\n3,Oslo,179.00\n')
  for (const name of ['report.pdf', 'a.pdf']) file(name, pdf(['Costs were 7 in March.']))
  file('agent.ts', "export const agent = { model: 'offline', tools: [], instructions: 'You help.' }\n")
  for (const folder of ['docs', 'policies']) {
    mkdirSync(join(created.folder, folder))
    file(`${folder}/a.md`, '# Refunds\n\nA refund takes three days.\n')
  }
  for (const id of ['first', 'costs', 'game', 'my-recorded-conversation']) {
    await created.run(
      'run',
      'What is the total price in Oslo?',
      '--attach',
      'orders.csv',
      '--conversation',
      id,
      '--quiet',
      '--agent',
      './agent.ts',
    )
  }
  const { output } = await created.run('show', 'costs')
  return { commandLine: created, turn: /turn_\w+/.exec(output)?.[0] ?? '' }
}

/** Splits a command as a shell does. `<conversation>` and `$TURN` stand for a value. */
const wordsOf = (command: string, turn: string, folder: string): readonly string[] =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, plain]) =>
    (single ?? double ?? plain ?? '')
      .replace('<conversation>', 'first')
      .replace('$TURN', turn)
      .replace(/\.\/(?=docs|policies)/g, `${folder}/`),
  )

const pages = writtenPages.filter((page) => commandsIn(page).some(isRun))

it('the pages have commands that are run', () => {
  expect(pages.flatMap(commandsIn).filter(isRun).length).toBeGreaterThan(40)
})

it.each(pages)('the commands of %s run', async (page) => {
  const { commandLine, turn } = await prepare()
  for (const line of commandsIn(page).filter(isRun)) {
    const [command = '', target] = line.split(' > ')
    const { exitCode, text, output } = await commandLine.run(...wordsOf(command, turn, commandLine.folder))
    expect({ command, exitCode, text: exitCode === 0 ? '' : text }).toEqual({ command, exitCode: 0, text: '' })
    if (target) writeFileSync(join(commandLine.folder, target), output)
  }
})
