import { conversationKeyFilter, parseConversationKey, type Scope, userKey } from '../../core/scope.ts'
import { RequestProblem } from '../problem.ts'
import type { OverloadGuard } from './overload.ts'
import { type RateLimit, type RateState, rateHeaders } from './rate-limit.ts'

/** The limits for messages: how many a user may send, and how much work of a tenant may wait in the store. */
export interface MessageQuota extends TurnQuota {
  /** Throws a problem with status 503 if too much work of the tenant waits. */
  checkBacklog(conversationKey: string): Promise<void>
}

/** Limits how many turns a user may start per minute and run at the same time, and how many messages the server accepts. */
interface TurnQuota {
  /**
   * Reserves a place for a turn that is about to start. Throws a problem with status 429 when the user has reached a limit, and with status
   * 503 when the server is overloaded.
   */
  acquire(conversationKey: string, options?: { readonly hasFiles: boolean }): Promise<TurnPlace>
}

/** The place that `acquire` has reserved for a turn. */
export interface TurnPlace {
  /** The state of the user's limit of messages, after this message. */
  readonly rate: RateState
  /**
   * Releases the place. Call it as soon as the turn is running, because running turns are counted separately. Also call it if the turn
   * could not start.
   */
  release(): void
}

interface TurnQuotaParts {
  readonly runningTurns: number
  readonly starts: RateLimit
  readonly overload: OverloadGuard
  nowMs(): number
  /**
   * The keys of the conversations that have a running turn in this process at the moment. It is called for each new turn. A counter of
   * running turns is not used, because it would stay wrong forever if it missed the end of one turn.
   */
  running(): Iterable<string>
  /** How many other conversations of the user have a turn, on all servers. Resolves to undefined when the number is not known. */
  readonly countElsewhere?: (conversationKey: string) => Promise<number | undefined>
}

export function createTurnQuota({ runningTurns, starts, overload, nowMs, running, countElsewhere }: TurnQuotaParts): TurnQuota {
  const starting = new Map<object, string>()

  /**
   * The number of other conversations of the user that have a turn. Keys are compared as texts and not parsed, because there may be
   * thousands.
   */
  function countOthers(conversationKey: string, scope: Scope): number {
    const filter = conversationKeyFilter(scope)
    const isOther = (key: string) => key !== conversationKey && ('plain' in filter ? !key.includes('/') : key.startsWith(filter.prefix))
    const others = new Set<string>()
    for (const key of running()) if (isOther(key)) others.add(key)
    for (const key of starting.values()) if (isOther(key)) others.add(key)
    return others.size
  }

  return {
    async acquire(conversationKey, { hasFiles } = { hasFiles: false }) {
      const { scope } = parseConversationKey(conversationKey)
      if (countOthers(conversationKey, scope) >= runningTurns) throw tooManyRun()
      const leave = overload.enter(hasFiles)
      const ticket = {}
      starting.set(ticket, conversationKey)
      const release = () => {
        leave()
        starting.delete(ticket)
      }
      try {
        if (((await countElsewhere?.(conversationKey)) ?? 0) >= runningTurns) throw tooManyRun()
        const rate = await starts.take(userKey(scope), nowMs())
        if (rate.retrySeconds > 0) throw tooMany('Too many turns in a short time.', rate.retrySeconds, rateHeaders(rate))
        return { rate, release }
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

const tooManyRun = () => tooMany('Too many turns are running; wait until one has ended.', 5)

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

export const tooMany = (title: string, seconds: number, headers: Readonly<Record<string, string>> = {}): RequestProblem =>
  new RequestProblem(429, 'request.too_many', title, { headers: { ...headers, 'retry-after': String(seconds) } })
