import type { Archive } from '../../agent/archive/archive.ts'
import type { Bucket } from './rate-limit.ts'

/** Reports to the store what this server took from the buckets of users, and gets back what is left after the requests of all servers. */
export interface SharedBuckets {
  register(limit: LimitNames): BucketReports
}

interface LimitNames {
  readonly perMinute: number
  /** The name of the bucket of a user in the store. */
  nameOf(user: string): string
}

export interface BucketReports {
  /** Reports a bucket within `REPORT_MS`, together with other buckets. */
  reportSoon(user: string, bucket: Bucket): void
  /** Reports a bucket without delay. Resolves when the store has answered, or after `WAIT_MS` at the latest. It never rejects. */
  report(user: string, bucket: Bucket): Promise<void>
  /** Whether the store answered the last report in time. If not, each server counts only its own requests. */
  canAsk(): boolean
}

/** A report is sent this many milliseconds after the first use. It includes all uses in this time. */
const REPORT_MS = 100

/** How long a request waits for the store, in milliseconds. */
const WAIT_MS = 250

/** If the store has not answered a request in time, no request waits for the store for this many milliseconds. */
const PAUSE_MS = 2_000

/** How many buckets one report has at most. */
const MAX_REPORT = 1_000

interface Report extends LimitNames {
  readonly user: string
  readonly bucket: Bucket
}

/**
 * Each server reports to the store and gets the counts of all servers. Errors of the store do not stop requests: after an error, each
 * server counts only its own requests. `onProblem` is called only for the first of several errors in a row.
 */
export function createSharedBuckets(
  limits: Pick<NonNullable<Archive['limits']>, 'take'>,
  onProblem: (error: unknown) => void,
): SharedBuckets {
  const waiting = new Map<Bucket, Report>()
  let running: Promise<void> | undefined
  let isScheduled = false
  let pausedUntil = 0
  let hasFailed = false

  async function send(): Promise<void> {
    const reports = [...waiting.values()].slice(0, MAX_REPORT)
    const used = reports.map(({ bucket }) => bucket.unreported)
    for (const { bucket } of reports) {
      waiting.delete(bucket)
      bucket.unreported = 0
    }
    const uses = reports.map(({ user, perMinute, nameOf }, n) => ({ name: nameOf(user), used: used[n] ?? 0, burst: perMinute, perMinute }))
    try {
      const left = await limits.take(uses)
      hasFailed = false
      reports.forEach(({ bucket, perMinute }, n) => {
        // `left` does not yet include the tokens that were taken meanwhile
        bucket.tokens = Math.min(perMinute, (left[n] ?? bucket.tokens) - bucket.unreported)
      })
    } catch (error) {
      pause()
      if (!hasFailed) onProblem(error)
      hasFailed = true
      // the next report includes these uses. More than `perMinute` uses need not be remembered, because the bucket is full again after a
      // minute
      reports.forEach(({ bucket, perMinute }, n) => {
        bucket.unreported = Math.min(perMinute, bucket.unreported + (used[n] ?? 0))
      })
    }
  }

  const pause = () => {
    pausedUntil = performance.now() + PAUSE_MS
  }

  /** Sends one report. If a report is already running, waits for that report instead. */
  function flush(): Promise<void> {
    running ??= (async () => {
      await send()
      running = undefined
      if (waiting.size > 0) schedule()
    })()
    return running
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(() => {
      isScheduled = false
      void flush() // `flush` does not reject
    }, REPORT_MS).unref()
  }

  return {
    register: (limit) => ({
      reportSoon(user, bucket) {
        if (waiting.has(bucket)) return
        waiting.set(bucket, { ...limit, user, bucket })
        schedule()
      },
      async report(user, bucket) {
        const isRunning = running !== undefined
        waiting.set(bucket, { ...limit, user, bucket })
        const answered = (async () => {
          await flush()
          if (isRunning) await flush() // the report that was running may not have included this bucket
          return true
        })()
        const { promise: late, resolve } = Promise.withResolvers<false>()
        const limitOfWait = setTimeout(() => resolve(false), WAIT_MS)
        if (!(await Promise.race([answered, late]))) pause()
        clearTimeout(limitOfWait)
      },
      canAsk: () => performance.now() >= pausedUntil,
    }),
  }
}
