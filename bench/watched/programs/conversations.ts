// Runs 200 conversations at the same time, each with 10 rounds of 5 ms. Measures the first run in this process, and the best of several
// runs.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createAgent } from 'daybook'
import { argumentsOf, bestTime, give, namedTimes, readAll, type Time, timed } from './measured.ts'
import { addTool, handWritten, settings, steadyModel } from './steady-model.ts'

const [CONVERSATIONS, ROUNDS, LATENCY_MS, REPEATS] = [200, 10, 5, 8]
const IDEAL_MS = ROUNDS * LATENCY_MS
const RESOLUTION_MS = 1
const { of } = argumentsOf<{ of: 'daybook' | 'floor' }>()

const names = Array.from({ length: CONVERSATIONS }, (_, n) => `c${n}`)
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
const runs: { readonly time: Time; readonly p99: number }[] = []
for (let repeat = 0; repeat < REPEATS; repeat++) {
  const model = steadyModel({ rounds: ROUNDS, latencyMs: LATENCY_MS })
  const agent = createAgent({ model, tools: [addTool], settings })
  const turnOf = {
    daybook: (id: string) => readAll(agent.run(id, 'Add up.')),
    floor: (id: string) => readAll(handWritten(model, id, [{ role: 'user', text: 'Add up.' }])),
  }[of]
  delays.reset()
  delays.enable()
  const time = await timed(() => Promise.all(names.map(turnOf)))
  delays.disable()
  runs.push({ time, p99: Math.max(0, delays.percentile(99) / 1e6 - RESOLUTION_MS) })
  await agent.close()
}
const [first, ...later] = runs as [(typeof runs)[0], ...typeof runs]
give({
  ...namedTimes({ cold: first.time, hot: bestTime(later.map(({ time }) => time)) }, 1 / IDEAL_MS),
  coldDelay: first.p99,
  hotDelay: Math.min(...later.map(({ p99 }) => p99)),
})
