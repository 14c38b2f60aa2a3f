import { Failure } from '../../../src/core/failure.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'

/** `before`: nothing is written. `behind`: it is written, and nobody learns of it. */
export type FailureSide = 'before' | 'behind'

/** A store that breaks at its nth append and is of no use from then on: to an agent, as good as dying. */
export function failingStore(store: ConversationStore, at: { readonly append: number; readonly side: FailureSide }): ConversationStore {
  let appends = 0
  let broken = false
  const check = () => {
    if (broken) throw new Failure('store.failed', 'the disk is gone')
  }
  const fail = (): never => {
    broken = true
    throw new Failure('store.failed', 'no space left on the device')
  }
  return {
    ...store,
    async append(claim, changes) {
      check()
      const last = ++appends === at.append
      if (last && at.side === 'before') fail()
      const entries = await store.append(claim, changes)
      return last ? fail() : entries
    },
    async renew(claim) {
      check()
      return store.renew(claim)
    },
    async release(claim) {
      check()
      return store.release(claim)
    },
  }
}
