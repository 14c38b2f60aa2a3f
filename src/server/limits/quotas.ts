import { parseConversationKey, type Scope } from '../../core/scope.ts'
import { RequestProblem } from '../problem.ts'

/** How many turns a user may begin, and have running at the same time. */
export interface TurnQuota {
  /** Throws 429 when there are too many. Returns how to leave: from then on the turn, if one began, is seen running. */
  acquire(conversationKey: string): () => void
}

/** Who is at work is asked, not counted: a turn that ends in any way is over. */
export function createTurnQuota(
  { turnsPerMinute, runningTurns }: { readonly turnsPerMinute: number; readonly runningTurns: number },
  nowMs: () => number,
  running: () => Iterable<string>,
): TurnQuota {
  const bucket = createTokenBucket({ atOnce: turnsPerMinute, perMinute: turnsPerMinute })
  const entering = new Map<object, string>()

  return {
    acquire(conversationKey) {
      const user = userOf(conversationKey)
      const busy = new Set([...running(), ...entering.values()].filter((key) => key !== conversationKey && userOf(key) === user))
      if (busy.size >= runningTurns) throw tooMany('Too many turns are running; wait until one is over.', 5)
      const seconds = bucket.take(user, nowMs())
      if (seconds > 0) throw tooMany('Too many turns in a short time.', seconds)
      const pass = {}
      entering.set(pass, conversationKey)
      return () => void entering.delete(pass)
    },
  }
}

function userOf(conversationKey: string): string {
  const { tenant, project, user } = parseConversationKey(conversationKey).scope
  return JSON.stringify([tenant, project, user])
}

export const tooMany = (title: string, seconds: number): RequestProblem =>
  new RequestProblem(429, 'request.too_many', title, { headers: { 'retry-after': String(seconds) } })

/** Who is following how many conversations. */
export interface StreamQuota {
  /** Throws 429 when there are too many. Returns how to leave; leaving twice is leaving once. */
  acquire(who: Scope): () => void
  readonly size: number
}

export function createStreamQuota(mostPerUser: number): StreamQuota {
  const counts = new Map<string, number>()
  let size = 0
  return {
    acquire(who) {
      const user = JSON.stringify([who.tenant, who.project, who.user])
      const count = counts.get(user) ?? 0
      if (count >= mostPerUser) throw tooMany('Too many streams are open; close one first.', 5)
      counts.set(user, count + 1)
      size++
      let here = true
      return () => {
        if (!here) return
        here = false
        size--
        const left = (counts.get(user) ?? 1) - 1
        if (left > 0) counts.set(user, left)
        else counts.delete(user)
      }
    },
    get size() {
      return size
    },
  }
}

/** Lets through a few at once and then so many a minute, for each name on its own. Names that have been quiet are forgotten. */
export interface TokenBucket {
  /** 0 when it may pass; else in how many seconds it may. */
  take(name: string, nowMs: number, cost?: number): number
  readonly size: number
}

export function createTokenBucket({ atOnce, perMinute }: { readonly atOnce: number; readonly perMinute: number }): TokenBucket {
  const buckets = new Map<string, { left: number; at: number }>()
  const refill = perMinute / 60_000
  const fullAfterMs = atOnce / refill

  function forgetQuiet(nowMs: number): void {
    for (const [name, { at }] of buckets) {
      if (nowMs - at < fullAfterMs) return // in order of their last use
      buckets.delete(name)
    }
  }

  return {
    take(name, nowMs, cost = 1) {
      forgetQuiet(nowMs)
      const known = buckets.get(name) ?? { left: atOnce, at: nowMs }
      const left = Math.min(atOnce, known.left + Math.max(0, nowMs - known.at) * refill)
      const passes = left >= cost || left === atOnce // what is larger than the bucket passes when it is full
      buckets.delete(name)
      buckets.set(name, { left: passes ? left - cost : left, at: nowMs })
      return passes ? 0 : Math.ceil((cost - left) / refill / 1000)
    },
    get size() {
      return buckets.size
    },
  }
}
