/**
 * A server in its own process, for load tests and for tests that kill, freeze and replace it. `choices` are `ServerChoices` as JSON.
 *
 *   node load-server.ts <folder> [<port> [<choices>]]
 *
 * It sends `{ url }` to its parent when it is ready. A message from its parent ends the current measurement and begins the next one. The
 * response to the message is the measurement that has ended. After SIGTERM it hands over its turns and ends. It also ends when its parent
 * ends.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createSystemClock } from '../../../src/adapters/clock/system.ts'
import { createRedisRelay } from '../../../src/adapters/relay/redis.ts'
import { createAgentFrom } from '../../../src/agent/agent.ts'
import { noLog } from '../../../src/server/log.ts'
import { createMetrics, metricsHelp, observe } from '../../../src/server/metrics.ts'
import { serve } from '../../../src/server/serve.ts'
import { defaultServerSettings } from '../../../src/server/settings.ts'
import { DATABASE_VARIABLE, openFolderStore, testDatabase } from '../stores.ts'
import { loadModel, noteTool } from './load-model.ts'
import { createMovableClock } from './movable-clock.ts'
import type { ServerChoices } from './server-process.ts'

/** What the parent of a load server receives: the address of the server, or a measurement. */
export type LoadServerMessage = { readonly url: string } | Measurement

/** Processor time of the server and delays of its event loop, in milliseconds. */
export interface Measurement {
  readonly cpu: number
  readonly lag: { readonly p50: number; readonly p99: number; readonly max: number }
}

const [folder = '', port = '0', choices = '{}'] = process.argv.slice(2)
const { role = 'both', conversations = 1_000, delayMs = 0, redis, movableClock, recordCalls, limits } = JSON.parse(choices) as ServerChoices
const database = testDatabase()
if (database !== undefined) process.env[DATABASE_VARIABLE] = withConnectionName(database, String(process.pid))
const clock = movableClock ? createMovableClock(folder) : createSystemClock()
const relay = redis === undefined ? undefined : createRedisRelay({ url: redis, name: folder })
const store = await openFolderStore(folder, { clock, ...(relay && { relay }) })
const metrics = createMetrics(metricsHelp)
const agent = createAgentFrom({
  model: loadModel({ delayMs, ...(recordCalls && { onCall: recordCall }) }),
  tools: [noteTool(join(folder, 'effects'))],
  store,
  clock,
  acceptOnly: role === 'web',
  settings: { keptTimelineBytes: 64 * 1024 * 1024 }, // the same value as in `daybook serve`
  ...observe(metrics, () => Date.parse(clock.now())),
})
// in local mode all clients are one user, so the limits per user must not stop them
const noUserLimits = { requestsPerMinute: 1e9, turnsPerMinute: 1e9, runningTurns: 1e6, followersPerUser: 1e6 }
const settings = { ...defaultServerSettings, ...noUserLimits, ...limits, port: Number(port), role, workConversations: conversations }
const server = await serve({ agent, settings, log: noLog, metrics, now: clock.now, newId: () => clock.randomHex(12) })

function recordCall(step: string): void {
  appendFileSync(join(folder, 'calls'), `${clock.now()} ${step}\n`)
}

/** The address of a database with a name for the connections, which the database shows as `daybook: name`. */
function withConnectionName(url: string, name: string): string {
  const named = new URL(url)
  named.searchParams.set('application_name', name)
  return named.href
}

const RESOLUTION_MS = 2
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delays.enable()
/**
 * The histogram contains the times between two runs of a timer. The delay of the event loop is such a time minus the interval of the timer.
 */
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
process.once('SIGTERM', async () => {
  await server.drain()
  relay?.close()
  await store.close()
  process.exit(0)
})
send({ url: server.url })
