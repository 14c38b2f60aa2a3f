import type { ConversationStore } from '../../ports/store.ts'

type Journal = Pick<ConversationStore, 'append'>

/** Measures how long the commits of running conversations wait for the store. */
export interface CommitTimes {
  /** Appends through `store`, and measures how long each append takes. */
  measured(store: Journal): Journal
  /** How many commits have waited for longer than `ms` milliseconds. */
  countOver(ms: number): number
}

/** `nowMs` is the time in milliseconds. */
export function createCommitTimes(nowMs: () => number): CommitTimes {
  const waiting = new Map<object, number>() // the times at which the waiting commits began, oldest first

  return {
    measured: (store) => ({
      async append(...commit) {
        waiting.set(commit, nowMs())
        try {
          return await store.append(...commit)
        } finally {
          waiting.delete(commit)
        }
      },
    }),
    countOver(ms) {
      const limit = nowMs() - ms
      let count = 0
      for (const began of waiting.values()) {
        if (began >= limit) break
        count++
      }
      return count
    },
  }
}
