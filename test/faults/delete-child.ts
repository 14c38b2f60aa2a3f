import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { StatementSync } from 'node:sqlite'
import { doomedOwner, openAgentIn } from './delete-work.ts'

/*
 * Deletes the conversation `doomed` in a folder, or with `owner` the user of `doomedOwner`, and kills itself after a step:
 *
 *   node delete-child.ts <folder> <step> [owner]
 *
 * If it comes to the end, it prints the number of steps. A step is a commit of the database, or a call of `rm` or `rename`.
 */
const [folder = '', last = '', what] = process.argv.slice(2)
let steps = 0
const { agent, close } = await openAgentIn(folder)
killSelfAfter(Number(last))
if (what === 'owner') await agent.archive.deleteOwner(doomedOwner)
else await agent.archive.delete('doomed')
process.stdout.write(String(steps))
await close()

function killSelfAfter(target: number): void {
  const endStep = () => {
    if (++steps === target) process.kill(process.pid, 'SIGKILL')
  }
  const run = StatementSync.prototype.run
  StatementSync.prototype.run = function (this: StatementSync, ...values) {
    const result = Reflect.apply(run, this, values)
    if (this.sourceSQL === 'COMMIT') endStep()
    return result
  }
  const promises = fs.promises as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
  for (const name of ['rm', 'rename']) {
    const original = promises[name] as (...args: unknown[]) => Promise<unknown>
    promises[name] = async (...args) => {
      const result = await original.apply(promises, args)
      endStep()
      return result
    }
  }
  syncBuiltinESMExports()
}
