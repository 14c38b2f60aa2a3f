import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { argv } from 'node:process'

/*
 * Changes files until it is killed, or dies by its own hand at the given step.
 *   node files-child.ts <folder> <what> [<step>]
 * A step is a call that changes what names there are: the n-th one is never made.
 */
const [, , folder = '', what = '', step] = argv

if (step !== undefined) dieAt(Number(step))
const { runOnce: doOnce, runForever: doForEver } = await import('./files-work.ts')

process.stdin.once('data', async () => {
  if (step === undefined) await doForEver(join(folder), what)
  else await doOnce(folder, what)
  process.stdout.write('done\n', () => process.exit(0))
})
process.stdout.write('ready\n')

function dieAt(last: number): void {
  let made = 0
  const promises = fs.promises as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
  for (const name of ['mkdir', 'rename', 'unlink', 'rmdir', 'open']) {
    const original = promises[name]
    promises[name] = (...given) => {
      const changes = name !== 'open' || (typeof given[1] === 'number' && (given[1] & fs.constants.O_CREAT) !== 0)
      if (changes && ++made === last) process.kill(process.pid, 'SIGKILL')
      return (original as (...given: unknown[]) => Promise<unknown>).apply(promises, given)
    }
  }
  syncBuiltinESMExports()
}
