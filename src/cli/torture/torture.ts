import { existsSync, rmdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { violationKinds } from '../../testing/torture/scenario.ts'
import type { TortureRow } from '../../testing/torture/torture.ts'
import type { CommandContext } from '../context.ts'
import { positiveInteger, withExamples } from '../options.ts'
import { columns, plural } from '../table.ts'
import { type EndSignal, exitCodeOf, plainLine, printLine, type Style, type Terminal } from '../terminal.ts'

interface TortureFlags {
  readonly database?: string
  readonly storeModule?: string
  readonly rounds: number
  readonly seconds?: number
  readonly only?: string
  readonly seed?: number
  readonly realTime?: true
  readonly json?: true
}

const MAX_SEED = 2 ** 31

/**
 * The command `torture`. It exits with 1 when the store breaks a rule, or when a row of the table did not run because the time was over.
 */
export function tortureCommand(context: CommandContext, exit: (code: number) => void): Command {
  const { terminal, style } = context
  const command = new Command('torture')
    .description('kill and freeze processes that use a temporary store of the same kind as yours, and check that the store loses nothing')
    .option('--database <url>', 'a PostgreSQL database, in scratch schemas (default: the store of the settings)')
    .option('--store-module <file>', 'a module that exports `openStore`, for a store of your own')
    .option('--rounds <number>', 'how often each row (a scenario, such as kill-commit) is run', positiveInteger, 1)
    .option('--seconds <number>', 'start no further scenario after this many seconds', positiveInteger)
    .option('--only <rows>', 'the names of rows, with commas between them')
    .option('--seed <number>', 'chooses the random moments (default: a random number, which is printed)', positiveInteger)
    .option('--real-time', 'wait for the end of leases instead of moving the clock of the processes')
    .option('--json', 'print one JSON line per row, the sums last')
    .action(async (flags: TortureFlags) => {
      if (process.platform === 'win32') throw new RangeError('this command needs the signals of Linux or macOS')
      // imported on demand, because other commands do not need it
      const { torture, scenarios } = await import('../../testing/torture/torture.ts')
      const only = flags.only?.split(',').map((name) => name.trim())
      const unknown = only?.filter((name) => !scenarios.some((scenario) => scenario.name === name)) ?? []
      if (unknown.length > 0)
        throw new RangeError(`there is no row ${unknown.join(', ')}; rows are: ${scenarios.map(({ name }) => name).join(', ')}`)
      const settings = await context.settings(flags.database === undefined ? {} : { databaseUrl: flags.database })
      if (settings.server !== undefined) throw new RangeError('this command opens the store itself: run it without --server')
      const { databaseUrl } = settings
      const folder = resolve(terminal.folder, settings.data)
      const isNewFolder = !existsSync(folder)
      const seed = flags.seed ?? 1 + Math.floor(Math.random() * MAX_SEED)
      const module = flags.storeModule === undefined ? undefined : resolve(terminal.folder, flags.storeModule)
      if (module !== undefined && !existsSync(module)) throw new RangeError(`there is no file ${flags.storeModule}`)
      const place = module !== undefined ? flags.storeModule : databaseUrl === undefined ? `SQLite in ${folder}` : 'PostgreSQL'
      if (!flags.json) printLine(terminal, style.dim(`${place}, in a scratch place that is removed at the end, seed ${seed}`))
      const interrupted = new AbortController()
      let signal: EndSignal | undefined
      const removeListener = terminal.onSignal((given) => {
        signal = given
        interrupted.abort()
      })
      try {
        const rows = await torture({
          folder,
          seed,
          rounds: flags.rounds,
          signal: interrupted.signal,
          ...(databaseUrl !== undefined && { databaseUrl }),
          ...(module !== undefined && { module }),
          ...(only && { only }),
          ...(flags.seconds !== undefined && { seconds: flags.seconds }),
          ...(flags.realTime && { realTime: true }),
          onProgress: progressPrinter(terminal, flags.rounds),
        })
        if (terminal.errors.isTTY) terminal.errors.write('\r\x1b[K')
        printRows(rows, { seed, json: flags.json, isInterrupted: signal !== undefined }, terminal, style)
        if (signal !== undefined) exit(exitCodeOf(signal))
        else if (rows.some((row) => row.violations.length > 0 || row.rounds === 0)) exit(1)
      } finally {
        removeListener()
        if (isNewFolder && databaseUrl === undefined) removeIfEmpty(folder)
      }
    })
  return withExamples(command, [
    ['daybook torture', 'the data folder, or the database of the settings'],
    ['daybook torture --database postgres://daybook@127.0.0.1/daybook --rounds 10', ''],
    ['daybook torture --store-module ./my-store.ts --only kill-commit,freeze --json', 'a store of your own, in continuous integration'],
  ])
}

function progressPrinter({ errors }: Pick<Terminal, 'errors'>, rounds: number) {
  return ({ round, title }: { readonly round: number; readonly title: string }) => {
    const line = `${rounds > 1 ? `round ${round} of ${rounds}: ` : ''}${title}`
    errors.write(errors.isTTY ? `\r\x1b[K${line} …` : `${line}\n`)
  }
}

/** How many findings of a row are printed. */
const SHOWN = 5

function printRows(
  rows: readonly TortureRow[],
  { seed, json, isInterrupted }: { readonly seed: number; readonly json: true | undefined; readonly isInterrupted: boolean },
  terminal: Terminal,
  style: Style,
): void {
  const print = (line = '') => printLine(terminal, line)
  const failed = rows.filter(({ violations }) => violations.length > 0)
  const missing = rows.filter(({ rounds }) => rounds === 0)
  if (json) {
    for (const row of rows) print(JSON.stringify({ type: 'row', ...row }))
    const sums = { rows: rows.length, failed: failed.length, notRun: missing.length, seed }
    print(JSON.stringify({ type: 'sums', ok: failed.length + missing.length === 0, ...sums }))
    return
  }
  for (const isObligation of [false, true]) {
    const chosen = rows.filter((row) => row.isObligation === isObligation)
    if (chosen.length === 0) continue
    print()
    for (const line of tableOf(chosen, isObligation ? 'obligation' : 'row')) print(line)
  }
  for (const { name, violations } of failed) {
    print()
    print(style.failure(`${name}:`))
    for (const { kind, text } of violations.slice(0, SHOWN)) print(`    ${kind}: ${plainLine(text)}`)
    if (violations.length > SHOWN) print(`    and ${plural(violations.length - SHOWN, 'more finding')}`)
  }
  print()
  const reason = isInterrupted ? 'the command was interrupted' : 'the time was over'
  if (missing.length > 0) print(style.failure(`not run, because ${reason}: ${missing.map(({ name }) => name).join(', ')}`))
  if (failed.length > 0) print(style.failure(`${plural(failed.length, 'row')} of ${rows.length} failed: this store breaks its promises`))
  else if (missing.length === 0) print(style.success(`${plural(rows.length, 'row')}: nothing was lost, doubled, repeated or paid twice`))
}

/** The lines of the table. For each row, it shows what was done, and how many findings of each kind there are. */
function tableOf(rows: readonly TortureRow[], heading: string): readonly string[] {
  const cells = rows.map(({ name, rounds, faults, checks, seconds, violations }) => [
    name,
    faults,
    checks,
    ...violationKinds.map((kind) => String(violations.filter((found) => found.kind === kind).length || '–')),
    `${seconds.toFixed(1)} s`,
    rounds === 0 ? 'not run' : violations.length === 0 ? 'ok' : 'FAILED',
  ])
  return columns([[heading, 'faults', 'checks', ...violationKinds, 'time', 'result'], ...cells])
}

/** Removes the data folder again if this command has made it. */
function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY') throw error
  }
}
