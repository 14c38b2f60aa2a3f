import type * as zlib from 'node:zlib'
import type { Block } from '../../../core/block/index.ts'
import { applyChange } from '../../../core/timeline/apply.ts'
import { createBuffer } from '../../../core/timeline/block-buffer.ts'
import { blocksOfChange, type Change, changeTime } from '../../../core/timeline/change.ts'
import { blocksOf, emptyTimeline, type Timeline } from '../../../core/timeline/timeline.ts'
import type { Entry } from '../../../ports/store.ts'
import { emptyInfo, type InfoFields, infoAfter } from '../shared/conversation-info.ts'
import type { Lease } from '../shared/lease.ts'
import { removableEntries, type TimedEntry } from '../shared/removal/retention.ts'
import { newBlockNumbersFast } from '../shared/validation/fast-validate.ts'
import { checkNumbersUnused, type NewBlockNumbers, startsFrame } from '../shared/validation/validate.ts'
import { type Attempts, noAttempts } from '../shared/work.ts'
import type { MemoryOffer } from './offers.ts'
import type { MemorySchedule } from './schedules.ts'

/** One conversation in memory: its journal, its lease, and values computed from the journal for lists and look-ups. */
export interface MemoryConversation {
  lease: Lease
  info: InfoFields
  attempts: Attempts
  /** The time of the oldest offer that was not taken. */
  offeredAt: string | null
  readonly journal: MemoryJournal
  /** Whether retention has removed entries. */
  hasRemovedHistory: boolean
  /** The offers by event id, in the order in which they were offered. */
  readonly offers: Map<string, MemoryOffer>
  /** The event ids of the offers that were not taken. */
  readonly openOffers: Set<string>
  readonly schedules: Map<string, MemorySchedule>
  /** The times of the first entries, in the order of the journal. `timesOf` computes the times of later entries when they are needed. */
  times: string[]
  /**
   * Each block by its id, as it was appended, before later changes such as hiding. The map covers only the first `indexedEntries` entries
   * of the journal. `firstVersionsOf` adds the blocks of later entries when they are needed.
   */
  readonly firstVersions: Map<string, Block>
  indexedEntries: number
  /** The lowest block number that was never used. A smaller number must not be used again, even if retention has removed its block. */
  nextBlock: number
  /** The timeline directly after the latest compaction or import, and the `seq` of that entry. Loading applies only later entries to it. */
  base: { readonly seq: number; readonly timeline: Timeline }
}

/** `onUnpack` is called with the conversation after its packed journal was read. */
export function newConversation(onUnpack: (conversation: MemoryConversation) => void, epoch = 0): MemoryConversation {
  const conversation: MemoryConversation = {
    ...emptyConversation(epoch),
    journal: createJournal(() => onUnpack(conversation)),
  }
  return conversation
}

const emptyConversation = (epoch: number): Omit<MemoryConversation, 'journal'> => ({
  lease: { epoch, owner: null, expiresAt: null },
  info: emptyInfo,
  attempts: noAttempts,
  offeredAt: null,
  hasRemovedHistory: false,
  offers: new Map(),
  openOffers: new Set(),
  schedules: new Map(),
  times: [],
  firstVersions: new Map(),
  indexedEntries: 0,
  nextBlock: 0,
  base: { seq: 0, timeline: emptyTimeline() },
})

/** Appends all changes or none. Every step that may throw comes before the first step that modifies `conversation`. */
export function appendChanges(
  conversation: MemoryConversation,
  changes: readonly Change[],
  numbers: NewBlockNumbers = newBlockNumbersFast(changes, (id) => firstVersionsOf(conversation).get(id)),
): readonly Entry[] {
  checkNumbersUnused(numbers, conversation.nextBlock)
  let seq = conversation.info.lastSeq
  const added = changes.map((change): Entry => ({ seq: ++seq, change }))
  if (changes.some(startsFrame)) {
    const frame = added.findLast(({ change }) => startsFrame(change)) as Entry
    conversation.base = { seq: frame.seq, timeline: replay(visibleTimeline(conversation), added, frame.seq) }
  }
  // a copy, because the caller gets `entry` and may modify it
  for (const entry of added) conversation.journal.add({ seq: entry.seq, change: entry.change })
  conversation.info = infoAfter(conversation.info, changes)
  conversation.nextBlock = Math.max(numbers.next, conversation.nextBlock)
  return added
}

/** Every block as it was appended, before later changes such as hiding. The map is by block id, in the order of the appends. */
export function firstVersionsOf(conversation: MemoryConversation | undefined): ReadonlyMap<string, Block> {
  if (!conversation) return new Map()
  const { firstVersions, journal } = conversation
  const entries = journal.entries()
  for (; conversation.indexedEntries < entries.length; conversation.indexedEntries++) {
    const { change } = entries[conversation.indexedEntries] as Entry
    for (const block of blocksOfChange(change)) if (!firstVersions.has(block.id)) firstVersions.set(block.id, block)
  }
  return firstVersions
}

export function visibleTimeline({ base, journal }: MemoryConversation): Timeline {
  const entries = journal.entries()
  return replay(ownCopyOf(base.timeline), entries.slice(positionAfter(entries, base.seq)), Number.POSITIVE_INFINITY)
}

