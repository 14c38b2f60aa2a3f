// Runs one operation of the archive on the conversation `c` of a store: `node archive-call.ts <folder> <operation>`. Prints how many
// microseconds the operation took, and how many kilobytes the memory of the process grew at its peak.
import { createAgent } from '../../src/wiring/agent.ts'
import { openStore } from '../../src/wiring/store.ts'
import { steadyModel } from '../watched/programs/steady-model.ts'
import type { archiveCalls } from './archive.ts'
import { microsFor } from './measure.ts'

const [data = '', call] = process.argv.slice(2) as [string, (typeof archiveCalls)[number]]
const store = await openStore({ data })
const agent = createAgent({ model: steadyModel({ rounds: 1 }), store })
const { lastSeq } = await agent.archive.head('c')
const operations = {
  timeline: () => agent.archive.timeline('c'),
  exportBundle: () => agent.archive.exportBundle('c'),
  usage: () => agent.archive.usage('c'),
  fork: () => agent.archive.fork('c', `fork${process.pid}`),
  entries: () => agent.archive.entries('c', { after: 0, limit: lastSeq }),
  async follow() {
    for await (const event of agent.follow('c')) if (event.type === 'entry' && event.seq === lastSeq) return
  },
}
const before = process.resourceUsage().maxRSS
const micros = await microsFor(1, operations[call])
console.log(JSON.stringify({ micros, peakMemory: process.resourceUsage().maxRSS - before }))
await agent.close()
await store.close()
