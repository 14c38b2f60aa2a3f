import type { Scope } from '../../core/scope.ts'
import { RequestProblem } from '../problem.ts'
import { createTokenBucket } from './token-bucket.ts'

/** How many turns a user may begin, and have running at the same time. */
export interface TurnGate {
  /** Throws 429 when there are too many. */
  enter(who: Scope, conversationKey: string): Pass
  /** A turn of this conversation is over. */
  over(conversationKey: string): void
  readonly running: number
}

export interface Pass {
  /** A turn did begin: it counts until it is over. */
  keep(): void
  leave(): void
}

export function createTurnGate(
  { turnsPerMinute, runningTurns }: { readonly turnsPerMinute: number; readonly runningTurns: number },
  nowMs: () => number,
): TurnGate {
  const bucket = createTokenBucket({ atOnce: turnsPerMinute, perMinute: turnsPerMinute })
  const running = new Map<string, string>() // conversation → user
  const entering = new Map<string, number>()

  return {
    enter(who, conversationKey) {
      const user = JSON.stringify([who.tenant, who.project, who.user])
      const others = [...running].filter(([key, owner]) => owner === user && key !== conversationKey).length + (entering.get(user) ?? 0)
      if (others >= runningTurns) throw tooMany('Too many turns are running; wait until one is over.', 5)
      const seconds = bucket.take(user, nowMs())
      if (seconds > 0) throw tooMany('Too many turns in a short time.', seconds)
      entering.set(user, (entering.get(user) ?? 0) + 1)
      return {
        keep: () => void running.set(conversationKey, user),
        leave() {
          const left = (entering.get(user) ?? 1) - 1
          if (left > 0) entering.set(user, left)
          else entering.delete(user)
        },
      }
    },
    over: (conversationKey) => void running.delete(conversationKey),
    get running() {
      return running.size
    },
  }
}

export const tooMany = (title: string, seconds: number): RequestProblem =>
  new RequestProblem(429, 'request.too_many', title, { headers: { 'retry-after': String(seconds) } })
