import { type FaultRun, runWithFaults } from '../test/support/load/fault-run.ts'

const conversations = Number(process.env.LOAD_CONVERSATIONS ?? 500)
const seconds = Number(process.env.LOAD_SECONDS ?? 60)

const runs: readonly (readonly [name: string, run: FaultRun])[] = [
  ['one server, killed every 5 s', { conversations, seconds, killEveryMs: 5_000, servers: 1 }],
  ['two servers on one folder', { conversations: conversations / 5, seconds: seconds / 2, servers: 2 }],
  ['two servers, one killed every 5 s', { conversations: conversations / 5, seconds: seconds / 2, killEveryMs: 5_000, servers: 2 }],
]

/**
 * Sends many requests to servers, kills the servers meanwhile, and prints what the clients have seen. All printed counts after `entries`
 * must be 0.
 */
export async function bench(): Promise<void> {
  for (const [name, run] of runs) {
    const { errors, ...numbers } = await runWithFaults(run)
    console.log(`${name}: ${run.conversations} conversations for ${run.seconds} s`)
    for (const [what, value] of Object.entries({ ...numbers, errors: errors.length })) {
      console.log(`  ${what.padEnd(18)} ${String(value).padStart(8)}`)
    }
    for (const error of new Set(errors.slice(0, 5))) console.log(`  ${error}`)
  }
}
