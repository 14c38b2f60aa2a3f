import type * as zlib from 'node:zlib'
import { blocksOfChange } from '../../../core/timeline/change.ts'
import type { Entry } from '../../../ports/store.ts'

/** The journal of a conversation in memory. Its entries may be packed as compressed JSON, which takes about a tenth of the memory. */
export interface MemoryJournal {
  /** All entries, in order. Packed entries are unpacked. */
  entries(): readonly Entry[]
  /** About how much memory the entries take that are not packed. */
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
  /** All entries, or only those after the packed ones. */
  let entries: Entry[] = []
  let isUnpacked = true

  function unpack(): readonly Entry[] {
    const unpacked = pieces.flatMap((piece) => JSON.parse(compression().inflateRawSync(piece).toString()) as Entry[])
    for (const entry of unpacked) self.bytes += bytesOf(entry)
    for (const entry of entries) unpacked.push(entry)
    entries = unpacked
    isUnpacked = true
    onUnpack() // it may pack the entries again
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
        pieces.push(compression().deflateRawSync(json, { level: 1 })) // higher levels take twice as long and save a tenth
      }
      packedCount += added.length
      entries = []
      isUnpacked = false
      self.bytes = 0
    },
  }
  return self
}

/** Loaded when it is first needed. Most stores in memory are small, and never pack. */
const compression = (): typeof zlib => process.getBuiltinModule('node:zlib')

const BYTES_PER_ENTRY = 500
const BYTES_PER_BLOCK = 350

/** About how much memory an entry takes. */
function bytesOf({ change }: Entry): number {
  let bytes = BYTES_PER_ENTRY + (change.type === 'response.received' ? change.raw.length : 0)
  for (const { text } of blocksOfChange(change)) bytes += BYTES_PER_BLOCK + (text?.length ?? 0)
  return bytes
}
