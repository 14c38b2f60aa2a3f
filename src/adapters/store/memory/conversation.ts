import type { Block } from '../../../core/block/index.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import { blocksOf, emptyTimeline, type Timeline } from '../../../core/timeline/timeline.ts'
import type { Entry } from '../../../ports/store.ts'
import { emptyInfo, type InfoFields, infoAfter } from '../shared/conversation-info.ts'
import { newBlockNumbersFast } from '../shared/fast-validate.ts'
import type { Lease } from '../shared/lease.ts'
import { removableEntries, type TimedEntry } from '../shared/retention.ts'
import { checkNumbersUnused, startsFrame } from '../shared/validate.ts'

/** A journal in memory, with the values derived from it that look-ups and lists need. */
export interface MemoryConversation {
  lease: Lease
  info: InfoFields
  entries: Entry[]
  /** The times of the first entries, one per entry. `timesOf` adds the missing ones on demand. */
  times: string[]
  /**
   * The first version of each block, by block id: as it was appended, without later changes such as hiding. Only the first
   * `indexedEntries` entries are included. `firstVersionsOf` adds the rest on demand.
   */
  readonly firstVersions: Map<string, Block>
  indexedEntries: number
  /** The lowest free block number. Smaller numbers must not be used again, also those of blocks that retention has removed. */
  nextBlock: number
  /** The timeline directly after the latest compaction or import. Loading starts with it. */
  base: { readonly seq: number; readonly timeline: Timeline }
}

export const newConversation = (): MemoryConversation => ({
  lease: { epoch: 0, owner: null, expiresAt: null },
  info: emptyInfo,
  entries: [],
  times: [],
  firstVersions: new Map(),
  indexedEntries: 0,
  nextBlock: 0,
  base: { seq: 0, timeline: emptyTimeline() },
})

/** Appends all changes or none: every step that may throw comes before the first step that changes the conversation. */
export function appendChanges(conversation: MemoryConversation, changes: readonly Change[]): readonly Entry[] {
  const numbers = newBlockNumbersFast(changes, (id) => firstVersionsOf(conversation).get(id))
  checkNumbersUnused(numbers, conversation.nextBlock)
  let seq = conversation.info.lastSeq
  const added = changes.map((change): Entry => ({ seq: ++seq, change }))
  const frame = added.findLast(({ change }) => startsFrame(change))
  if (frame) conversation.base = { seq: frame.seq, timeline: replay(visibleTimeline(conversation), added, frame.seq) }
  for (const entry of added) conversation.entries.push({ seq: entry.seq, change: entry.change }) // a copy, because the caller gets `entry`
  conversation.info = infoAfter(conversation.info, changes)
  conversation.nextBlock = Math.max(numbers.next, conversation.nextBlock)
  return added
}

/** The first version of every block, by block id, in the order in which the blocks were appended. */
export function firstVersionsOf(conversation: MemoryConversation | undefined): ReadonlyMap<string, Block> {
  if (!conversation) return new Map()
  const { firstVersions, entries } = conversation
  for (; conversation.indexedEntries < entries.length; conversation.indexedEntries++) {
    const { change } = entries[conversation.indexedEntries] as Entry
    for (const block of blocksOfChange(change)) if (!firstVersions.has(block.id)) firstVersions.set(block.id, block)
  }
  return firstVersions
}

export function visibleTimeline({ base, entries }: MemoryConversation): Timeline {
  return replay(base.timeline, entries.slice(positionAfter(entries, base.seq)), Number.POSITIVE_INFINITY)
}

/** Removes the entries before this time that retention may remove, and returns their changes. */
export function removeHistory(conversation: MemoryConversation, before: string): readonly Change[] {
  const { entries, base, info } = conversation
  const times = timesOf(conversation)
  firstVersionsOf(conversation) // all entries must be indexed before some are removed
  const visible = new Set(blocksOf(visibleTimeline(conversation)).map(({ id }) => id))
  const timed = entries.map((entry, n): TimedEntry => ({ ...entry, ts: times[n] as string })) // `timesOf` has a time for each entry
  const removable = new Set(removableEntries(timed, { before, frameSeq: base.seq, visible, openTurn: info.openTurn }))
  const removed = entries.filter(({ seq }) => removable.has(seq)).map(({ change }) => change)
  conversation.entries = entries.filter(({ seq }) => !removable.has(seq))
  conversation.times = timed.filter(({ seq }) => !removable.has(seq)).map(({ ts }) => ts)
  conversation.indexedEntries = conversation.entries.length
  const remaining = new Set(conversation.entries.flatMap(({ change }) => blocksOfChange(change).map(({ id }) => id)))
  for (const { id } of removed.flatMap(blocksOfChange)) if (!remaining.has(id)) conversation.firstVersions.delete(id)
  return removed
}

/** The times of all entries. An entry without its own time has the time of the entry before it. */
function timesOf({ entries, times }: MemoryConversation): readonly string[] {
  while (times.length < entries.length) times.push(changeTime((entries[times.length] as Entry).change) ?? times.at(-1) ?? '')
  return times
}

/** The index of the first entry after `seq`. It is searched, because retention leaves gaps between the numbers. */
export function positionAfter(entries: readonly Entry[], seq: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((entries[middle] as Entry).seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}

const replay = (start: Timeline, entries: readonly Entry[], until: number): Timeline =>
  entries.filter(({ seq }) => seq <= until).reduce((timeline, { change }) => applyChange(timeline, change), start)
