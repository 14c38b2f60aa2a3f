import { Command } from 'commander'
import type { CommandContext } from './context.ts'
import { checksOf } from './doctor-checks.ts'
import { withExamples } from './options.ts'
import { printLine } from './terminal.ts'

/** What works on this machine, and what to do about the rest. Fails when something is missing that nothing works without. */
export function doctorCommand(context: CommandContext, exit: (code: number) => void): Command {
  const { terminal, style } = context
  const command = new Command('doctor').description('what works on this machine, and what to install').action(async () => {
    const checks = await Promise.all(checksOf(await context.settings(), terminal.environment))
    for (const { what, ok, found, advice } of checks) {
      const mark = ok ? style.good('✓') : style.bad('✗')
      printLine(terminal, `${mark} ${what.padEnd(16)} ${ok || advice === undefined ? found : `${found}: ${advice}`}`.trimEnd())
    }
    exit(checks.some(({ ok, needed }) => needed && !ok) ? 1 : 0)
  })
  return withExamples(command, [['daybook doctor', '']])
}
