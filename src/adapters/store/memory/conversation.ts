import type { Block } from '../../../core/block/index.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import { blocksOf, emptyTimeline, type Timeline } from '../../../core/timeline/timeline.ts'
import type { Entry } from '../../../ports/store.ts'
import { checkNumbersUnused, startsFrame } from '../shared/block-ids.ts'
import { emptyInfo, type InfoFields, infoAfter } from '../shared/conversation-list.ts'
import { newBlockNumbersFast } from '../shared/fast-block-ids.ts'
import type { Lease } from '../shared/lease.ts'
import { removableEntries, type TimedEntry } from '../shared/retention.ts'

/** A journal in memory, and the values derived from it that lookups and lists need. */
export interface MemoryConversation {
  lease: Lease
  info: InfoFields
  entries: Entry[]
  /** Times of the first entries; `timesOf` adds the rest on demand. */
  times: string[]
  /** Blocks as they were first entered, by id, of the first `indexedEntries` entries; `firstVersionsOf` adds the rest on demand. */
  readonly firstVersions: Map<string, Block>
  indexedEntries: number
  /** The lowest free block number. All smaller ones are used, also those of blocks that retention has removed. */
  nextBlock: number
  /** The timeline right after the latest compaction or import: loading starts here. */
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

/** All or nothing: every step that may fail comes before the first one that changes the conversation. */
export function appendChanges(conversation: MemoryConversation, changes: readonly Change[]): readonly Entry[] {
  const numbers = newBlockNumbersFast(changes, (id) => firstVersionsOf(conversation).get(id))
  checkNumbersUnused(numbers, conversation.nextBlock)
  let seq = conversation.info.lastSeq
  const added = changes.map((change): Entry => ({ seq: ++seq, change }))
  const frame = added.findLast(({ change }) => startsFrame(change))
  if (frame) conversation.base = { seq: frame.seq, timeline: replay(visibleTimeline(conversation), added, frame.seq) }
  for (const entry of added) conversation.entries.push({ seq: entry.seq, change: entry.change }) // copies: the caller gets the others
  conversation.info = infoAfter(conversation.info, changes)
  conversation.nextBlock = Math.max(numbers.next, conversation.nextBlock)
  return added
}

/** Every block as it was first entered, by id, in the order of entering. */
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

/** Removes entries as retention allows, and returns their changes. */
export function removeHistory(conversation: MemoryConversation, before: string): readonly Change[] {
  const { entries, base, info } = conversation
  const times = timesOf(conversation)
  firstVersionsOf(conversation) // indexes all entries before some are removed
  const visible = new Set(blocksOf(visibleTimeline(conversation)).map(({ id }) => id))
  const timed = entries.map((entry, n): TimedEntry => ({ ...entry, ts: times[n] as string })) // `timesOf` has one for each entry
  const removable = new Set(removableEntries(timed, { before, frameSeq: base.seq, visible, openTurn: info.openTurn }))
  const removed = entries.filter(({ seq }) => removable.has(seq)).map(({ change }) => change)
  conversation.entries = entries.filter(({ seq }) => !removable.has(seq))
  conversation.times = timed.filter(({ seq }) => !removable.has(seq)).map(({ ts }) => ts)
  conversation.indexedEntries = conversation.entries.length
  const remaining = new Set(conversation.entries.flatMap(({ change }) => blocksOfChange(change).map(({ id }) => id)))
  for (const { id } of removed.flatMap(blocksOfChange)) if (!remaining.has(id)) conversation.firstVersions.delete(id)
  return removed
}

/** An entry without a time of its own has that of the entry before it. */
function timesOf({ entries, times }: MemoryConversation): readonly string[] {
  while (times.length < entries.length) times.push(changeTime((entries[times.length] as Entry).change) ?? times.at(-1) ?? '')
  return times
}

/** The index of the first entry after `seq`. Numbers ascend; retention leaves gaps. */
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
