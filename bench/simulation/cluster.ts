import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { startWorker, type Worker } from '../../src/agent/work/worker.ts'
import { tenantOfKey } from '../../src/core/scope.ts'
import { type Claim, type ConversationStore, HEARTBEAT_MS, type Owner } from '../../src/ports/store.ts'
import type { VirtualTime } from './virtual-time.ts'

/**
 * After how many failed attempts a conversation is parked. The default of Daybook is higher. A lower number makes the simulation shorter.
 */
const ATTEMPTS = 5

/** How long the simulated steps take, in milliseconds. */
export interface Durations {
  /** A claim in the database. */
  readonly claimMs: number
  /** From the commit of a message until the workers are notified of it. */
  readonly hintMs: number
  /** From a claim until the turn is opened. */
  readonly startMs: number
  /** From the opening of a turn until its conversation is released. */
  turnMs(): number
}

interface ClusterOptions extends Durations {
  readonly workers: number
  readonly slots: number
  /** Whether the turns of the conversation fail. */
  fails(conversationId: string): boolean
}

/** A turn that was started. Times are in milliseconds. */
export interface StartedTurn {
  readonly conversationId: string
  readonly waitedMs: number
  readonly at: number
}

/** A conversation of a stopped worker that another worker has claimed. `ms` is the time between the stop and this claim. */
export interface Resumption {
  readonly conversationId: string
  readonly ms: number
}

/**
 * Workers that share a store, in virtual time. The workers run the real code of Daybook, and so does the store in memory with its work
 * list, leases, pauses and parking. Only the turns are replaced: a simulated turn takes some time, writes two entries and renews its lease
 * as an agent does.
 */
export function createCluster(time: VirtualTime, options: ClusterOptions) {
  const { claimMs, hintMs, startMs, turnMs, slots } = options
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: time.clock })
  const started: StartedTurn[] = []
  const resumed: Resumption[] = []
  const counts = { closed: 0, failed: 0, claims: 0, staleWrites: 0 }
  const offeredAt = new Map<string, number>()
  const holders = new Map<string, Process>()
  const problems: unknown[] = []
  const processes: Process[] = []
  let numbers = 0

  interface Process {
    readonly worker: Worker
    /** When the process stopped, if it was killed or is frozen. */
    stoppedAt: number | undefined
    isKilled: boolean
    readonly held: (() => void)[]
  }

  function startProcess(): Process {
    const number = numbers++
    const owner: Owner = { id: `w${number}`, host: `host${number}`, pid: 1 }
    const active = new Map<string, string>()
    /**
     * Resolves when the process is running. That is immediately if it was not stopped, and after it is woken if it is frozen. For a killed
     * process, the promise never resolves.
     */
    const running = (): Promise<void> =>
      own.stoppedAt === undefined ? Promise.resolve() : new Promise((resolve) => void own.held.push(resolve))
    const pause = async (ms: number) => {
      await time.sleep(ms)
      await running()
    }
    const claimNext: ConversationStore['work']['claimNext'] = async (by, limits) => {
      await pause(claimMs)
      counts.claims++
      const next = await store.work.claimNext(by, limits)
      if (next.claim) noteClaim(next.claim.conversationId)
      return next
    }
    const noteClaim = (id: string) => {
      const before = holders.get(id)
      if (before && before !== own && before.stoppedAt !== undefined)
        resumed.push({ conversationId: id, ms: time.nowMs() - before.stoppedAt })
      holders.set(id, own)
    }
    const runTurn = async (claim: Claim) => {
      const { conversationId: id } = claim
      let isOver = false
      const beat = async () => {
        for (;;) {
          await pause(HEARTBEAT_MS)
          if (isOver) return
          await store.renew(claim)
        }
      }
      beat().catch(() => {}) // a failure means that another worker has claimed the conversation. The next append throws for the same reason
      try {
        await pause(startMs)
        const takes = (await store.readOffers(id)).map(({ event_id: eventId }) => ({ eventId, outcome: 'refused' as const }))
        const openTurn = (await store.head(id))?.openTurn
        const turn = openTurn ?? `t${claim.epoch}`
        await store.append(claim, openTurn ? [] : [{ type: 'turn.opened', turn_id: turn, ts: time.clock.now() }], { takes })
        if (takes.length > 0) started.push({ conversationId: id, at: time.nowMs(), waitedMs: time.nowMs() - (offeredAt.get(id) ?? 0) })
        await pause(turnMs())
        if (options.fails(id)) {
          counts.failed++
          await store.release(claim, { failed: 'the simulated turn failed' })
        } else {
          await store.append(claim, [{ type: 'turn.closed', turn_id: turn, ts: time.clock.now(), exit_reason: 'complete' }])
          await store.release(claim, 'done')
          counts.closed++
        }
        holders.delete(id)
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'conversation.superseded') throw error
        counts.staleWrites++
      } finally {
        isOver = true
        active.delete(id)
        if (own.stoppedAt === undefined) own.worker.wake()
      }
    }
    const conversations = {
      get size() {
        return active.size
      },
      byTenant() {
        const byTenant = new Map<string, number>()
        for (const tenant of active.values()) byTenant.set(tenant, (byTenant.get(tenant) ?? 0) + 1)
        return byTenant
      },
      async startClaimed(claim: Claim) {
        active.set(claim.conversationId, tenantOfKey(claim.conversationId))
        runTurn(claim).catch((error: unknown) => void problems.push(error))
        return undefined
      },
    }
    const worker = startWorker(
      {
        store: { work: { ...store.work, claimNext }, release: store.release },
        owner,
        conversations,
        upkeep: async () => {},
        onProblem: ({ error }) => void problems.push(error),
        timers: {
          nowMs: time.nowMs,
          after: (ms, run) => time.after(ms, () => void (own.stoppedAt === undefined ? run() : own.held.push(run))),
        },
      },
      { conversations: slots, attempts: ATTEMPTS },
    )
    const own: Process = { worker, stoppedAt: undefined, isKilled: false, held: [] }
    return own
  }

  const stop = (process: Process) => {
    process.stoppedAt = time.nowMs()
  }
  /** The workers that run. */
  const alive = () => processes.filter(({ stoppedAt }) => stoppedAt === undefined)

  let hinted: string[] | undefined
  const hint = (id: string) => {
    if (hinted) return void hinted.push(id)
    hinted = [id]
    time.after(hintMs, () => {
      const ids = hinted ?? []
      hinted = undefined
      for (const { worker } of alive()) for (const each of ids) worker.wake(each)
    })
  }

  for (let n = 0; n < options.workers; n++) processes.push(startProcess())

  return {
    store,
    started,
    resumed,
    counts,
    problems,
    alive,
    /** Stores a message. */
    async say(id: string): Promise<void> {
      offeredAt.set(id, time.nowMs())
      await store.offer(id, { event_id: 'e1', kind: 'followup', ts: time.clock.now(), text: 'x' }, { create: true })
      hint(id)
    },
    /** Kills a worker. A new worker starts after `restartMs`. */
    kill(process: Process, restartMs: number): void {
      stop(process)
      process.isKilled = true
      process.worker.stop()
      processes.splice(processes.indexOf(process), 1)
      time.after(restartMs, () => void processes.push(startProcess()))
    },
    /** Stops a worker for a while. After that, it continues as if nothing had happened. */
    freeze(process: Process, ms: number): void {
      stop(process)
      time.after(ms, () => {
        process.stoppedAt = undefined
        for (const go of process.held.splice(0)) go()
      })
    },
  }
}
