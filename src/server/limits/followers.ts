import type { Scope } from '../../core/scope.ts'
import { tooMany } from './quotas.ts'

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
