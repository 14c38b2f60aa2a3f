import { applyChange, type Change, type ConversationView, emptyTimeline, emptyView, foldEvent, type Timeline } from 'daybook/client'

/** An entry of the journal. */
export interface Entry {
  readonly seq: number
  readonly change: Change
}

/** A conversation after one of its entries: its timeline, and what a person sees. */
export interface Moment {
  readonly timeline: Timeline
  readonly view: ConversationView
}

/** The states of a conversation after each of its entries. A state shares most of its data with its neighbours. */
export interface History {
  /** The state after the first `count` entries. `entries` may have grown since the last call, but its beginning must be the same. */
  at(entries: readonly Entry[], count: number): Moment
}

/** Computes every state only once, when it is first requested. Nothing is requested from the server. */
export function createHistory(): History {
  const moments: Moment[] = [{ timeline: emptyTimeline(), view: emptyView }]
  return {
    at(entries, count) {
      const wanted = Math.max(0, Math.min(count, entries.length))
      while (moments.length <= wanted) moments.push(after(moments.at(-1) as Moment, entries[moments.length - 1] as Entry))
      return moments[wanted] as Moment
    },
  }
}

const after = ({ timeline, view }: Moment, { seq, change }: Entry): Moment => ({
  timeline: applyChange(timeline, change),
  view: foldEvent(view, { type: 'entry', seq, change }),
})
