/**
 * Rules by which a worker chooses conversations, so that many messages of one tenant do not delay the messages of other tenants.
 *
 * A turn needs the processor and the database most when it starts. If a worker claimed conversations as fast as it can, its process and the
 * database would be slow for all tenants. Therefore each claim costs its tenant some time, in proportion to the time that a start takes
 * now. A start is the claim itself and everything that follows until the message is in the journal. The time of the claim alone is not
 * enough: a claim does not wait for the disk of the database, so its time would not show that the disk is busy. If the claims of a tenant
 * have cost more time than its allowance, the tenant is not served until the excess time has passed:
 *
 *   a tenant with many messages    claim claim claim ─ left out ─ claim ─ left out ─ claim ─ left out ─▶
 *   a tenant with few messages     claim ──────────────── claim ─────────────────────────────── claim ─▶
 *
 * When the database or the process is busy, a start takes longer and costs more, so the worker claims less. The last slots of a worker are
 * kept for tenants with few running conversations. A worker that has seen only one tenant does not make it wait. It uses all its slots
 * except one, which is kept for the first message of another tenant.
 */

/** The time that a claim costs its tenant, as a multiple of the time that the start of the conversation takes. */
const COST_FACTOR = 4

/** The weight of the last start in the average time of a start. */
const LAST_START_WEIGHT = 0.1

/** The highest cost of a claim, in milliseconds. A claim may take long because the connection was lost. */
const MAX_COST_MS = 500

/**
 * How much time a tenant may spend before it is left out, in milliseconds. With this allowance, a few messages that arrive together can
 * start without a pause.
 */
const ALLOWANCE_MS = 250

/**
 * One of this many slots is kept for tenants with few running conversations. A worker with fewer slots keeps no slot, because it would lose
 * too much of its capacity.
 */
const SLOTS_PER_KEPT_SLOT = 8

/** The name that is used for conversations without a tenant. An installation with such conversations usually has no other tenants. */
const NO_TENANT = ''

/**
 * How many conversations of a tenant a process starts directly, without the work list, if it also has other tenants. Further conversations
 * wait in the work list.
 */
const DIRECT_STARTS = 16

/** How long a worker remembers that a tenant had work, in milliseconds. */
const REMEMBERED_MS = 10 * 60_000

/** Decides which tenants a worker serves now. */
export interface FairShare {
  /** Records that the tenant has work for this worker. */
  seen(tenant: string): void
  /** Records that a conversation of the tenant was claimed, and how long the claim took. */
  claimed(tenant: string, ms: number): void
  /** Records that a claimed conversation has started, and how long this took after the claim. */
  started(ms: number): void
  /** The tenants that are left out now, and in how many milliseconds the first of them is served again. */
  leftOut(): LeftOut
  /** Whether a new message of the tenant has to wait in the work list. */
  hasToQueue(tenant: string): boolean
}

export interface LeftOut {
  readonly tenants: readonly string[]
  /**
   * The time until the first of these tenants is served again, in milliseconds. Undefined when they are served again only after
   * conversations have ended.
   */
  readonly endsInMs: number | undefined
}

interface FairShareParts {
  /** How many conversations the worker may run. */
  readonly slots: number
  /** How many conversations of each tenant the worker runs. */
  running(): ReadonlyMap<string, number>
  /** The current time in milliseconds, from a clock that is never set back. */
  nowMs(): number
}

export function createFairShare({ slots, running, nowMs }: FairShareParts): FairShare {
  /** The time at which each tenant last had work. The earliest time comes first. */
  const lastSeen = new Map<string, number>()
  /**
   * For each tenant, the time at which the costs of all its claims have passed. Each claim moves this time into the future by the cost of
   * the claim.
   */
  const paidAt = new Map<string, number>()
  /** The average time from a claim until the conversation has started, in milliseconds. */
  let startMs = 0
  const keptSlots = Math.floor(slots / SLOTS_PER_KEPT_SLOT)
  /** How many slots are kept while only one tenant was seen. */
  const keptWhileAlone = Math.min(keptSlots, 1)

  function seen(tenant: string): void {
    const now = nowMs()
    lastSeen.delete(tenant) // `set` then puts the tenant at the end
    lastSeen.set(tenant, now)
    for (const [earliest, at] of lastSeen) {
      if (at > now - REMEMBERED_MS) break
      lastSeen.delete(earliest)
    }
  }

  const hasOthers = () => lastSeen.size > 1

  /** The tenants that have spent more than their allowance, and for how many milliseconds each is left out. */
  function overspent(now: number): ReadonlyMap<string, number> {
    const found = new Map<string, number>()
    for (const [tenant, at] of paidAt) {
      if (at <= now) paidAt.delete(tenant)
      else if (at > now + ALLOWANCE_MS) found.set(tenant, at - now - ALLOWANCE_MS)
    }
    return found
  }

  /** If only `kept` slots are free, the tenants with at least the average number of running conversations. */
  function withManySlots(kept: number): readonly string[] {
    const counts = running()
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    return total < slots - kept ? [] : [...counts].filter(([, count]) => count >= total / counts.size).map(([tenant]) => tenant)
  }

  function leftOut(): LeftOut {
    if (!hasOthers()) return { tenants: withManySlots(keptWhileAlone).filter((tenant) => tenant !== NO_TENANT), endsInMs: undefined }
    const times = overspent(nowMs())
    return {
      tenants: [...new Set([...times.keys(), ...withManySlots(keptSlots)])],
      endsInMs: times.size === 0 ? undefined : Math.min(...times.values()),
    }
  }

  return {
    seen,
    claimed(tenant, ms) {
      seen(tenant)
      const now = nowMs()
      // The worker serves the tenants that are left out one after the other, so each of them also waits for the others.
      const others = [...overspent(now).keys()].filter((other) => other !== tenant).length
      const cost = Math.min((ms + startMs) * COST_FACTOR * (1 + others), MAX_COST_MS)
      paidAt.set(tenant, Math.max(paidAt.get(tenant) ?? now, now) + cost)
    },
    started(ms) {
      startMs += (ms - startMs) * LAST_START_WEIGHT
    },
    leftOut,
    hasToQueue: (tenant) => (hasOthers() && (running().get(tenant) ?? 0) >= DIRECT_STARTS) || leftOut().tenants.includes(tenant),
  }
}
