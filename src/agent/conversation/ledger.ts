import type { EntryEvent } from '../../core/event.ts'
import { Failure } from '../../core/failure.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { BudgetEntry } from '../../ports/store/budgets.ts'
import type { Claim, ConversationStore, Entry, Saved, TakenOffer } from '../../ports/store.ts'

/**
 * The current timeline of a running conversation. Only `commit` can change it. Other code gets a timeline and returns changes to commit.
 */
export interface Ledger {
  readonly timeline: Timeline
  readonly lastSeq: number
  /**
   * Appends the changes to the journal, then applies them to the timeline, then sends them to listeners. A change that a client has seen is
   * therefore always stored. The same append marks the offers that `takes` returns as taken. If `changes` is a function, `takes` is called
   * after it. `raises` raises budgets in the same append.
   */
  commit(changes: Changes, takes?: () => readonly TakenOffer[], raises?: BudgetEntry['raises']): Promise<void>
}

/**
 * A list of changes, or a function that makes the list. The function gets the timeline at the time of the commit, because the ids of new
 * blocks depend on the blocks in this timeline.
 */
export type Changes = readonly Change[] | ((timeline: Timeline) => readonly Change[])

/** The part of a store that a ledger writes to. */
export type JournalStore = Pick<ConversationStore, 'append'>

/**
 * Opens a ledger. Commits run one after the other. If the store fails, every later commit fails with the same error, because a turn can not
 * continue without its journal. Changes that the store rejects as invalid do not have this effect. `budgetFor` says what the changes cost.
 */
export function openLedger(
  start: Saved,
  claim: Claim,
  store: JournalStore,
  emit: (event: EntryEvent) => void,
  budgetFor: (changes: readonly Change[]) => BudgetEntry | undefined = () => undefined,
): Ledger {
  const self = { timeline: start.timeline, lastSeq: start.lastSeq, commit }
  let broken: { readonly error: unknown } | undefined
  let writing = false
  const waiting: (() => void)[] = []

  async function write(changes: Changes, takes?: () => readonly TakenOffer[], raises?: BudgetEntry['raises']): Promise<void> {
    let entries: readonly Entry[]
    writing = true
    try {
      if (broken) throw broken.error
      const made = typeof changes === 'function' ? changes(self.timeline) : changes // if the function throws, nothing has been written
      const taken = takes?.()
      if (made.length === 0 && !taken?.length) return
      try {
        const charged = budgetFor(made)
        const budget = raises ? { ...charged, raises } : charged
        const options = taken || budget ? { ...(taken && { takes: taken }), ...(budget && { budget }) } : undefined
        entries = await (options ? store.append(claim, made, options) : store.append(claim, made))
      } catch (error) {
        if (!isInvalidChange(error)) broken = { error }
        throw error
      }
      apply(entries)
    } finally {
      writing = false
      waiting.shift()?.() // the next commit runs even if this one has failed
    }
  }

  function apply(entries: readonly Entry[]): void {
    for (const { seq, change } of entries) {
      self.timeline = applyChange(self.timeline, change)
      self.lastSeq = seq
      emit({ type: 'entry', seq, change })
    }
  }

  function commit(changes: Changes, takes?: () => readonly TakenOffer[], raises?: BudgetEntry['raises']): Promise<void> {
    if (!writing) return write(changes, takes, raises)
    return new Promise((resolve) => waiting.push(() => resolve(write(changes, takes, raises))))
  }

  return self
}

/** Whether the store rejected the changes as invalid. In this case it has written nothing, and later commits are possible. */
export const isInvalidChange = (error: unknown) => error instanceof Failure && error.code === 'change.invalid'

/** Measures how long the commits of running conversations wait for the store. */
export interface CommitTimes {
  /** Appends through `store`, and measures how long each append takes. */
  measured(store: JournalStore): JournalStore
  /**
   * How many commits have waited for longer than `ms` milliseconds. Commits are measured from the first call of this function on, because
   * only servers call it, and measuring adds 0.4 µs to a round with a store in memory.
   */
  countOver(ms: number): number
}

/** `nowMs` is the time in milliseconds. */
export function createCommitTimes(nowMs: () => number): CommitTimes {
  let isAsked = false
  // The waiting commits, oldest first. It is a list, because a map allocates a new table whenever its last item is removed.
  const waiting: { readonly began: number }[] = []

  async function measure(store: JournalStore, commit: Parameters<JournalStore['append']>): ReturnType<JournalStore['append']> {
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
