import { PassThrough, Writable } from 'node:stream'
import { main } from '../../src/cli/main.ts'
import { codeBlock, page } from './markdown.ts'

/** The help of every command, as the command line prints it. */
export async function cliPage(): Promise<string> {
  const help = await output('--help')
  const commands = commandsIn(help)
  if (commands.length < 10) throw new Error('the help of the command line does not list its commands any more')
  const sections = await Promise.all(commands.map((name) => section([name])))
  return page(
    'Commands',
    'This page has the help of every command. The options before the commands also work after each command. [The command line](../cli.md) explains how the commands are used.',
    codeBlock(help),
    ...sections,
  )
}

/** The help of a command, followed by the help of its subcommands. */
async function section(names: readonly string[]): Promise<string> {
  const help = withoutGlobalOptions(await output(...names, '--help'))
  const parts = await Promise.all(commandsIn(help).map((name) => section([...names, name])))
  return [`${'#'.repeat(names.length + 1)} daybook ${names.join(' ')}`, codeBlock(help), ...parts].join('\n\n')
}

/** The names of the commands that a help text lists. */
const commandsIn = (help: string): readonly string[] =>
  [...(help.split('\nCommands:')[1] ?? '').matchAll(/^ {2}([a-z-]+)(?:\|[a-z]+)?(?: |$)/gm)]
    .map(([, name]) => name as string)
    .filter((name) => name !== 'help' && name !== 'daybook')

const withoutGlobalOptions = (help: string): string => help.replace(/\nGlobal Options:\n(?: .*\n)+/, '')

async function output(...args: readonly string[]): Promise<string> {
  let text = ''
  const stream = new Writable({
    decodeStrings: false,
    write(piece, _, done) {
      text += String(piece)
      done()
    },
  })
  const terminal = { input: new PassThrough(), output: stream, errors: stream, environment: {}, folder: '.', onSignal: () => () => {} }
  const exitCode = await main(args, terminal)
  if (exitCode !== 0) throw new Error(`daybook ${args.join(' ')} ended with ${exitCode}: ${text}`)
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trim()
}