/**
 * The timeline with a list of blocks of its own. If timelines that are made from it are edited, they do not depend on the list of the given
 * timeline. So their earlier states are not kept in memory as long as the given timeline.
 */
const ownCopyOf = (timeline: Timeline): Timeline => ({ ...timeline, buffer: createBuffer(blocksOf(timeline)) })

/** Removes the entries older than `before` that retention may remove. Returns the changes of the removed entries. */
export function removeHistory(conversation: MemoryConversation, before: string): readonly Change[] {
  const { journal, base, info } = conversation
  const entries = journal.entries()
  const times = timesOf(conversation)
  firstVersionsOf(conversation) // indexes all entries before some are removed, because `indexedEntries` is a position in the journal
  const visible = new Set(blocksOf(visibleTimeline(conversation)).map(({ id }) => id))
  const timed = entries.map((entry, n): TimedEntry => ({ ...entry, ts: times[n] as string })) // `timesOf` returns one time per entry
  const removable = new Set(removableEntries(timed, { before, frameSeq: base.seq, visible, openTurn: info.openTurn }))
  const removed = entries.filter(({ seq }) => removable.has(seq)).map(({ change }) => change)
  if (removed.length === 0) return removed
  conversation.hasRemovedHistory = true
  journal.replace(entries.filter(({ seq }) => !removable.has(seq)))
  conversation.times = timed.filter(({ seq }) => !removable.has(seq)).map(({ ts }) => ts)
  conversation.indexedEntries = journal.entries().length
  const remaining = new Set(journal.entries().flatMap(({ change }) => blocksOfChange(change).map(({ id }) => id)))
  for (const { id } of removed.flatMap(blocksOfChange)) if (!remaining.has(id)) conversation.firstVersions.delete(id)
  return removed
}

/** The times of all entries. A change without a time gets the time of the entry before it. */
function timesOf({ journal, times }: MemoryConversation): readonly string[] {
  const entries = journal.entries()
  while (times.length < entries.length) times.push(changeTime((entries[times.length] as Entry).change) ?? times.at(-1) ?? '')
  return times
}

/** The index of the first entry with a number above `seq`. A binary search is needed because retention leaves gaps between the numbers. */
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

/** The journal of a conversation in memory. Its entries may be packed as compressed JSON, which takes about a tenth of the memory. */
export interface MemoryJournal {
  /** All entries, in order. Packed entries are unpacked. */
  entries(): readonly Entry[]
  /** An estimate of the memory, in bytes, of the entries that are not packed. */
  readonly bytes: number
  /** Adds an entry. Packed entries stay packed. */
  add(entry: Entry): void
  replace(entries: Entry[]): void
  /** Packs all entries. */
  pack(): void
}

/** How many entries one piece of packed data has. Entries that were packed before are not packed again. */
const ENTRIES_PER_PIECE = 256

/** `onUnpack` is called after the entries were unpacked. */
export function createJournal(onUnpack: () => void): MemoryJournal {
  let pieces: Uint8Array[] = []
  let packedCount = 0
  /** All entries if `isUnpacked` is true. Otherwise only the entries that were added after the last packing. */
  let entries: Entry[] = []
  let isUnpacked = true

  function unpack(): readonly Entry[] {
    const unpacked = pieces.flatMap((piece) => JSON.parse(compression().zstdDecompressSync(piece).toString()) as Entry[])
    for (const entry of unpacked) self.bytes += bytesOf(entry)
    for (const entry of entries) unpacked.push(entry)
    entries = unpacked
    isUnpacked = true
    onUnpack() // `onUnpack` may pack the entries again
    return unpacked
  }

  const self = {
    bytes: 0,
    entries: () => (isUnpacked ? entries : unpack()),
    add(entry: Entry) {
      entries.push(entry)
      self.bytes += bytesOf(entry)
    },
    replace(remaining: Entry[]) {
      pieces = []
      packedCount = 0
      entries = remaining
      isUnpacked = true
      self.bytes = remaining.reduce((sum, entry) => sum + bytesOf(entry), 0)
    },
    pack() {
      const added = isUnpacked ? entries.slice(packedCount) : entries
      for (let from = 0; from < added.length; from += ENTRIES_PER_PIECE) {
        const json = JSON.stringify(added.slice(from, from + ENTRIES_PER_PIECE))
        pieces.push(compression().zstdCompressSync(json))
      }
      packedCount += added.length
      entries = []
      isUnpacked = false
      self.bytes = 0
    },
  }
  return self
}

/** The module is loaded when it is first needed, because most stores in memory are small and never pack. */
const compression = (): typeof zlib => process.getBuiltinModule('node:zlib')

const BYTES_PER_ENTRY = 500
const BYTES_PER_BLOCK = 350

/** An estimate of the memory, in bytes, that an entry takes. */
function bytesOf({ change }: Entry): number {
  let bytes = BYTES_PER_ENTRY + (change.type === 'response.received' ? change.raw.length : 0)
  for (const { text } of blocksOfChange(change)) bytes += BYTES_PER_BLOCK + (text?.length ?? 0)
  return bytes
}
