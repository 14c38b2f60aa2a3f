import { relative } from 'node:path'
import { Command } from 'commander'
import { errorMessage } from '../../core/failure.ts'
import { serveUntilSignal } from '../commands/serve.ts'
import type { CommandContext, SettingsWithAgent } from '../context.ts'
import { describeError } from '../errors.ts'
import { createLoad, type ModuleLoad } from '../modules/load-module.ts'
import { portNumber, withExamples } from '../options.ts'
import { plainLine } from '../terminal.ts'
import { withReportedTools } from './reported-tools.ts'
import { createFileWatcher } from './watch-files.ts'

interface DevOptions {
  readonly host?: string
  readonly port?: number
}

/** The command `dev`: a server with the user's agent, which is loaded again when one of its files changes. */
export function devCommand(context: CommandContext): Command {
  const command = new Command('dev')
    .description('serve your agent with a web page, and load it again when one of its files changes')
    .option('--host <address>', 'address to listen on; every address except a loopback address needs auth (or DAYBOOK_HOST)')
    .option('--port <n>', 'port; 0 chooses a free one (or DAYBOOK_PORT)', portNumber)
    .action((options: DevOptions) => dev(context, options))
  return withExamples(command, [
    ['daybook dev --agent ./agent.ts', ''],
    ['daybook dev', 'with the agent of daybook.config.ts'],
  ])
}

/** Settings that belong to the process and not to the agent. They keep the values that they had when the command started. */
const fixedSettings = [
  'data',
  'store',
  'host',
  'port',
  'workspace',
  'workspaceRemote',
  'auth',
  'origins',
  'userThinking',
  'sandbox',
  'programs',
  'browser',
  'logLevel',
] as const

async function dev(context: CommandContext, options: DevOptions): Promise<void> {
  const { terminal, style } = context
  const print = (text: string) => void terminal.errors.write(`${text}\n`)
  const loader = createLoader(context, options, print)
  const signal = Promise.withResolvers<'signal'>()
  const stopListening = terminal.onSignal(() => signal.resolve('signal'))
  try {
    let first = await loader.load()
    while (!first) {
      if ((await Promise.race([signal.promise, loader.untilChange()])) === 'signal') return
      first = await loader.load()
    }
    stopListening()
    if (first.agent === undefined)
      throw new RangeError('there is no agent: name its module with --agent, or write a project with daybook init')
    const start = first
    const { origins } = await context.settingsWithOrigins({ ...options })
    // by default the log has only warnings, because a log of all requests would hide the errors of the agent
    const quiet = origins.logLevel === 'default' ? { logLevel: 'warn' as const } : {}
    await serveUntilSignal(context, { ...start, ...quiet }, ({ reload }) => void reloadOnChange(start, reload))
  } finally {
    stopListening()
    loader.close()
  }

  /** Loads the agent again after every change, one load after the other. */
  async function reloadOnChange(start: SettingsWithAgent, reload: (settings: SettingsWithAgent) => Promise<void>): Promise<void> {
    for (;;) {
      const changed = (await loader.untilChange()).map((file) => relative(terminal.folder, file))
      const settings = await loader.load()
      if (!settings) {
        print(style.dim('the previous version of the agent keeps running until the error is fixed'))
        continue
      }
      try {
        await reload(settings)
        print(style.dim(`loaded the agent again: ${plainLine(changed.join(', '))} changed`))
      } catch (error) {
        print(style.failure(plainLine(errorMessage(error)))) // for example a setting that needs a package which is not installed
      }
      const fixed = fixedSettings.filter((name) => JSON.stringify(settings[name]) !== JSON.stringify(start[name]))
      if (fixed.length > 0) print(style.failure(`restart to apply the new ${fixed.join(', ')}`))
    }
  }
}

/** Loads the configuration file and the agent, and watches their files. */
function createLoader(context: CommandContext, options: DevOptions, print: (text: string) => void) {
  const { terminal, style } = context
  let load: ModuleLoad | undefined
  let change = Promise.withResolvers<readonly string[]>()
  const watcher = createFileWatcher((files) => change.resolve(files))
  return {
    /** Resolves to undefined if the user's files have an error. The error is printed. */
    async load(): Promise<SettingsWithAgent | undefined> {
      const before = load?.files ?? new Set()
      const next = createLoad((load?.number ?? 0) + 1)
      load = next
      try {
        const settings = await context.settingsWithAgent({ ...options }, next)
        watcher.set(next.files)
        return withReportedTools(settings, next, terminal.folder, (line) => print(style.failure(line)))
      } catch (error) {
        const line = describeError(error)
        if (line === undefined) throw error
        // also watches the files of the previous load, because the error may be that an import was removed by mistake
        for (const file of before) next.files.add(file)
        watcher.set(next.files)
        print(style.failure(line))
        return undefined
      }
    },
    async untilChange(): Promise<readonly string[]> {
      const files = await change.promise
      change = Promise.withResolvers()
      return files
    },
    close: () => watcher.close(),
  }
}
