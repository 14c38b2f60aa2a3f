import { Command } from 'commander'
import { migrateStore } from '../../wiring/migrate.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { printLine, withProgress } from '../terminal.ts'

/** The command `migrate`. */
export function migrateCommand({ terminal, style, settings: readSettings }: CommandContext): Command {
  const command = new Command('migrate')
    .description('bring the database to the format of this version; a newer or damaged one is left unchanged')
    .option('--dry-run', 'say what would be done, and keep nothing of it')
    .action(async ({ dryRun = false }: { dryRun?: boolean }) => {
      const settings = await readSettings()
      const done = await withProgress(terminal, style, 'migrating the database', () => migrateStore(settings, { dryRun }))
      if (!done) return printLine(terminal, `there is no database in ${settings.data} yet: nothing to do`)
      const { database, from, to } = done
      if (from === to) return printLine(terminal, `${database} has the format of this version (${to}): nothing to do`)
      const change = from === 0 ? `created with format ${to}` : `migrated from format ${from} to ${to}`
      printLine(terminal, `${database} ${dryRun ? 'would be' : 'was'} ${change}`)
    })
  return withExamples(command, [
    ['daybook migrate --dry-run', ''],
    ['cp -r .daybook .daybook.before && daybook migrate', ''],
  ])
}
