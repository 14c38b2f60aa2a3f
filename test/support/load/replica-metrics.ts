import { setTimeout as sleep } from 'node:timers/promises'
import { readMetrics } from './read-metrics.ts'

/** The metrics of the replicas during a run. */
export interface MetricsReport {
  /** How often metrics were read. */
  readonly metricsRead: number
  readonly mostWaiting: number
  readonly mostRunning: number
  readonly longestWaitSeconds: number
  readonly oldestLeaseSeconds: number
  /** The values that were read last, when the run was over. They must be 0. */
  readonly waitingAtEnd: number
  readonly parkedAtEnd: number
}

export interface MetricsWatch {
  /** Reads the metrics, and returns whether no conversation waits or runs. */
  isIdle(): Promise<boolean>
  stop(): Promise<MetricsReport>
}

const EVERY_MS = 500
const TIMEOUT_MS = 5_000
const gauges = ['work_waiting', 'work_running', 'work_longest_wait_seconds', 'oldest_lease_seconds', 'work_parked'] as const

/** Reads the metrics of one replica after the other until `stop` is called. `url` returns the address of the next replica. */
export function watchMetrics(url: () => string): MetricsWatch {
  const most = new Map<string, number>()
  const last = new Map<string, number>()
  let metricsRead = 0
  let isOver = false

  async function read(): Promise<void> {
    try {
      const values = await readMetrics(url(), AbortSignal.timeout(TIMEOUT_MS))
      metricsRead++
      for (const name of gauges) {
        const value = values.get(`daybook_${name}`) ?? Number.NaN
        last.set(name, value)
        most.set(name, Math.max(most.get(name) ?? 0, value))
      }
    } catch {} // the replica is killed or frozen, or the database is restarted
  }

  const reading = (async () => {
    while (!isOver) {
      await read()
      await sleep(EVERY_MS)
    }
  })()
  const value = (values: ReadonlyMap<string, number>, name: (typeof gauges)[number]) => values.get(name) ?? 0
  return {
    async isIdle() {
      await read()
      return value(last, 'work_waiting') === 0 && value(last, 'work_running') === 0
    },
    async stop() {
      isOver = true
      await reading
      return {
        metricsRead,
        mostWaiting: value(most, 'work_waiting'),
        mostRunning: value(most, 'work_running'),
        longestWaitSeconds: value(most, 'work_longest_wait_seconds'),
        oldestLeaseSeconds: value(most, 'oldest_lease_seconds'),
        waitingAtEnd: value(last, 'work_waiting'),
        parkedAtEnd: value(last, 'work_parked'),
      }
    },
  }
}
