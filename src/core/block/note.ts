import { omitUndefined } from '../json.ts'
import { interruptedPath, notesPath, thinkingPath } from '../path/build.ts'
import type { Draft } from './block.ts'
import { oncePerBlockOfType } from './reader.ts'
import type { BlockOrigin } from './tool.ts'

/** The words said with a decision, for the user to read. Not to be confused with a note, which is for agents. */
export function decisionNotesBlock(place: BlockOrigin, text: string, toolId?: string): Draft<'react.notes'> {
  return {
    type: 'react.notes',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'text/markdown',
    path: notesPath(place.turnId, place.callId),
    call_id: place.callId,
    text,
    meta: omitUndefined({ channel: 'timeline_text', tool_call_id: place.callId, iteration: place.iteration, tool_id: toolId }),
  }
}

export function thinkingBlock(place: BlockOrigin, text: string): Draft<'react.thinking'> {
  return {
    type: 'react.thinking',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'text/markdown',
    path: thinkingPath(place.turnId, place.iteration),
    text,
    meta: { channel: 'thinking', tool_call_id: place.callId, iteration: place.iteration },
  }
}

/** What the model had written when the user interrupted it: they have read it, so the model must know of it. */
export function rawDecisionBlock(place: BlockOrigin, text: string): Draft<'react.decision.raw'> {
  return {
    type: 'react.decision.raw',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'text/plain',
    path: interruptedPath(place.turnId, place.iteration),
    call_id: place.callId,
    text,
    meta: { channel: 'raw', tool_call_id: place.callId, iteration: place.iteration, interrupted: true },
  }
}

/** A beacon the agent leaves for itself: a preference, a decision, a piece of structure. Under the path of the written file. */
export function internalNoteBlock(place: BlockOrigin, path: string, text: string): Draft<'react.note'> {
  return {
    type: 'react.note',
    author: 'react',
    turn_id: place.turnId,
    ts: place.ts,
    mime: 'text/markdown',
    path,
    call_id: place.callId,
    text,
    meta: { channel: 'internal', tool_call_id: place.callId, iteration: place.iteration, note_tags: noteTags(text) },
  }
}

export interface NoteSegment {
  /** `P` preference, `D` decision, `S` structure, `A` achievement, `K` key artifact; undefined when untagged. */
  readonly tag: string | undefined
  readonly text: string
}

/** A line that starts with `[X]` opens a segment; the lines after it belong to it. */
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

export function noteTags(text: string): readonly string[] {
  return [...new Set(noteSegments(text).flatMap(({ tag }) => (tag === undefined ? [] : [tag])))]
}

export const readNote = oncePerBlockOfType(['react.note', 'react.note.preserved'], ({ text }) => noteSegments(text ?? ''))
