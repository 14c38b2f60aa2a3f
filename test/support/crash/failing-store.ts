import { Failure } from '../../../src/core/failure.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'

/** `before`: nothing is written. `after`: the entry is written, but the caller gets an error. */
export type FailureSide = 'before' | 'after'

/** A store that fails at its nth append and rejects every call after it. For the stored data this is the same as the death of the process. */
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
