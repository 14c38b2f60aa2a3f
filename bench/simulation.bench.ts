import { timed } from './measure.ts'
import { large, simulateLarge } from './simulation/large.ts'
import { measureScenario } from './simulation/measured.ts'
import { type RunResult, scenario, simulateScenario } from './simulation/run.ts'

const SEED = 1

/** The largest allowed difference between a prediction and the measured value, as a share of the measured value. */
const TOLERANCE = 0.2

/**
 * Compares the simulation with three real workers. Then simulates 100 workers and 100,000 conversations, while workers are killed and
 * frozen. The worker, the work list, the leases, the pauses and the parking run the real code of Daybook. Only the turns are simulated.
 */
export async function bench(): Promise<void> {
  const { durations, result, arrivals } = await measureScenario()
  const predicted = await simulateScenario(durations, arrivals)
  console.log(
    `${scenario.workers} workers with ${scenario.slots} slots; a claim ${ms(durations.claimMs)}, a turn ${ms(durations.turnMs())}`,
  )
  compare('turns per second', result, predicted, 'turnsPerSecond')
  compare(`mean wait of a tenant with ${scenario.many} messages, ms`, result, predicted, 'manyWaitMs')
  compare(`mean wait of a tenant with ${scenario.few} messages, ms`, result, predicted, 'fewWaitMs')
  compare('from the stop of a worker until its turns continue, ms', result, predicted, 'resumeMs')
  let run: Awaited<ReturnType<typeof simulateLarge>> | undefined
  const took = await timed(async () => {
    run = await simulateLarge(durations, SEED)
  })
  if (run) print(run, took)
}

function compare(what: string, measured: RunResult, predicted: RunResult, name: keyof RunResult): void {
  const off = predicted[name] / measured[name] - 1
  const verdict = Math.abs(off) <= TOLERANCE ? 'ok' : 'NOT MET'
  console.log(
    `  ${what.padEnd(58)} measured ${measured[name].toFixed(1).padStart(8)}  simulated ${predicted[name].toFixed(1).padStart(8)}  ${(off * 100).toFixed(0).padStart(4)} %  ${verdict}`,
  )
}

function print(run: Awaited<ReturnType<typeof simulateLarge>>, took: number): void {
  const { conversations, workers, slots, tenants, kills, freezes } = large
  console.log(
    `${conversations} conversations of ${tenants + 1} tenants, ${workers} workers with ${slots} slots, ${kills} kills, ${freezes} freezes`,
  )
  const line = (what: string, value: string) => console.log(`  ${what.padEnd(58)} ${value}`)
  line('turns per second', `${run.turnsPerSecond.toFixed(0)} (at most ${((workers * slots) / large.turnMs) * 1_000} by the slots)`)
  line('wait of a tenant with few messages: median, 99 %', `${ms(run.quietMedianMs)}, ${ms(run.quietP99Ms)}`)
  line('wait of the tenant that sent half of them at once: median', ms(run.floodMedianMs))
  line('fairness: highest median wait of a tenant by the lowest', `${run.fairness.toFixed(2)} ×`)
  line(
    'until turns continue after a kill or freeze: median, most',
    `${ms(run.resumeMedianMs)}, ${ms(run.resumeMaxMs)} (${run.resumed} turns)`,
  )
  line('writes of frozen workers that were rejected', String(run.staleWrites))
  line('conversations that always fail, and those that were parked', `${run.failing}, ${run.parked}`)
  line('claims, and the simulated time', `${run.claims}, ${run.busySeconds.toFixed(0)} s in ${(took / 1_000).toFixed(0)} s`)
}

const ms = (value: number): string => `${value.toFixed(0)} ms`
