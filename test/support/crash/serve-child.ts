/**
 * A server in its own process, for tests that kill it:
 *
 *   node serve-child.ts <folder> <port> <drainMs> <delayMs> <aheadMs>
 *
 * It prints `listening <url>` when it is ready. On SIGTERM it lets running turns finish and then ends.
 * Its clock is `aheadMs` ahead.
 */
import { writeSync } from 'node:fs'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import { noLog } from '../../../src/server/log.ts'
import { createMetrics, metricsHelp, observe } from '../../../src/server/metrics.ts'
import { serve } from '../../../src/server/serve.ts'
import { defaultServerSettings } from '../../../src/server/settings.ts'
import { openFolderStore } from '../stores.ts'
import { stepModel, stepTool } from './step-model.ts'

const [folder = '', port = '0', drainMs = '1000', delayMs = '5', aheadMs = '0'] = process.argv.slice(2)
const system = createSystemClock()
const clock = { ...system, now: () => new Date(Date.parse(system.now()) + Number(aheadMs)).toISOString() }
const store = await openFolderStore(folder, { clock })
const metrics = createMetrics(metricsHelp)
const agent = createAgentFrom({ model: stepModel(folder, Number(delayMs)), tools: [stepTool()], store, clock, ...observe(metrics) })
const server = await serve({
  agent,
  settings: { ...defaultServerSettings, port: Number(port), drainMs: Number(drainMs) },
  log: noLog,
  metrics,
  now: clock.now,
  newId: () => clock.randomHex(12),
})
writeSync(1, `listening ${server.url}\n`)

process.once('SIGTERM', async () => {
  await server.drain()
  await store.close()
  writeSync(1, 'drained\n')
  process.exit(0)
})
