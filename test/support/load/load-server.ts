/**
 * A server in its own process, for load tests and for tests that kill it. Its model waits `delayMs` before each response, by default 0.
 *
 *   node load-server.ts <folder> <port> <delayMs> <role> <conversations>
 *
 * It sends `{ url }` to its parent when it is ready. Each message from its parent ends a measurement, which is the response, and begins the
 * next one. It ends when its parent ends.
 */
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import { noLog } from '../../../src/server/log.ts'
import { createMetrics, metricsHelp, observe } from '../../../src/server/metrics.ts'
import { serve } from '../../../src/server/serve.ts'
import { defaultServerSettings, type ServerSettings } from '../../../src/server/settings.ts'
import { openFolderStore } from '../stores.ts'
import { loadModel, noteTool } from './load-model.ts'

/** What the parent of a load server receives: the address of the server, or a measurement. */
export type LoadServerMessage = { readonly url: string } | Measurement

/** Processor time of the server and delays of its event loop, in milliseconds. */
export interface Measurement {
  readonly cpu: number
  readonly lag: { readonly p50: number; readonly p99: number; readonly max: number }
}

const [folder = '', port = '0', delayMs = '0', role = 'both', conversations = '1000'] = process.argv.slice(2)
const clock = createSystemClock()
const store = await openFolderStore(folder, { clock })
const metrics = createMetrics(metricsHelp)
const agent = createAgentFrom({
  model: loadModel(Number(delayMs)),
  tools: [noteTool(join(folder, 'effects'))],
  store,
  clock,
  acceptOnly: role === 'web',
  ...observe(metrics),
})
// in local mode all clients are one user, so the limits per user must not stop them
const noUserLimits = { requestsPerMinute: 1e9, turnsPerMinute: 1e9, runningTurns: 1e6, followersPerUser: 1e6 }
const server = await serve({
  agent,
  settings: {
    ...defaultServerSettings,
    ...noUserLimits,
    port: Number(port),
    drainMs: 0,
    role: role as ServerSettings['role'],
    workConversations: Number(conversations),
  },
  log: noLog,
  metrics,
  now: clock.now,
  newId: () => clock.randomHex(12),
})

const RESOLUTION_MS = 2
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delays.enable()
/** The histogram has the time between two runs of a timer. What exceeds the interval of the timer is the delay of the event loop. */
const delay = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)

const send = (message: LoadServerMessage) => process.send?.(message)
let cpu = process.cpuUsage()
process.on('message', () => {
  const { user, system } = process.cpuUsage(cpu)
  const lag = { p50: delay(delays.percentile(50)), p99: delay(delays.percentile(99)), max: delay(delays.max) }
  send({ cpu: (user + system) / 1000, lag })
  cpu = process.cpuUsage()
  delays.reset()
})
process.once('disconnect', () => process.exit(0))
send({ url: server.url })
