import { resolve } from 'node:path'
import { Command, Option } from 'commander'
import { migrateStore } from '../../wiring/installation/migrate.ts'
import { type BucketSide, type MoveProgress, moveInstallation } from '../../wiring/move/move.ts'
import { isDatabaseUrl } from '../../wiring/move/place.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { formatSize } from '../storage-check.ts'
import { printLine, type Terminal, withProgress } from '../terminal.ts'

/** The command `migrate`. */
export function migrateCommand({ terminal, style, settings: readSettings }: CommandContext): Command {
  const command = new Command('migrate')
    .description('bring the database to the format of this version; a newer or damaged database is left unchanged')
    .option('--dry-run', 'print what would be done, and change nothing')
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

interface MoveFlags {
  readonly from: string
  readonly to: string
  readonly s3?: BucketSide
  readonly dryRun?: boolean
}

/** The command `move`. */
export function moveCommand({ terminal, settings: readSettings }: CommandContext): Command {
  const command = new Command('move')
    .description('copy all conversations and files between a folder and a PostgreSQL database, check the copy, and then make it available')
    .requiredOption('--from <place>', 'a folder, an address such as postgres://…, or "database" for DAYBOOK_DATABASE_URL')
    .requiredOption('--to <place>', 'an empty folder or database, in the same form')
    .addOption(
      new Option('--s3 <side>', 'whether the source, the target or both have their files in the S3 bucket of the settings').choices([
        'from',
        'to',
        'both',
        'none',
      ]),
    )
    .option('--dry-run', 'check both sides and count what would be copied; write nothing')
    .action(async ({ from, to, s3: bucket, dryRun = false }: MoveFlags) => {
      const settings = await readSettings()
      const place = (text: string) => {
        if (text === 'database' && settings.databaseUrl === undefined)
          throw new RangeError('"database" needs an address: set DAYBOOK_DATABASE_URL')
        if (text === 'database') return settings.databaseUrl as string // the option was checked above, so the address is set
        return isDatabaseUrl(text) ? text : resolve(terminal.folder, text)
      }
      const progress = progressPrinter(terminal)
      const { databasePrepare } = settings
      const options = { from: place(from), to: place(to), data: settings.data, databasePrepare, s3: settings.s3, bucket, dryRun }
      const report = await moveInstallation({ ...options, onProgress: progress.show }).finally(progress.clear)
      const { conversations, entries, blobs, blobBytes, hostedFiles, workingFiles, isResumed } = report
      if (isResumed) printLine(terminal, dryRun ? 'an interrupted move would be continued' : 'continued the interrupted move')
      printLine(terminal, `${dryRun ? 'would copy' : 'copied and checked'}:`)
      printLine(terminal, `  conversations  ${conversations} with ${entries} entries`)
      printLine(terminal, `  blobs          ${blobs} (${formatSize({ bytes: blobBytes })})`)
      printLine(terminal, `  hosted files   ${hostedFiles}`)
      printLine(terminal, `  working files  ${workingFiles}`)
      if (dryRun) return
      const use = report.to.startsWith('postgres://')
        ? 'set DAYBOOK_DATABASE_URL to its address'
        : `unset DAYBOOK_DATABASE_URL, and use --data ${report.to}`
      printLine(terminal, `${report.from} was not changed. To use ${report.to}, ${use}.`)
    })
  return withExamples(command, [
    ['daybook move --from .daybook --to postgres://daybook@db.example/daybook --dry-run', ''],
    [
      'daybook move --from .daybook --to database',
      'the address is in DAYBOOK_DATABASE_URL, so that its password is not in the process list',
    ],
    ['daybook move --from database --to ./copy', 'back to a folder; after an interruption, the same command continues'],
  ])
}

/** Shows the progress. A terminal gets one line that is updated. A log gets a line for each step, and a further line every ten seconds. */
function progressPrinter({ errors }: Pick<Terminal, 'errors'>) {
  let shownAt = Number.NEGATIVE_INFINITY
  let lastStep: string | undefined
  return {
    show({ step, done, total }: MoveProgress) {
      const isDue = step !== lastStep || done === total || performance.now() - shownAt > (errors.isTTY ? 100 : 10_000)
      if (!isDue) return
      shownAt = performance.now()
      lastStep = step
      errors.write(errors.isTTY ? `\r\x1b[K${step} ${done} of ${total}` : `${step} ${done} of ${total}\n`)
    },
    clear() {
      if (errors.isTTY) errors.write('\r\x1b[K')
    },
  }
}
