import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { openStore } from '../../wiring/store.ts'
import type { CommandContext } from '../context.ts'
import { withExamples } from '../options.ts'
import { printLine, withProgress } from '../terminal.ts'

/**
 * The command `upgrade`. It opens the store, and opening the store upgrades the database in one transaction. So every other command that
 * opens the store upgrades the database too.
 */
export function upgradeCommand({ terminal, style, settings }: CommandContext): Command {
  const command = new Command('upgrade')
    .description('upgrade the database to the format of this version; a newer or damaged one is left unchanged')
    .action(async () => {
      const { data } = await settings()
      const file = join(data, 'daybook.db')
      if (!existsSync(file)) return printLine(terminal, `there is no database in ${data} yet: nothing to do`)
      const store = await withProgress(terminal, style, `upgrading ${file}`, () => openStore({ data }))
      await store.close()
      printLine(terminal, `${file} has the format of this version`)
    })
  return withExamples(command, [['cp -r .daybook .daybook.before && daybook upgrade', '']])
}
