import type { Draft } from './block.ts'
import { oncePerBlockOfType } from './reader.ts'
import type { BlockOrigin } from './round.ts'

/**
 * A note that the agent writes for itself, for example about a preference of the user. `path` is the logical path of the file with the
 * note.
 */
export function internalNoteBlock(origin: BlockOrigin, path: string, text: string): Draft<'react.note'> {
  return {
    type: 'react.note',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/markdown',
    path,
    call_id: origin.callId,
    text,
    meta: { channel: 'internal', tool_call_id: origin.callId, iteration: origin.iteration, note_tags: noteTags(text) },
  }
}

/** A part of a note that has one tag, or none. */
export interface NoteSegment {
  /** `P` preference, `D` decision, `S` structure, `A` achievement, `K` key artifact. Undefined when the part has no tag. */
  readonly tag: string | undefined
  readonly text: string
}

/**
 * Splits a note into segments. A line that starts with a tag such as `[P]` begins a segment, and the lines without a tag after it belong to
 * it.
 */
export function noteSegments(text: string): readonly NoteSegment[] {
  const segments: { tag: string | undefined; lines: string[] }[] = []
  for (const line of text.split('\n')) {
    const tagged = /^\[([A-Z])\]\s*(.*)$/s.exec(line)
    const open = segments.at(-1)
    if (tagged) segments.push({ tag: tagged[1], lines: [tagged[2] ?? ''] })
    else if (open) open.lines.push(line)
    else segments.push({ tag: undefined, lines: [line] })
  }
  return segments
    .map(({ tag, lines }) => ({ tag, text: lines.join('\n').trim() }))
    .filter(({ tag, text: body }) => tag !== undefined || body !== '')
}

/** The tags of a note without duplicates, in the order in which they appear. */
export function noteTags(text: string): readonly string[] {
  return [...new Set(noteSegments(text).flatMap(({ tag }) => (tag === undefined ? [] : [tag])))]
}

/** The segments of a note. Undefined for other blocks. */
export const readNote = oncePerBlockOfType(['react.note', 'react.note.preserved'], ({ text }) => noteSegments(text ?? ''))
