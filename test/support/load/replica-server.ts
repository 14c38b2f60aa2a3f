/**
 * A replica in its own process, for tests that kill, freeze and restart it.
 *
 *   node replica-server.ts <folder> <port> <delayMs>
 *
 * It sends `{ url }` to its parent when it is ready. After SIGTERM it hands over its turns and ends. It also ends when its parent ends.
 */
import { join } from 'node:path'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import { noLog } from '../../../src/server/log.ts'
import { createMetrics, metricsHelp, observe } from '../../../src/server/metrics.ts'
import { serve } from '../../../src/server/serve.ts'
import { defaultServerSettings } from '../../../src/server/settings.ts'
import { openFolderStore } from '../stores.ts'
import { loadModel, noteTool } from './load-model.ts'

const [folder = '', port = '0', delayMs = '0'] = process.argv.slice(2)
const clock = createSystemClock()
const store = await openFolderStore(folder, { clock })
const metrics = createMetrics(metricsHelp)
const tools = [noteTool(join(folder, 'effects'))]
const agent = createAgentFrom({ model: loadModel(Number(delayMs)), tools, store, clock, ...observe(metrics) })
// in local mode all clients are one user, so the limits per user must not stop them
const noUserLimits = { requestsPerMinute: 1e9, turnsPerMinute: 1e9, runningTurns: 1e6, followersPerUser: 1e6 }
const settings = { ...defaultServerSettings, ...noUserLimits, port: Number(port) }
const server = await serve({ agent, settings, log: noLog, metrics, now: clock.now, newId: () => clock.randomHex(12) })
process.once('disconnect', () => process.exit(0))
process.once('SIGTERM', async () => {
  await server.drain()
  await store.close()
  process.exit(0)
})
process.send?.({ url: server.url })
