import { conversationKey } from '../../src/core/scope.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { openPlanted, other } from '../deletion/planted.ts'

/*
 * Runs one turn after the other in a data folder or a database until it is killed, and holds one turn open:
 *
 *   node busy-child.ts <folder> [<address of a database>]
 *
 * It prints `open` when the open turn runs its tool, and then the number of each turn that has ended. Every fifth conversation is deleted again.
 */
const [data = '', databaseUrl] = process.argv.slice(2)
const TURNS = 4_000
const started = Promise.withResolvers<void>()
const replies = Array.from({ length: TURNS }, (_, n) => [
  reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: `report ${n} `.repeat(1_000), kind: 'file' }),
  reply.answer(`Done: ${n}`),
]).flat()
const settings = { data, store: 'sqlite' as const, workspace: 'custom' as const, ...(databaseUrl !== undefined && { databaseUrl }) }
const { agent } = await openPlanted(settings, [reply.call('wait.until', {}), ...replies], started.resolve)
agent.run(conversationKey(other, 'open'), 'Wait.').result.catch(() => {})
await started.promise
process.stdout.write('open\n')
for (let n = 0; n < TURNS; n++) {
  const key = conversationKey(other, `c${n % 50}`)
  await agent.run(key, `Write report ${n}.`, { attachments: [{ name: 'a.txt', content: `attached ${n} `.repeat(500) }] }).result
  if (n % 5 === 4) await agent.archive.delete(key)
  process.stdout.write(`${n}\n`)
}
