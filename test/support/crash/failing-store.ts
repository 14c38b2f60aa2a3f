import { Failure } from '../../../src/core/failure.ts'
import type { ConversationStore } from '../../../src/ports/store.ts'

/** `before`: the changes are not stored. `after`: the changes are stored, but the caller gets an error. */
export type FailureSide = 'before' | 'after'

/** A store that fails at its nth append and rejects every later call. The stored data is the same as after the death of the process. */
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
    async append(claim, changes, options) {
      check()
      const last = ++appends === at.append
      if (last && at.side === 'before') fail()
      const entries = await store.append(claim, changes, options)
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
