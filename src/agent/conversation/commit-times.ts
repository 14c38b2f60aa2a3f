import type { ConversationStore } from '../../ports/store.ts'

type Journal = Pick<ConversationStore, 'append'>

/** Measures how long the commits of running conversations wait for the store. */
export interface CommitTimes {
  /** Appends through `store`, and measures how long each append takes. */
  measured(store: Journal): Journal
  /**
   * How many commits have waited for longer than `ms` milliseconds. Commits are measured from the first call on, because only servers ask,
   * and measuring takes 0.4 µs of a round in memory.
   */
  countOver(ms: number): number
}

/** `nowMs` is the time in milliseconds. */
export function createCommitTimes(nowMs: () => number): CommitTimes {
  let isAsked = false
  // The waiting commits, oldest first. It is a list, because a map makes a new table whenever its last item is removed.
  const waiting: { readonly began: number }[] = []

  async function measure(store: Journal, commit: Parameters<Journal['append']>): ReturnType<Journal['append']> {
    const item = { began: nowMs() }
    waiting.push(item)
    try {
      return await store.append(...commit)
    } finally {
      waiting.splice(waiting.indexOf(item), 1)
    }
  }

  return {
    measured: (store) => ({ append: (...commit) => (isAsked ? measure(store, commit) : store.append(...commit)) }),
    countOver(ms) {
      isAsked = true
      const limit = nowMs() - ms
      let count = 0
      while (count < waiting.length && (waiting[count]?.began ?? limit) < limit) count++
      return count
    },
  }
}
