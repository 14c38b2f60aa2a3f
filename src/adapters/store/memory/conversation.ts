import type { Block } from '../../../core/block/index.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import { blocksOf, emptyTimeline, type Timeline } from '../../../core/timeline/timeline.ts'
import type { Entry } from '../../../ports/store.ts'
import { checkNumbersUnused, newBlockNumbers, startsFrame } from '../shared/block-ids.ts'
import { emptyInfo, type InfoFields, infoAfter } from '../shared/conversation-list.ts'
import type { Lease } from '../shared/lease.ts'
import { removableEntries, type TimedEntry } from '../shared/retention.ts'

/** A journal in memory, with what can be told without reading it. */
export interface MemoryConversation {
  lease: Lease
  info: InfoFields
  entries: Entry[]
  /** Of the first so many entries, when they were made: filled in when somebody asks. */
  times: string[]
  /** Blocks as they were entered, in that order, by the first so many entries: filled in when somebody looks. */
  readonly firstVersions: Map<string, Block>
  indexedEntries: number
  /** Blocks below it were given their number, also those that were let go. */
  nextBlock: number
  /** The value right after the latest compaction, so that loading begins there. */
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

/** All or nothing: what may fail comes before what changes. */
export function appendChanges(conversation: MemoryConversation, changes: readonly Change[]): readonly Entry[] {
  const births = newBlockNumbers(changes, (id) => firstVersionsOf(conversation).get(id))
  checkNumbersUnused(births, conversation.nextBlock)
  let seq = conversation.info.lastSeq
  const logged = changes.map((change): Entry => ({ seq: ++seq, change }))
  const compacted = logged.findLast(isCompaction)
  if (compacted) conversation.base = { seq: compacted.seq, timeline: replay(visibleTimeline(conversation), logged, compacted.seq) }
  for (const entry of logged) conversation.entries.push({ seq: entry.seq, change: entry.change }) // what is handed out is not what is kept
  conversation.info = infoAfter(conversation.info, changes)
  conversation.nextBlock = Math.max(births.next, conversation.nextBlock)
  return logged
}

const isCompaction = ({ change }: Entry) => startsFrame(change)

/** Blocks as they were entered, by id. */
export function firstVersionsOf(conversation: MemoryConversation | undefined): ReadonlyMap<string, Block> {
  if (!conversation) return new Map()
  const { firstVersions: births, entries } = conversation
  for (; conversation.indexedEntries < entries.length; conversation.indexedEntries++) {
    for (const block of blocksOfChange((entries[conversation.indexedEntries] as Entry).change))
      if (!births.has(block.id)) births.set(block.id, block)
  }
  return births
}

export function visibleTimeline(conversation: MemoryConversation): Timeline {
  const { base, entries } = conversation
  return replay(base.timeline, entries.slice(positionAfter(entries, base.seq)), Number.POSITIVE_INFINITY)
}

/** An entry that has no time of its own shares that of the entry before. */
function timesOf({ entries, times }: MemoryConversation): readonly string[] {
  while (times.length < entries.length) times.push(changeTime((entries[times.length] as Entry).change) ?? times.at(-1) ?? '')
  return times
}

/** Lets history go; gives the changes that went. */
export function removeHistory(conversation: MemoryConversation, before: string): readonly Change[] {
  const { entries, base, info: head } = conversation
  const times = timesOf(conversation)
  firstVersionsOf(conversation)
  const visible = new Set(blocksOf(visibleTimeline(conversation)).map(({ id }) => id))
  const dated = entries.map((entry, n): TimedEntry => ({ ...entry, ts: times[n] as string })) // each has one
  const removable = new Set(removableEntries(dated, { before, frameSeq: base.seq, visible, openTurn: head.openTurn }))
  const gone = entries.filter(({ seq }) => removable.has(seq)).map(({ change }) => change)
  conversation.entries = entries.filter(({ seq }) => !removable.has(seq))
  conversation.times = dated.filter(({ seq }) => !removable.has(seq)).map(({ ts }) => ts)
  conversation.indexedEntries = conversation.entries.length
  const left = new Set(conversation.entries.flatMap(({ change }) => blocksOfChange(change).map(({ id }) => id)))
  for (const { id } of gone.flatMap(blocksOfChange)) if (!left.has(id)) conversation.firstVersions.delete(id)
  return gone
}

/** Where the entries beyond `seq` begin. Numbers ascend, and have gaps where history was let go. */
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
