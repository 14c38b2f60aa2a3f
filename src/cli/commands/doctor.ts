import { Command } from 'commander'
import { sweepUnreferencedBlobs, type UnreferencedBlobs } from '../../wiring.ts'
import type { CommandContext } from '../context.ts'
import { formatSize } from '../doctor-blobs.ts'
import { runChecks } from '../doctor-checks.ts'
import { withExamples } from '../options.ts'
import { printLine } from '../terminal.ts'

/** What works on this machine, and what to do about the rest. Fails when something is missing that nothing works without. */
export function doctorCommand(context: CommandContext, exit: (code: number) => void): Command {
  const { terminal, style } = context
  const command = new Command('doctor')
    .description('what works on this machine, and what to install')
    .option('--sweep', 'first remove blobs that belong to no entry and were put more than a day ago; servers may go on meanwhile')
    .action(async ({ sweep }: { sweep?: true }) => {
      const settings = await context.settings()
      if (sweep) printLine(terminal, sweepReport(await sweepUnreferencedBlobs(settings)))
      const checks = await Promise.all(runChecks(settings, terminal.environment))
      for (const { what, ok, found, advice } of checks) {
        const mark = ok ? style.success('✓') : style.failure('✗')
        printLine(terminal, `${mark} ${what.padEnd(16)} ${ok || advice === undefined ? found : `${found}: ${advice}`}`.trimEnd())
      }
      exit(checks.some(({ ok, needed }) => needed && !ok) ? 1 : 0)
    })
  return withExamples(command, [
    ['daybook doctor', ''],
    ['daybook doctor --sweep', 'what is younger than a day stays: a running server may be about to enter it'],
  ])
}

function sweepReport(removed: UnreferencedBlobs): string {
  if (removed.blobs === 0) return 'no blob has been without an entry for more than a day: nothing was removed'
  return `removed ${removed.blobs} ${removed.blobs === 1 ? 'blob' : 'blobs'} (${formatSize(removed)}) without an entry for more than a day`
}
