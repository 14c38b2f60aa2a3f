import { resolve } from 'node:path'
import { Command } from 'commander'
import { type BackupReport, backUpInstallation, restoreInstallation } from '../../wiring/installation/backup.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { plural } from '../table.ts'
import { printLine, withProgress } from '../terminal.ts'

const contents = ({ conversations, entries, blobs, files }: BackupReport) =>
  `${plural(conversations, 'conversation')} with ${plural(entries, 'entry', 'entries')}, ${plural(blobs, 'blob')}, ${plural(files, 'file')}`

/** The command `backup`. */
export function backupCommand({ terminal, style, settings: readSettings }: CommandContext): Command {
  const command = new Command('backup')
    .description('copy the data folder to an empty folder, even while servers use it')
    .argument('<folder>', 'an empty or new folder for the back-up')
    .option('--json', 'print what was copied as JSON')
    .action(async (folder: string, { json }: { json?: true }) => {
      const settings = await readSettings()
      const target = resolve(terminal.folder, folder)
      const work = () => backUpInstallation(settings, target, new Date().toISOString())
      const report = await withProgress(terminal, style, 'backing up', work)
      if (json) return printLine(terminal, JSON.stringify(report, undefined, 2))
      printLine(terminal, `backed up to ${target}: ${contents(report)}`)
      if (report.bucket) printLine(terminal, 'blobs and files for users are in the bucket, which was not copied: copy the bucket now')
    })
  return withExamples(command, [['daybook backup /backups/$(date +%F)', '']])
}

/** The command `restore`. */
export function restoreCommand({ terminal, style, settings: readSettings }: CommandContext): Command {
  const command = new Command('restore')
    .description('copy a back-up to an empty data folder, and check it')
    .argument('<folder>', 'a back-up that daybook backup has made')
    .option('--json', 'print what was restored as JSON')
    .action(async (folder: string, { json }: { json?: true }) => {
      const settings = await readSettings()
      const work = () => restoreInstallation(settings, resolve(terminal.folder, folder))
      const report = await withProgress(terminal, style, 'restoring', work)
      if (json) return printLine(terminal, JSON.stringify(report, undefined, 2))
      printLine(terminal, `restored to ${settings.data} as of ${report.createdAt}: ${contents(report)}`)
      printLine(terminal, 'open turns continue when a server starts; data that was deleted after the back-up has to be deleted again')
    })
  return withExamples(command, [['daybook restore /backups/2030-01-31 --data ./restored', '']])
}
