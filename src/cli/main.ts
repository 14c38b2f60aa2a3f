import { createRequire } from 'node:module'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { settingsFrom } from '../config.ts'
import { Failure } from '../core/failure.ts'
import { conversationCommands } from './conversations.ts'
import { greet } from './greet.ts'
import { ledgerCommands } from './ledgers.ts'

const { version, description } = createRequire(import.meta.url)('daybook/package.json') as { version: string; description: string }

/** The whole command line, as a function: arguments in, exit code out. 1 is a failure, 2 a command that makes no sense. */
export async function main(args: readonly string[]): Promise<number> {
  const program = new Command('daybook')
    .description(description)
    .version(version)
    .option('--data <folder>', 'where conversations are kept (or DAYBOOK_DATA)', folderName)
    .exitOverride()
    .showSuggestionAfterError()
  const settings = () => {
    const { data } = program.opts<{ data?: string }>()
    return { ...settingsFrom(process.env), ...(data !== undefined && { data }) }
  }
  program.allowExcessArguments().action(() => {
    const [word] = program.args
    if (word === undefined) return greet(settings(), version)
    return program.error(`unknown command '${word}'; daybook --help lists what there is`)
  })
  let failed = false
  const ledgers = ledgerCommands(settings, () => {
    failed = true
  })
  for (const command of [...conversationCommands(settings), ...ledgers]) program.addCommand(command.exitOverride())

  try {
    await program.parseAsync(args, { from: 'user' })
    return failed ? 1 : 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof Failure) console.error(`${error.code}: ${error.message}`)
    else if (error instanceof RangeError || isRefusedByDisk(error)) console.error(error.message)
    else throw error
    return 1
  }
}

function folderName(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('must be a folder')
  return text
}

/** A file that can not be read or written is the user's to mend; where in our code it was noticed tells nothing. */
const isRefusedByDisk = (error: unknown): error is Error => error instanceof Error && 'syscall' in error
