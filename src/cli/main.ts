import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import type { SettingsLayer } from '../config/config.ts'
import { adminCommand } from './commands/admin/admin.ts'
import { backupCommand, restoreCommand } from './commands/backup.ts'
import { exportCommand, importCommand } from './commands/bundles.ts'
import { cachelintCommand } from './commands/cachelint.ts'
import { chatCommand } from './commands/chat.ts'
import { deleteCommand, forkCommand, listCommand, renameCommand, retryCommand } from './commands/conversations.ts'
import { filesCommand } from './commands/files.ts'
import { migrateCommand, moveCommand } from './commands/installation.ts'
import { knowledgeCommand } from './commands/knowledge.ts'
import { mcpCommand } from './commands/mcp.ts'
import { replayCommand } from './commands/replay.ts'
import { cacheCommand, costCommand, effectsCommand } from './commands/reports.ts'
import { runCommand } from './commands/run.ts'
import { scheduleCommand } from './commands/schedule.ts'
import { sendCommand, steerCommand, stopCommand } from './commands/send.ts'
import { serveCommand } from './commands/serve.ts'
import { completionCommand } from './commands/setup/completion.ts'
import { configCommand } from './commands/setup/config.ts'
import { doctorCommand } from './commands/setup/doctor.ts'
import { initCommand } from './commands/setup/init.ts'
import { showCommand } from './commands/show.ts'
import { approveCommand, completeCommand, refuseCommand, waitingCommand } from './commands/waiting.ts'
import { type CommandContext, createContext } from './context.ts'
import { devCommand } from './dev/dev.ts'
import { describeError } from './errors.ts'
import { folderName } from './options.ts'
import { rehearseCommand } from './rehearse/rehearse.ts'
import { printLine, processTerminal, type Terminal } from './terminal.ts'
import { tortureCommand } from './torture/torture.ts'

const { version, description } = createRequire(import.meta.url)('daybook/package.json') as { version: string; description: string }

/**
 * Runs the command line and returns the exit code: 0 for success, 1 for a failure, 2 for a wrong command or option, 3 if the turn waits for
 * a person or a late result. After a signal, the exit code is above 128. `given` has the settings of a program that calls this function.
 * They take precedence over all other settings.
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
    .option('--data <folder>', 'folder for conversations and files (or DAYBOOK_DATA)', folderName)
    .option('--model <name>', 'provider/model, or offline (or DAYBOOK_MODEL)')
    .option('--dialect <dialect>', 'how the model calls tools: auto, channels or native (or DAYBOOK_DIALECT)')
    .option('--agent <file>', 'a module that exports your agent (or DAYBOOK_AGENT)')
    .option('--skills <folders>', 'folders with skills, with commas between them (or DAYBOOK_SKILLS)')
    .option('--knowledge <folders>', 'folders with documents to search, with commas between them (or DAYBOOK_KNOWLEDGE)')
    .option('--server <url>', 'use the agent of a server instead of a local one (or DAYBOOK_SERVER)')
    .option('--token <token>', 'access token for the server (or DAYBOOK_TOKEN, which is not visible in the process list)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => terminal.output.write(text), writeErr: (text) => terminal.errors.write(text) })
    .exitOverride()
    .showSuggestionAfterError()
  const context = createContext(terminal, () => program.opts<SettingsLayer['values']>(), given)
  program.allowExcessArguments().action(() => {
    const [word] = program.args
    if (word === undefined) return printWelcome(context, version)
    return program.error(`unknown command '${word}'; daybook --help lists the commands`)
  })
  const commands = [
    chatCommand(context),
    runCommand(context, exit),
    sendCommand(context),
    steerCommand(context, exit),
    stopCommand(context, exit),
    serveCommand(context),
    devCommand(context),
    mcpCommand(context),
    initCommand(context),
    listCommand(context),
    filesCommand(context),
    waitingCommand(context),
    approveCommand(context, exit),
    refuseCommand(context, exit),
    completeCommand(context, exit),
    scheduleCommand(context),
    forkCommand(context),
    renameCommand(context),
    retryCommand(context),
    adminCommand(context),
    backupCommand(context),
    restoreCommand(context),
    exportCommand(context),
    importCommand(context),
    deleteCommand(context),
    showCommand(context),
    cacheCommand(context),
    costCommand(context),
    effectsCommand(context),
    replayCommand(context, exit),
    rehearseCommand(context, exit),
    tortureCommand(context, exit),
    cachelintCommand(context, exit),
    knowledgeCommand(context),
    configCommand(context),
    doctorCommand(context, exit),
    migrateCommand(context),
    moveCommand(context),
    completionCommand(terminal, program),
  ]
  // Additional arguments are an error, because they usually mean that quotes are missing, as in `daybook run what is this`.
  for (const command of commands) {
    program.addCommand(command)
    inheritSettings(command, program)
  }

  program.hook('preAction', () => {
    const options = program.opts<SettingsLayer['values']>()
    const ignored = options.server === undefined ? undefined : localOptions.find((name) => options[name] !== undefined)
    if (ignored) program.error(`error: --${ignored} has no effect with --server: the server has an agent of its own`)
  })

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

/** Options of a local agent. They are refused together with `--server`, because the server has an agent of its own. */
const localOptions = ['agent', 'model', 'dialect', 'skills', 'knowledge'] as const

/** Lets a command and its subcommands use the output and the error handling of the program. */
function inheritSettings(command: Command, program: Command): void {
  command.copyInheritedSettings(program).allowExcessArguments(false)
  for (const part of command.commands) inheritSettings(part, program)
}

/** Prints the version, the data folder and commands to start with. It runs when the user gives no command. */
async function printWelcome(context: CommandContext, version: string): Promise<void> {
  const { terminal } = context
  const { data, store, databaseUrl, server } = await context.settings()
  const { conversations, more } = await context.withConversations((client) => client.list({ limit: 100 }))
  printLine(terminal, `daybook ${version} on Node ${process.versions.node}`)
  printLine(terminal, 'An agent runtime that keeps a journal of each conversation: the list of all changes, in order.')
  printLine(terminal)
  const local = `data            ${store === 'memory' ? 'in memory' : databaseUrl === undefined ? data : 'PostgreSQL'}`
  printLine(terminal, server === undefined ? local : `server          ${server}`)
  printLine(terminal, `conversations   ${more ? 'more than 100' : conversations.length}`)
  printLine(terminal)
  printLine(terminal, 'next            daybook chat   daybook run "…"   daybook serve   daybook doctor   daybook --help')
}
