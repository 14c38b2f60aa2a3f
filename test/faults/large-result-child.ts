/** Runs turns with a tool that returns 50 MB, as a text, as an object and as a stream. Prints how many MB the process has needed for this. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { openStoreIn } from './children.ts'

const [folder = '', file = '', blobs = ''] = process.argv.slice(2)
const megabyte = 1_048_576
const line = `${'A result has many words. '.repeat(40)}\n`
const piece = line.repeat(Math.ceil(megabyte / line.length))
const results = {
  text: () => piece.repeat(50),
  object: () => ({ rows: Array.from({ length: 50 }, () => piece) }),
  async *stream() {
    for (let n = 0; n < 50; n++) yield piece
  },
}
const tools = Object.entries(results).map(([name, run]) =>
  defineTool({ id: `big.${name}`, description: 'Returns 50 MB.', params: z.object({}), run }),
)
const replies = Object.keys(results).flatMap((name) => [reply.call(`big.${name}`, {}), reply.answer('Done.')])
const store = await openStoreIn({ folder, file, blobs })
const agent = createAgentFrom({ model: scriptedModel([reply.answer('Ready.'), ...replies]), store, clock: createSystemClock(), tools })
await agent.run('c1', 'begin').result
const idle = process.memoryUsage.rss()
for (const name of Object.keys(results)) await agent.run('c1', name).result
console.log(Math.round(peakMegabytes() - idle / megabyte))
await agent.close()
await store.close()

/** The most memory that this process has had. `resourceUsage().maxRSS` would count the memory of the process that started this one, too. */
function peakMegabytes(): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return Number(kilobytes) / 1_024
}
