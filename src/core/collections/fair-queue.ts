/** Adds a job of a user to the queue. The promise resolves with the result of the job, after a worker has done it. */
export type Enqueue<Worker> = <T>(user: string, job: (worker: Worker) => Promise<T>) => Promise<T>

/** A job whose promise never rejects. */
type Job<Worker> = (worker: Worker) => Promise<void>

/**
 * A queue for several users. Each worker does one job at a time. Free workers take one job of the first user, then one job of the next
 * user, and so on. In this way, many jobs of one user do not delay the jobs of other users. A user has at most `maxPerUser` workers at a
 * time.
 */
export function createFairQueue<Worker>(workers: readonly Worker[], maxPerUser: number): Enqueue<Worker> {
  const idle = [...workers]
  /** The waiting jobs of each user. The first user in the map gets the next idle worker, and then moves to the end of the map. */
  const waiting = new Map<string, Job<Worker>[]>()
  const running = new Map<string, number>()

  function startJobs(): void {
    for (const [user, jobs] of [...waiting]) {
      const count = running.get(user) ?? 0
      if (idle.length === 0) return
      if (count < maxPerUser) startJob(user, jobs, count)
    }
  }

  function startJob(user: string, jobs: Job<Worker>[], count: number): void {
    const worker = idle.pop()
    const job = jobs.shift()
    if (!job || worker === undefined) return // not reached: a user in `waiting` has a job, and a worker is idle
    waiting.delete(user)
    if (jobs.length > 0) waiting.set(user, jobs) // `set` after `delete` puts the user at the end of the map
    running.set(user, count + 1)
    void job(worker).then(() => finish(user, worker))
  }

  function finish(user: string, worker: Worker): void {
    idle.push(worker)
    const count = (running.get(user) ?? 1) - 1
    if (count > 0) running.set(user, count)
    else running.delete(user)
    startJobs()
  }

  return (user, job) =>
    new Promise((resolve, reject) => {
      const own: Job<Worker> = (worker) => job(worker).then(resolve, reject)
      const jobs = waiting.get(user)
      if (jobs) jobs.push(own)
      else waiting.set(user, [own])
      startJobs()
    })
}
