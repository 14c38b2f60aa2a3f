import type { Draft } from '../core/block/index.ts'
import type { EntryEvent } from '../core/event.ts'
import { applyChange } from '../core/timeline/apply.ts'
import type { Change } from '../core/timeline/change.ts'
import { enter } from '../core/timeline/enter.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { Claim, ConversationStore, Saved } from '../ports/store.ts'

/** The one mutable cell of a turn. Everything else is given a Timeline and returns Changes. */
export interface Ledger {
  readonly timeline: Timeline
  readonly lastSeq: number
  /** Logged first, applied second, announced third: what a client has seen is always on disk. */
  commit(changes: Changes): Promise<void>
}

/** Changes, or how to make them from the value they will be applied to: blocks are numbered when their turn comes, not before. */
export type Changes = readonly Change[] | ((timeline: Timeline) => readonly Change[])

/** One at a time, in order. After a failure, none: a turn whose journal is broken must not go on. */
export function openLedger(
  start: Saved,
  claim: Claim,
  store: Pick<ConversationStore, 'append'>,
  emit: (event: EntryEvent) => void,
): Ledger {
  let { timeline, lastSeq } = start
  let previous: Promise<void> = Promise.resolve()

  async function write(changes: Changes): Promise<void> {
    const wanted = typeof changes === 'function' ? changes(timeline) : changes
    if (wanted.length === 0) return
    for (const entry of await store.append(claim, wanted)) {
      timeline = applyChange(timeline, entry.change)
      lastSeq = entry.seq
      emit({ type: 'entry', ...entry })
    }
  }

  return {
    get timeline() {
      return timeline
    },
    get lastSeq() {
      return lastSeq
    },
    commit(changes) {
      previous = previous.then(() => write(changes))
      return previous
    },
  }
}

/** The ordinary entry. */
export const append = (drafts: readonly Draft[], ...others: readonly Change[]): Changes => {
  return (timeline) => (drafts.length === 0 ? others : [{ type: 'blocks.appended', blocks: enter(timeline, drafts) }, ...others])
}
