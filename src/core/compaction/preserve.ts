import type { Block, Draft } from '../block/block.ts'
import { noteSegments, noteTags } from '../block/note.ts'
import { preservedNotePath } from '../path/build.ts'
import { cutText } from '../render/shorten.ts'
import { oneLine } from '../render/text.ts'
import { latestBy } from './digest.ts'
import { type CutPlace, originalPath, preservedCopy } from './plans.ts'

const MOST_NOTES = 32
const MOST_EVENTS = 16
const EVENT_CHARS = 4000
const MOST_PREFERENCES = 12

/** The newest note at each path, oldest first: a path that was written again says only its newest text. */
export function currentNotes(blocks: readonly Block[]): readonly Block[] {
  const notes = blocks.filter(({ type, text }) => (type === 'react.note' || type === 'react.note.preserved') && text !== undefined)
  return latestBy([], notes, (note) => originalPath(note) ?? note.id)
}

export interface NoteSplit {
  readonly kept: readonly Block[]
  readonly dropped: readonly Block[]
}

/** The newest stay in sight; the others go to the digest. */
export function splitNotes(notes: readonly Block[]): NoteSplit {
  const start = Math.max(0, notes.length - MOST_NOTES)
  return { kept: notes.slice(start), dropped: notes.slice(0, start) }
}

/** As authored, at addresses of their own. */
export function preservedNotes(notes: readonly Block[], place: CutPlace): readonly Draft[] {
  return notes.map((note, index) => {
    const draft = preservedCopy(note, 'react.note.preserved', place, preservedNotePath(place.turnId, index + 1))
    return { ...draft, meta: { ...draft.meta, note_tags: noteTags(note.text ?? '') } }
  })
}

const events = new Map([
  ['user.followup', 'user.followup.preserved'],
  ['user.followup.preserved', 'user.followup.preserved'],
  ['user.steer', 'user.steer.preserved'],
  ['user.steer.preserved', 'user.steer.preserved'],
])

/** What the user said while turns were running: the newest, as said, unless it was very long. */
export function preservedEvents(blocks: readonly Block[], place: CutPlace): readonly Draft[] {
  const said = blocks.flatMap((block) => {
    const type = events.get(block.type)
    return type === undefined ? [] : [shortened(preservedCopy(block, type, place))]
  })
  return said.slice(-MOST_EVENTS)
}

/** It stays in every prompt from now on; the original stays at its address. */
function shortened(draft: Draft): Draft {
  const { text, path } = draft
  if (text === undefined || text.length <= EVENT_CHARS) return draft
  return { ...draft, text: cutText(text, EVENT_CHARS, path === undefined ? '...' : `... (the whole: react.read(["${path}"]))`) }
}

/** What the user prefers, newest first, each once: the part of memory that must never need a look-up. */
export function preferenceDigest(notes: readonly Block[]): string | undefined {
  const preferences = notes
    .toReversed()
    .flatMap(({ text }) => noteSegments(text ?? '').filter(({ tag }) => tag === 'P'))
    .map(({ text }) => oneLine(text, 220))
    .filter((text) => text !== '')
  const lines = [...new Set(preferences)].slice(0, MOST_PREFERENCES).map((text) => `- ${text}`)
  return lines.length === 0 ? undefined : ['[INTERNAL MEMORY DIGEST]', 'Active conversation preferences:', ...lines].join('\n')
}
