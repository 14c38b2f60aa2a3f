import { conversationKeyFilter, parseConversationKey, type Scope, userKey } from '../../core/scope.ts'
import { RequestProblem } from '../problem.ts'
import type { OverloadGuard } from './overload.ts'

/** The limits for messages: those of the user, and the one for work of the tenant that waits in the store. */
export interface MessageQuota extends TurnQuota {
  /** Throws a problem with status 503 if too much work of the tenant waits. */
  checkBacklog(conversationKey: string): Promise<void>
}

/** Limits how many turns a user may start per minute and run at the same time, and how many messages the server accepts. */
interface TurnQuota {
  /**
   * Reserves a place for a turn that is about to start. Throws a problem with status 429 when the user has reached a limit, and with status
   * 503 when the server is overloaded. The returned function releases the place. Call it as soon as the turn is running, because a running turn is counted anyway. Also call it if the turn
   * could not start.
   */
  acquire(conversationKey: string, options?: { readonly hasFiles: boolean }): () => void
}

/**
 * `running` returns the keys of the conversations that have a running turn at the moment. It is called for each new turn. A counter would
 * be wrong for ever if it missed the end of one turn.
 */
export function createTurnQuota(
  { turnsPerMinute, runningTurns }: { readonly turnsPerMinute: number; readonly runningTurns: number },
  nowMs: () => number,
  running: () => Iterable<string>,
  overload: OverloadGuard,
): TurnQuota {
  const starts = createTokenBucket({ burst: turnsPerMinute, perMinute: turnsPerMinute })
  const starting = new Map<object, string>()

  /** The number of other conversations of the user that have a turn. Keys are compared as texts: a server may run thousands of turns. */
  function countOthers(conversationKey: string, scope: Scope): number {
    const filter = conversationKeyFilter(scope)
    const isOther = (key: string) => key !== conversationKey && ('plain' in filter ? !key.includes('/') : key.startsWith(filter.prefix))
    const others = new Set<string>()
    for (const key of running()) if (isOther(key)) others.add(key)
    for (const key of starting.values()) if (isOther(key)) others.add(key)
    return others.size
  }

  return {
    acquire(conversationKey, { hasFiles } = { hasFiles: false }) {
      const { scope } = parseConversationKey(conversationKey)
      const user = userKey(scope)
      if (countOthers(conversationKey, scope) >= runningTurns) throw tooMany('Too many turns are running; wait until one has ended.', 5)
      const leave = overload.enter(hasFiles)
      const seconds = starts.take(user, nowMs())
      if (seconds > 0) {
        leave()
        throw tooMany('Too many turns in a short time.', seconds)
      }
      const ticket = {}
      starting.set(ticket, conversationKey)
      return () => {
        leave()
        starting.delete(ticket)
      }
    },
  }
}

/** Limits how many event streams or downloads a user may have open at the same time. */
export interface StreamQuota {
  /**
   * Reserves a place for a stream. Throws a problem with status 429 when the user has too many streams. The returned function releases the
   * place. Only its first call has an effect.
   */
  acquire(scope: Scope): () => void
  /** The number of open streams of all users. */
  readonly size: number
}

export function createStreamQuota(maxPerUser: number, refusal = 'Too many streams are open; close one first.'): StreamQuota {
  const counts = new Map<string, number>()
  let size = 0
  return {
    acquire(scope) {
      const user = userKey(scope)
      const count = counts.get(user) ?? 0
      if (count >= maxPerUser) throw tooMany(refusal, 5)
      counts.set(user, count + 1)
      size++
      let released = false
      return () => {
        if (released) return
        released = true
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

/**
 * A rate limit for each user. A user has a bucket of `burst` tokens, and each request takes tokens from it. The bucket gets `perMinute`
 * tokens back per minute. `name` is the key of the user. A full bucket is deleted, because a user without a bucket starts with a full one.
 */
interface TokenBucket {
  /**
   * Takes `cost` tokens (1 by default) and returns 0 if the request may pass. Otherwise takes none and returns the number of seconds until
   * the request may pass.
   */
  take(name: string, nowMs: number, cost?: number): number
  readonly size: number
}

export function createTokenBucket({ burst, perMinute }: { readonly burst: number; readonly perMinute: number }): TokenBucket {
  const buckets = new Map<string, { tokens: number; at: number }>()
  const refillPerMs = perMinute / 60_000
  const fullAfterMs = burst / refillPerMs

  function forgetFull(nowMs: number): void {
    for (const [name, { at }] of buckets) {
      if (nowMs - at < fullAfterMs) return // the map is sorted by last use, so this bucket and all later ones may not be full yet
      buckets.delete(name)
    }
  }

  return {
    take(name, nowMs, cost = 1) {
      forgetFull(nowMs)
      const bucket = buckets.get(name) ?? { tokens: burst, at: nowMs }
      const tokens = Math.min(burst, bucket.tokens + Math.max(0, nowMs - bucket.at) * refillPerMs)
      // a request that costs more than `burst` would never pass, so it passes when the bucket is full
      const passes = tokens >= cost || tokens === burst
      buckets.delete(name)
      buckets.set(name, { tokens: passes ? tokens - cost : tokens, at: nowMs })
      return passes ? 0 : Math.ceil((cost - tokens) / refillPerMs / 1000)
    },
    get size() {
      return buckets.size
    },
  }
}

export const tooMany = (title: string, seconds: number): RequestProblem =>
  new RequestProblem(429, 'request.too_many', title, { headers: { 'retry-after': String(seconds) } })
