import { PassThrough, Writable } from 'node:stream'
import { main } from '../../src/cli/main.ts'
import { codeBlock, page } from './markdown.ts'

/** The help of every command, as the command line prints it. */
export async function cliPage(): Promise<string> {
  const help = await output('--help')
  const names = [...(help.split('Commands:')[1] ?? '').matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name as string)
  const commands = names.filter((name) => name !== 'help')
  if (commands.length < 10) throw new Error('the help of the command line does not list its commands any more')
  const sections = await Promise.all(
    commands.map(async (name) => `## daybook ${name}\n\n${codeBlock(withoutGlobalOptions(await output(name, '--help')))}`),
  )
  return page(
    'Commands',
    'This page has the help of every command. The options before the commands also work after each command. [The command line](../cli.md) explains how the commands are used.',
    codeBlock(help),
    ...sections,
  )
}

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
