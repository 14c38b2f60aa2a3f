import type { Block } from '../block/block.ts'
import { createWalk, defaultSettings, type RenderedBlock, type Walk } from '../render/walk.ts'
import { applyChange } from '../timeline/apply.ts'
import { blocksOfChange, type Change, type ResponseReceived } from '../timeline/change.ts'
import { emptyTimeline, type Timeline } from '../timeline/timeline.ts'

/** An entry of a journal, as a store gives it. */
export interface JournalEntry {
  readonly seq: number
  readonly change: Change
}

/** A call of a model as the journal has it, and what could be seen when it was made. */
export interface RecordedCall {
  readonly seq: number
  readonly response: ResponseReceived
  /** The blocks that were shown, oldest first: the first `count` of these. */
  readonly lines: readonly RenderedBlock[]
  readonly count: number
  /** What was changed since the call before of the same role. */
  readonly since: readonly Change[]
  /** What was entered with the answer. */
  readonly produced: readonly Block[]
}

/** Every call of a conversation. What was shown follows from the entries before it: the journal is all there is. */
export function* callsIn(journal: readonly JournalEntry[]): Generator<RecordedCall> {
  const since = new Map<string, Change[]>()
  let timeline = emptyTimeline()
  let walk: Walk | undefined
  for (const [index, { seq, change }] of journal.entries()) {
    if (change.type === 'response.received') {
      walk = walkTo(timeline, walk)
      const role = change.role ?? 'decision'
      const made = blocksProducedAfter(journal, index)
      yield { seq, response: change, lines: walk.lines, count: walk.lines.length, since: since.get(role) ?? [], produced: made }
      since.set(role, [])
    } else for (const changes of since.values()) changes.push(change)
    timeline = applyChange(timeline, change)
  }
}

/** An edited past is walked again; what only grew is not. */
function walkTo(timeline: Timeline, walk: Walk | undefined): Walk {
  if (!walk || walk.spine !== timeline.buffer || walk.size > timeline.size) return createWalk(timeline, defaultSettings, walk)
  walk.extend(timeline)
  return walk
}

/** Blocks follow their response at once; a title may stand between, or what a summary folds away. */
function blocksProducedAfter(journal: readonly JournalEntry[], index: number): readonly Block[] {
  const next = journal[index + 1]?.change
  const after = next?.type === 'title.set' || next?.type === 'blocks.hidden' ? journal[index + 2]?.change : next
  return after === undefined || after.type === 'event.accepted' ? [] : blocksOfChange(after)
}
