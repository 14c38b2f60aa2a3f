import { createHash } from 'node:crypto'
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Change } from '../../core/timeline/change.ts'
import type { ConversationStore } from '../../ports/store.ts'

/**
 * A note that a process writes outside of the store. The note is in the file before the process continues, so it is kept when the process
 * is killed.
 */
export type TortureNote =
  /** The store has acknowledged an entry. */
  | { readonly note: 'stored'; readonly conversationId: string; readonly seq: number; readonly hash: string; readonly process: string }
  /** The store has acknowledged an offer. */
  | {
      readonly note: 'offered'
      readonly conversationId: string
      readonly eventId: string
      readonly result: string
      readonly process: string
    }
  /** An agent has acknowledged a message. */
  | { readonly note: 'accepted'; readonly conversationId: string; readonly eventId: string }
  /** The model was asked for a decision. `cached` is the part of the prompt that a provider may read from its cache. */
  | {
      readonly note: 'asked'
      readonly conversationId: string
      readonly iteration: number
      readonly cached: string
      readonly process: string
    }
  /** A tool has done something that can not be undone. */
  | {
      readonly note: 'effect'
      readonly conversationId: string
      readonly toolId: string
      readonly iteration: number
      readonly callId: string
    }
  /** A follower has received an entry. */
  | { readonly note: 'seen'; readonly follower: string; readonly conversationId: string; readonly seq: number; readonly hash: string }
  /** A renewal of a lease succeeded. */
  | { readonly note: 'renewed'; readonly conversationId: string; readonly process: string }
  /**
   * A phase of the scenario begins. The notes of all processes are in one file, so this note separates the notes before and after the
   * beginning of the phase.
   */
  | { readonly note: 'phase'; readonly name: string }

export type NoteOf<Name extends TortureNote['note']> = Extract<TortureNote, { note: Name }>

const FILE = 'notes.jsonl'

/** Returns a function that appends notes to the file of a scenario. */
export function openNotes(records: string): (note: TortureNote) => void {
  const file = openSync(join(records, FILE), 'a')
  return (note) => void writeSync(file, `${JSON.stringify(note)}\n`)
}

export function readNotes(records: string): readonly TortureNote[] {
  const file = join(records, FILE)
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1) // a killed process may leave a line without its end
  return lines.map((line) => JSON.parse(line) as TortureNote)
}

/** The notes of one kind. */
export const notesOf = <Name extends TortureNote['note']>(notes: readonly TortureNote[], name: Name): readonly NoteOf<Name>[] =>
  notes.filter((note): note is NoteOf<Name> => note.note === name)

/** The notes after the beginning of a phase. */
export function notesSince(notes: readonly TortureNote[], phase: string): readonly TortureNote[] {
  const start = notes.findIndex((note) => note.note === 'phase' && note.name === phase)
  return start < 0 ? [] : notes.slice(start + 1)
}

/** The hash of a change. The order of the fields does not matter, because a store may change the order of fields in JSON. */
export const hashOf = (change: Change): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(change)))
    .digest('hex')
    .slice(0, 24)

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)]),
  )
}

/** The same store with some functions replaced. All other functions are called on the store itself, which may be an object of a class. */
export const withFunctions = (store: ConversationStore, replaced: Partial<ConversationStore>): ConversationStore =>
  new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof ConversationStore]
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

/** A store that writes a note for everything that it has acknowledged. */
export function notingStore(store: ConversationStore, process: string, note: (note: TortureNote) => void): ConversationStore {
  return withFunctions(store, {
    async append(claim, changes, options) {
      const entries = await store.append(claim, changes, options)
      const { conversationId } = claim
      for (const { seq, change } of entries) note({ note: 'stored', conversationId, seq, hash: hashOf(change), process })
      return entries
    },
    async offer(conversationId, event, options) {
      const result = await store.offer(conversationId, event, options)
      note({ note: 'offered', conversationId, eventId: event.event_id, result, process })
      return result
    },
    async renew(claim) {
      await store.renew(claim)
      note({ note: 'renewed', conversationId: claim.conversationId, process })
    },
  })
}
