import type { PromptEntry, ResultEntry } from '../../../../offline/prompt/entries.ts'
import { parseHidden } from './folded.ts'

/** A round: its call, and what came of it. */
export interface RoundEntries {
  readonly entries: readonly PromptEntry[]
  readonly calls: readonly string[]
}

const headings =
  /(?:^|(?<=\n\n))(?:\[TOOL CALL ([^\]\n]+)\]\.call(?: (\S+))?|\[TOOL RESULT ([^\]\n]+)\]\.(summary|artifact|result|pruned)(?: (\S+))?|\[(INTERNAL NOTE)\]|\[(?:REACT NOTICE|PROTOCOL VIOLATION)\]\ncode: (\S+)|\[AI Agent (?:say\]:|wrote code\])|\[REACT\.PLAN\]|(HIDDEN) — )/g

/**
 * What a tool brought in may look like anything, a heading of ours included. Call ids are made after the document was, so from the
 * first result on only headings that carry the id of this round's call are believed, and what follows a notice is not read. Only a
 * write to the internal channel leaves a note.
 */
export function parseRound(text: string, known: readonly string[]): RoundEntries {
  const calls = [...known]
  const found: RegExpExecArray[] = []
  const internal = /^ *"channel": "internal"/m.test(text.split('\n\n[TOOL RESULT ', 1)[0] ?? '')
  let resulted = known.length > 0
  for (const match of text.matchAll(headings)) {
    const [, called, , answered, , , note, code] = match
    if (called !== undefined && !resulted) calls.push(called)
    const believed = answered !== undefined ? calls.includes(answered) : note !== undefined ? internal : code !== undefined || !resulted
    if (!believed) continue
    found.push(match)
    if (answered !== undefined) resulted = true
  }
  const entries = found.flatMap((match, index) => entryOf(match, text.slice(match.index + match[0].length, found[index + 1]?.index)))
  return { entries, calls }
}

function entryOf(match: RegExpExecArray, rest: string): readonly PromptEntry[] {
  const [, called, calledTool = '', answered, form, answeringTool = '', note, code, hidden] = match
  const body = trimEndLines(rest.startsWith('\n') ? rest.slice(1) : rest)
  if (called !== undefined) return [{ kind: 'called', callId: called, toolId: calledTool, params: body.split('Params:\n')[1] ?? '' }]
  if (answered !== undefined) return [resultOf(answered, answeringTool, form as ResultEntry['form'], body)]
  if (note !== undefined) return [{ kind: 'note', text: body }]
  if (code !== undefined) return [{ kind: 'noticed', code }]
  return hidden === undefined ? [] : (parseHidden(match[0] + rest) ?? [])
}

function resultOf(callId: string, toolId: string, form: ResultEntry['form'], body: string): ResultEntry {
  const path = /^(?:logical_path|result_hidden): (.*)/.exec(body)?.[1]
  const rest = body.replace(/^(?:logical_path|result_hidden): .*\n?/, '').replace(/^physical_path: .*\n?/, '')
  const shown = /^mime: .*\nshown below as attachment (\d+) of this round/.exec(rest)?.[1]
  return { kind: 'result', callId, toolId, form, path, shown: shown === undefined ? undefined : Number(shown), body: rest }
}

/** Blocks are kept apart by empty lines. A pattern would look at every line of a long text again and again. */
export function trimEndLines(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return text.slice(0, end)
}
