import type { Block, BlockType, Draft } from '../block/block.ts'
import { noteSegments, noteTags } from '../block/notes.ts'
import { cutAt } from '../cut.ts'
import type { Estimator } from '../estimate/estimate.ts'
import { preservedNotePath } from '../path/build.ts'
import { caps } from '../render/caps.ts'
import { cutText, lastWithin, oneLine } from '../render/text.ts'
import { latestBy } from './digest.ts'
import { originalPath, preservedCopy } from './plans.ts'

const MAX_PREFERENCES = 64
const MAX_OTHER_NOTES = 32
const MAX_EVENTS = 16
const EVENT_CHARS = 4000

/** The newest note at each path, in the order of the blocks. */
export function currentNotes(blocks: readonly Block[]): readonly Block[] {
  const notes = blocks.filter(({ type, text }) => (type === 'react.note' || type === 'react.note.preserved') && text !== undefined)
  return latestBy([], notes, (note) => originalPath(note) ?? note.id)
}

export interface NoteSplit {
  readonly kept: readonly Block[]
  readonly dropped: readonly Block[]
}

/**
 * Splits notes (oldest first) into two lists. Notes in `kept` stay in the prompt. Notes in `dropped` are only listed in the digest of the
 * summary. The newest preferences and the newest other notes are kept. The preferences and the other notes are counted separately, so that
 * other notes never displace preferences. `maxTokens` limits both kinds together, and preferences are chosen first.
 */
export function splitNotes(notes: readonly Block[], maxTokens: number, tokens: Estimator): NoteSplit {
  const newest = (wanted: boolean, count: number, room: number) =>
    lastWithin(notes.filter((note) => isPreference(note) === wanted).slice(-count), room, shownTokens)
  const shownTokens = ({ text = '' }: Block) => NOTE_HEADING_TOKENS + tokens.text(cutAt(text, caps.note))
  const preferences = newest(true, MAX_PREFERENCES, maxTokens)
  const others = newest(false, MAX_OTHER_NOTES, maxTokens - preferences.reduce((sum, note) => sum + shownTokens(note), 0))
  const kept = new Set([...preferences, ...others])
  return { kept: notes.filter((note) => kept.has(note)), dropped: notes.filter((note) => !kept.has(note)) }
}

const NOTE_HEADING_TOKENS = 6
const isPreference = ({ text }: Block) => noteTags(text ?? '').includes('P')

/** Copies of the notes with their full text. Each copy has a new path. */
export function preservedNotes(notes: readonly Block[], turnId: string): readonly Draft[] {
  return notes.map((note, index) => {
    const draft = preservedCopy(note, 'react.note.preserved', turnId, preservedNotePath(turnId, index + 1))
    return { ...draft, meta: { ...draft.meta, note_tags: noteTags(note.text ?? '') } }
  })
}

const preservedEventTypes: ReadonlyMap<BlockType, BlockType> = new Map([
  ['user.followup', 'user.followup.preserved'],
  ['user.followup.preserved', 'user.followup.preserved'],
  ['user.steer', 'user.steer.preserved'],
  ['user.steer.preserved', 'user.steer.preserved'],
])

/** Copies of the newest followups and steers of the compacted turns. Very long texts are cut. */
export function preservedEvents(blocks: readonly Block[], turnId: string, maxTokens: number, tokens: Estimator): readonly Draft[] {
  const events = blocks.flatMap((block) => {
    const type = preservedEventTypes.get(block.type)
    return type === undefined ? [] : [shortened(preservedCopy(block, type, turnId))]
  })
  return lastWithin(events.slice(-MAX_EVENTS), maxTokens, ({ text = '' }) => EVENT_HEADING_TOKENS + tokens.text(text))
}

const EVENT_HEADING_TOKENS = 30

/** Cuts the text of a long copy, because every later prompt contains the copy. The whole text can still be read at its path. */
function shortened(draft: Draft): Draft {
  const { text, path } = draft
  if (text === undefined || text.length <= EVENT_CHARS) return draft
  return { ...draft, text: cutText(text, EVENT_CHARS, path === undefined ? '...' : `... (the whole: react.read(["${path}"]))`) }
}

/**
 * The preferences of the user from the notes, newest first and without duplicates. They become part of the summary, so that the agent need
 * not read the notes.
 */
export function preferenceDigest(notes: readonly Block[], within: (lines: readonly string[]) => readonly string[]): string | undefined {
  const preferences = notes
    .toReversed()
    .flatMap(({ text }) => noteSegments(text ?? '').filter(({ tag }) => tag === 'P'))
    .map(({ text }) => oneLine(text, 220))
    .filter((text) => text !== '')
  const newest = [...new Set(preferences)].slice(0, MAX_PREFERENCES).map((text) => `- ${text}`)
  const lines = within(newest.toReversed()).toReversed()
  return lines.length === 0 ? undefined : ['[INTERNAL MEMORY DIGEST]', 'Active conversation preferences:', ...lines].join('\n')
}
