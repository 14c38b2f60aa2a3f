import { parseConversationKey } from '../../core/scope.ts'
import { RequestProblem } from '../problem.ts'
import { createTokenBucket } from './token-bucket.ts'

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
