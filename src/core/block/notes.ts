import type { Draft } from './block.ts'
import { oncePerBlockOfType } from './reader.ts'
import type { BlockOrigin } from './round.ts'

/**
 * The block of a note that the agent wrote for itself, for example about a preference of the user. The agent wrote the note to a file, and
 * `path` is the logical path of this file.
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

/** A segment of a note. It begins with a tag such as `[P]`. Lines before the first tag of the note are a segment without a tag. */
export interface NoteSegment {
  /**
   * The letter in the tag: `P` preference, `D` decision, `S` structure, `A` achievement, `K` key artifact. Undefined when there is no tag.
   */
  readonly tag: string | undefined
  readonly text: string
}

/**
 * Splits a note into segments. A line that starts with a tag such as `[P]` begins a segment. The lines up to the next tag belong to the
 * same segment.
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

/** The tags of a note without duplicates, in the order in which they first appear in the note. */
export function noteTags(text: string): readonly string[] {
  return [...new Set(noteSegments(text).flatMap(({ tag }) => (tag === undefined ? [] : [tag])))]
}

/** The segments of the note in a block. Undefined when the block is not a note. */
export const readNote = oncePerBlockOfType(['react.note', 'react.note.preserved'], ({ text }) => noteSegments(text ?? ''))
