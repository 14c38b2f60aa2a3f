import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { argv } from 'node:process'

/*
 * Runs a file operation again and again until the parent kills this process:
 *
 *   node files-child.ts <folder> <operation>
 *
 * With a step, it runs the operation once and kills itself at this step:
 *
 *   node files-child.ts <folder> <operation> <step>
 *
 * A step is a call that creates, renames or removes a file or folder. The process kills itself in place of making this call.
 */
const [, , folder = '', operation = '', step] = argv

if (step !== undefined) killSelfAt(Number(step))
const { runOnce: doOnce, runForever: doForEver } = await import('./files-work.ts')

process.stdin.once('data', async () => {
  if (step === undefined) await doForEver(join(folder), operation)
  else await doOnce(folder, operation)
  process.stdout.write('done\n', () => process.exit(0))
})
process.stdout.write('ready\n')

function killSelfAt(target: number): void {
  let count = 0
  type Calls = Record<string, (...args: unknown[]) => unknown>
  const countCalls = (calls: Calls, suffix: string) => {
    for (const name of ['mkdir', 'rename', 'unlink', 'rmdir', 'open'].map((each) => each + suffix)) {
      const original = calls[name]
      calls[name] = (...args) => {
        const changes = !name.startsWith('open') || (typeof args[1] === 'number' && (args[1] & fs.constants.O_CREAT) !== 0)
        if (changes && ++count === target) process.kill(process.pid, 'SIGKILL')
        return original?.apply(calls, args)
      }
    }
  }
  countCalls(fs.promises as unknown as Calls, '')
  countCalls(fs as unknown as Calls, 'Sync')
  syncBuiltinESMExports()
}
