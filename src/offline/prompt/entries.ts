import type { BinaryPart, Part } from '../../core/render/types.ts'

/** One block of the prompt, as far as it can be told from what is shown. */
export type PromptEntry =
  | { readonly kind: 'turn'; readonly turnId: string }
  | { readonly kind: 'said'; readonly how: 'message' | 'followup' | 'steer'; readonly text: string }
  | { readonly kind: 'attached'; readonly name: string; readonly mime: string; readonly path: string }
  | { readonly kind: 'text'; readonly path: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly path: string | undefined; readonly part: BinaryPart }
  | { readonly kind: 'folded'; readonly path: string; readonly mime: string | undefined }
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'called'; readonly callId: string; readonly toolId: string; readonly params: string }
  | ResultEntry
  | { readonly kind: 'noticed'; readonly code: string }

export interface ResultEntry {
  readonly kind: 'result'
  readonly form: 'summary' | 'artifact' | 'result' | 'pruned'
  readonly callId: string
  readonly toolId: string
  readonly path: string | undefined
  /** Which of the round's images and documents it is, from 1. */
  readonly shown: number | undefined
  readonly body: string
}

/**
 * The parts of a prompt, read back. What a user said and what they sent each stand in a part of their own, so a heading inside a
 * document is only words: it begins no message, whatever it says.
 */
export function parseEntries(parts: readonly Part[]): readonly PromptEntry[] {
  const entries: PromptEntry[] = []
  let calls: readonly string[] = []
  let below: readonly (string | undefined)[] = [] // whose bytes follow the text
  for (const part of parts) {
    if (part.type !== 'text') {
      const [path, ...others] = below
      below = others
      entries.push({ kind: 'bytes', path, part })
      continue
    }
    const text = trimEndLines(part.text)
    const alone = parseSingleEntry(text)
    if (alone) {
      entries.push(...alone)
      const last = alone.at(-1)
      below = last?.kind === 'attached' ? [last.path] : []
      continue
    }
    const round = parseRound(text, text.startsWith('[TOOL RESULT ') ? calls : [])
    calls = round.calls
    entries.push(...round.entries)
    below = pathsOfBytes(round.entries)
  }
  return entries
}

/** Paths of the shown results, in the order of their bytes. */
function pathsOfBytes(entries: readonly PromptEntry[]): readonly (string | undefined)[] {
  const paths: (string | undefined)[] = []
  for (const entry of entries) if (entry.kind === 'result' && entry.shown !== undefined) paths[entry.shown - 1] = entry.path
  return paths
}

/** Undefined when the text is a round, or nothing we know. */
function parseSingleEntry(text: string): readonly PromptEntry[] | undefined {
  const turn = /^\[TURN ([^\]\n]+)\]/.exec(text)?.[1]
  if (turn !== undefined) return [{ kind: 'turn', turnId: turn }]
  const heading = text.split('\n', 1)[0] ?? ''
  const reader = readers.find(([beginning]) => heading.startsWith(beginning))?.[1]
  return reader ? reader(text) : parseHidden(text)
}

type Reader = (text: string) => readonly PromptEntry[]

const readUserText =
  (how: 'message' | 'followup' | 'steer'): Reader =>
  (text) => [{ kind: 'said', how, text: bodyOf(text) }]

const readers: readonly (readonly [heading: string, reader: Reader])[] = [
  ['[USER MESSAGE]', readUserText('message')],
  ['[FOLLOWUP DURING TURN]', readUserText('followup')],
  ['[STEER DURING TURN]', readUserText('steer')],
  ['[USER ATTACHMENT TEXT]', (text) => readAttachmentText(text)],
  ['[USER ATTACHMENT]', readAttachment],
  ['[ASSISTANT MESSAGE', (text) => [{ kind: 'answered', text: bodyOf(text).replace(/^\[(?:completion|sources_used): .*\]\n?/gm, '') }]],
  ['[INTERNAL NOTE]', (text) => [{ kind: 'note', text: bodyOf(text) }]],
  ['[COMPACTED PRIOR CONVERSATION MEMORY]', (text) => [{ kind: 'summary', text: bodyOf(text) }]],
  ['[MID-TURN COMPACTION', (text) => [{ kind: 'summary', text: bodyOf(text) }]],
  ['[WORKING SUMMARY]', (text) => [{ kind: 'summary', text: bodyOf(text) }]],
]

/** Without heading and address. */
const bodyOf = (text: string): string => text.replace(/^[^\n]*\n?/, '').replace(/^\[path: [^\n]*\]\n?/, '')

function pathIn(text: string): string | undefined {
  return /^\[path: (.*)\]$/m.exec(text)?.[1]
}

function readAttachmentText(text: string): readonly PromptEntry[] {
  const path = pathIn(text)
  return path === undefined ? [] : [{ kind: 'text', path, text: bodyOf(text) }]
}

function readAttachment(text: string): readonly PromptEntry[] {
  const [, name = '', mime = ''] = /^\[USER ATTACHMENT\] (.*) \| (.*)$/m.exec(text) ?? []
  const path = text
    .split('\n')
    .findLast((line) => line.startsWith('[path: '))
    ?.slice('[path: '.length, -1)
  return path === undefined ? [] : [{ kind: 'attached', name, mime, path }]
}

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

const hiddenLine = /^[a-z_]+: path=(\S+)(?:.*? mime=(\S+))?/

/** Lines that stand for what was folded away: it can be read again by its path. Undefined when the text is something else. */
export function parseHidden(text: string): readonly PromptEntry[] | undefined {
  const hidden = /^HIDDEN — .*Retrieve with react\.read\(([^)\n]+)\)/.exec(text)?.[1]
  if (hidden !== undefined) return [{ kind: 'folded', path: hidden, mime: undefined }]
  if (!hiddenLine.test(text)) return undefined
  return text.split('\n').flatMap((line): readonly PromptEntry[] => {
    const [, path, mime] = hiddenLine.exec(line) ?? []
    return path === undefined ? [] : [{ kind: 'folded', path, mime: mime === '-' ? undefined : mime }]
  })
}
