import { omitUndefined } from '../json.ts'
import { interruptedPath, notesPath, thinkingPath } from '../path/build.ts'
import type { Draft } from './block.ts'
import { oncePerBlockOfType } from './reader.ts'
import type { BlockOrigin } from './tool.ts'

/** The text that the model wrote to the user together with a decision. A `react.note` is different: the agent writes it for itself. */
export function decisionNotesBlock(origin: BlockOrigin, text: string, toolId?: string): Draft<'react.notes'> {
  return {
    type: 'react.notes',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/markdown',
    path: notesPath(origin.turnId, origin.callId),
    call_id: origin.callId,
    text,
    meta: omitUndefined({ channel: 'timeline_text', tool_call_id: origin.callId, iteration: origin.iteration, tool_id: toolId }),
  }
}

/** The reasoning of a round. */
export function thinkingBlock(origin: BlockOrigin, text: string): Draft<'react.thinking'> {
  return {
    type: 'react.thinking',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/markdown',
    path: thinkingPath(origin.turnId, origin.iteration),
    text,
    meta: { channel: 'thinking', tool_call_id: origin.callId, iteration: origin.iteration },
  }
}

/** The partial output of a decision that the user interrupted. The user has seen it, so the model must see it too. */
export function rawDecisionBlock(origin: BlockOrigin, text: string): Draft<'react.decision.raw'> {
  return {
    type: 'react.decision.raw',
    author: 'react',
    turn_id: origin.turnId,
    ts: origin.ts,
    mime: 'text/plain',
    path: interruptedPath(origin.turnId, origin.iteration),
    call_id: origin.callId,
    text,
    meta: { channel: 'raw', tool_call_id: origin.callId, iteration: origin.iteration, interrupted: true },
  }
}

/** A note that the agent writes into a file for itself, such as a preference of the user. `path` is the logical path of that file. */
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

/** A part of a note with one tag or none. */
export interface NoteSegment {
  /** `P` preference, `D` decision, `S` structure, `A` achievement, `K` key artifact; undefined when untagged. */
  readonly tag: string | undefined
  readonly text: string
}

/** Splits a note: a line that starts with `[X]` opens a segment, and the following lines belong to it. */
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

/** The distinct tags of a note, in order. */
export function noteTags(text: string): readonly string[] {
  return [...new Set(noteSegments(text).flatMap(({ tag }) => (tag === undefined ? [] : [tag])))]
}

/** The segments of a note; undefined for other blocks. */
export const readNote = oncePerBlockOfType(['react.note', 'react.note.preserved'], ({ text }) => noteSegments(text ?? ''))
