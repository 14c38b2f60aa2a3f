/**
 * Rules by which a worker chooses conversations, so that many messages of one tenant do not delay the messages of other tenants.
 *
 * A turn needs the processor and the database most when it starts. If a worker claimed conversations as fast as it can, everything in its
 * process and in the database would be slow, also the start of a turn of another tenant. So each claim costs its tenant some time, in
 * proportion to the time that starts take now: the claim itself, and what follows until the message is in the journal. A claim alone does
 * not wait for the disk of the database, so it would not show that the disk is busy. A tenant that has spent more than its allowance is left
 * out until the time has passed:
 *
 *   a tenant with many messages    claim claim claim ─ left out ─ claim ─ left out ─ claim ─ left out ─▶
 *   a tenant with few messages     claim ──────────────── claim ─────────────────────────────── claim ─▶
 *
 * When the database or the process is busy, a start takes longer and costs more, so the worker claims less. The last slots of a worker are
 * kept for tenants that run little. A worker that has seen one tenant only does not wait, and uses all its slots but one, which is for the
 * first message of another tenant.
 */

/** The time that a claim costs its tenant, as a multiple of the time that the start of the conversation takes. */
const COST_FACTOR = 4

/** The weight of the last start in the average time of a start. */
const LAST_START_WEIGHT = 0.1

/** The highest cost of a claim, in milliseconds. A claim may take long because the connection was lost. */
const MAX_COST_MS = 500

/** How much a tenant may spend before it is left out, in milliseconds. It lets a few messages that arrive together start at once. */
const ALLOWANCE_MS = 250

/** One of this many slots is kept for tenants that run little. A worker with fewer slots keeps none, because it would lose too much. */
const SLOTS_PER_KEPT_SLOT = 8

/** Conversations without a tenant have this name. An installation that has them has no other tenants, as a rule. */
const NO_TENANT = ''

/** How many conversations of a tenant a process starts without the work list, if it has other tenants. Further ones wait in the work list. */
const DIRECT_STARTS = 16

/** How long a worker remembers that a tenant had something to do, in milliseconds. */
const REMEMBERED_MS = 10 * 60_000

/** Which tenants a worker serves now. */
export interface FairShare {
  /** Notes that the tenant has something to do here. */
  seen(tenant: string): void
  /** Notes that a conversation of the tenant was claimed, and how long the claim took. */
  claimed(tenant: string, ms: number): void
  /** Notes that a claimed conversation has started, and how long this took after the claim. */
  started(ms: number): void
  /** The tenants that are left out now, and in how many milliseconds the first of them is served again. */
  leftOut(): LeftOut
  /** Whether a new message of the tenant has to wait in the work list. */
  hasToQueue(tenant: string): boolean
}

export interface LeftOut {
  readonly tenants: readonly string[]
  /** Undefined when no time has to pass, but conversations have to end. */
  readonly endsInMs: number | undefined
}

interface FairShareParts {
  /** How many conversations the worker may run. */
  readonly slots: number
  /** How many conversations of each tenant it runs. */
  running(): ReadonlyMap<string, number>
  /** A time in milliseconds that never goes back. */
  nowMs(): number
}

export function createFairShare({ slots, running, nowMs }: FairShareParts): FairShare {
  /** When each tenant last had something to do, the earliest first. */
  const lastSeen = new Map<string, number>()
  /** The time at which each tenant has paid for its claims. Each claim moves it into the future by the cost of the claim. */
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

  /** The tenants that run at least as much as the average, if only `kept` slots are free. */
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
      // the worker serves the tenants that are left out one after the other, so each of them waits for the others
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
