import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import type { SettingsLayer } from '../config.ts'
import { ledgerCommands } from './commands/cachelint.ts'
import { chatCommand } from './commands/chat.ts'
import { completionCommand } from './commands/completion.ts'
import { configCommand } from './commands/config.ts'
import { doctorCommand } from './commands/doctor.ts'
import { conversationCommands } from './commands/list.ts'
import { runCommand } from './commands/run.ts'
import { serveCommand } from './commands/serve.ts'
import { showCommand } from './commands/show.ts'
import { upgradeCommand } from './commands/upgrade.ts'
import { type CommandContext, createContext } from './context.ts'
import { describeError } from './errors.ts'
import { folderName } from './options.ts'
import { printLine, processTerminal, type Terminal } from './terminal.ts'

const { version, description } = createRequire(import.meta.url)('daybook/package.json') as { version: string; description: string }

/**
 * The whole command line, as a function: arguments in, exit code out. 1 is a failure, 2 a command that makes no sense, above 128 a
 * signal. Whoever runs it inside a program may give settings that come before everything else.
 */
export async function main(
  args: readonly string[],
  terminal: Terminal = processTerminal(),
  given: SettingsLayer['values'] = {},
): Promise<number> {
  let exitCode = 0
  const exit = (code: number) => {
    exitCode = code
  }
  const program = new Command('daybook')
    .description(description)
    .version(version)
    .option('--data <folder>', 'where conversations are kept (or DAYBOOK_DATA)', folderName)
    .option('--model <name>', 'provider/model, or offline (or DAYBOOK_MODEL)')
    .option('--server <url>', 'talk to a server instead of running an agent here (or DAYBOOK_SERVER)')
    .option('--token <token>', 'what the server knows you by (or DAYBOOK_TOKEN, which other users can not see)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => terminal.output.write(text), writeErr: (text) => terminal.errors.write(text) })
    .exitOverride()
    .showSuggestionAfterError()
  const context = createContext(terminal, () => program.opts<SettingsLayer['values']>(), given)
  program.allowExcessArguments().action(() => {
    const [word] = program.args
    if (word === undefined) return printWelcome(context, version)
    return program.error(`unknown command '${word}'; daybook --help lists what there is`)
  })
  const commands = [
    chatCommand(context),
    runCommand(context, exit),
    serveCommand(context),
    ...conversationCommands(context),
    showCommand(context),
    ...ledgerCommands(context, exit),
    configCommand(context),
    doctorCommand(context, exit),
    upgradeCommand(context),
    completionCommand(terminal, program),
  ]
  for (const command of commands) program.addCommand(command.copyInheritedSettings(program).allowExcessArguments(false)) // `run what is this` is no `run what`

  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const line = describeError(error)
    if (line === undefined) throw error
    terminal.errors.write(`${line}\n`)
    return 1
  }
}

/** What it is, where its data is, and what to type next. */
export async function printWelcome(context: CommandContext, version: string): Promise<void> {
  const { terminal } = context
  const { data, server } = await context.settings()
  const { conversations, more } = await context.withConversations((shelf) => shelf.list({ limit: 100 }))
  printLine(terminal, `daybook ${version} on Node ${process.versions.node}`)
  printLine(terminal, 'A timeline-native agent runtime: everything is entered once, in order, and every other view is derived from it.')
  printLine(terminal)
  printLine(terminal, server === undefined ? `data            ${data}` : `server          ${server}`)
  printLine(terminal, `conversations   ${more ? 'more than 100' : conversations.length}`)
  printLine(terminal)
  printLine(terminal, 'next            daybook chat   daybook run "…"   daybook serve   daybook doctor   daybook --help')
}
