import type { Draft } from '../../core/block/index.ts'
import type { EntryEvent } from '../../core/event.ts'
import { Failure } from '../../core/failure.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { assignIds } from '../../core/timeline/timeline.ts'
import type { Claim, ConversationStore, Entry, Saved } from '../../ports/store.ts'

/** The one mutable cell of a turn. Everything else is given a Timeline and returns Changes. */
export interface Ledger {
  readonly timeline: Timeline
  readonly lastSeq: number
  /** Logged first, applied second, announced third: what a client has seen is always on disk. */
  commit(changes: Changes): Promise<void>
}

/** Changes, or how to make them from the value they will be applied to: blocks are numbered when their turn comes, not before. */
export type Changes = readonly Change[] | ((timeline: Timeline) => readonly Change[])

/** One at a time, in order. Once the store has failed, none: a turn whose journal is broken must not go on. */
export function openLedger(
  start: Saved,
  claim: Claim,
  store: Pick<ConversationStore, 'append'>,
  emit: (event: EntryEvent) => void,
): Ledger {
  const self = { timeline: start.timeline, lastSeq: start.lastSeq, commit }
  let broken: { readonly error: unknown } | undefined
  let writing = false
  const waiting: (() => void)[] = []

  /** What was asked for and what comes of it. Twice in every round: so nothing is made for it but the promise. */
  function write(changes: Changes): Promise<void> {
    writing = true
    try {
      if (broken) throw broken.error
      const wanted = typeof changes === 'function' ? changes(self.timeline) : changes // a fault in here leaves the journal whole
      if (wanted.length > 0) return logged(wanted).then(takeIn, giveUp)
    } catch (error) {
      letNext()
      return Promise.reject(error)
    }
    letNext()
    return Promise.resolve()
  }

  function logged(wanted: readonly Change[]): Promise<readonly Entry[]> {
    try {
      return Promise.resolve(store.append(claim, wanted)) // the same promise, nearly always
    } catch (error) {
      return Promise.reject(error) // a store that fails on the spot has failed all the same
    }
  }

  function takeIn(entries: readonly Entry[]): void {
    try {
      for (const { seq, change } of entries) {
        self.timeline = applyChange(self.timeline, change)
        self.lastSeq = seq
        emit({ type: 'entry', seq, change })
      }
    } finally {
      letNext()
    }
  }

  function giveUp(error: unknown): never {
    if (!isInvalidChange(error)) broken = { error } // the end of it; what it only refused to enter is our own fault
    letNext()
    throw error
  }

  /** A failure is its caller's: the next one finds out for itself. */
  function letNext(): void {
    writing = false
    waiting.shift()?.()
  }

  function commit(changes: Changes): Promise<void> {
    if (!writing) return write(changes)
    return new Promise((resolve) => waiting.push(() => resolve(write(changes))))
  }

  return self
}

/** The store was asked to enter something that is no change, and entered nothing: that is our fault, and the journal is whole. */
const isInvalidChange = (error: unknown) => error instanceof Failure && error.code === 'change.invalid'

/** The ordinary entry. */
export const append = (drafts: readonly Draft[], ...others: readonly Change[]): Changes => {
  return (timeline) => (drafts.length === 0 ? others : [{ type: 'blocks.appended', blocks: assignIds(timeline, drafts) }, ...others])
}
