import { unguardHeadings } from '../../core/render/headings.ts'
import type { BinaryPart, Part } from '../../core/render/types.ts'

/** What the prompt shows of one block of the timeline. */
export type PromptEntry =
  | { readonly kind: 'turn'; readonly turnId: string }
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'attachment'; readonly name: string; readonly mime: string; readonly path: string }
  | { readonly kind: 'attachment-text'; readonly path: string; readonly text: string }
  | { readonly kind: 'bytes'; readonly path: string | undefined; readonly part: BinaryPart }
  | { readonly kind: 'hidden'; readonly path: string; readonly mime: string | undefined }
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'call'; readonly callId: string; readonly toolId: string; readonly params: string }
  | ResultEntry

export interface ResultEntry {
  readonly kind: 'result'
  readonly form: 'summary' | 'artifact' | 'result' | 'pruned'
  readonly callId: string
  readonly path: string | undefined
  /** If the result has an image or document, its number among the images and documents of the round, from 1. */
  readonly attachmentNumber: number | undefined
  readonly body: string
}

/**
 * Parses the parts of a prompt that come from the timeline. In a prompt, each user message and each attachment is a separate part.
 * Therefore a line in a document that looks like the heading of a user message is not read as a heading.
 */
export function parseEntries(parts: readonly Part[]): readonly PromptEntry[] {
  const entries: PromptEntry[] = []
  let callIds: readonly string[] = []
  let pathsOfNextBytes: readonly (string | undefined)[] = []
  for (const part of parts) {
    if (part.type !== 'text') {
      const [path, ...others] = pathsOfNextBytes
      pathsOfNextBytes = others
      entries.push({ kind: 'bytes', path, part })
      continue
    }
    const text = trimEndLines(part.text)
    const single = parseSingleEntry(text)
    if (single) {
      entries.push(...single)
      const last = single.at(-1)
      pathsOfNextBytes = last?.kind === 'attachment' ? [last.path] : []
      continue
    }
    const round = parseRound(text, text.startsWith('[TOOL RESULT ') ? callIds : [])
    callIds = round.callIds
    entries.push(...round.entries)
    pathsOfNextBytes = pathsOfBytes(round.entries)
  }
  return entries
}

/**
 * The images and documents of a round follow after its text, each as a separate part. This function returns the paths of the results that
 * they belong to, in the same order.
 */
function pathsOfBytes(entries: readonly PromptEntry[]): readonly (string | undefined)[] {
  const paths: (string | undefined)[] = []
  for (const entry of entries)
    if (entry.kind === 'result' && entry.attachmentNumber !== undefined) paths[entry.attachmentNumber - 1] = entry.path
  return paths
}

/** The entries of a part of the prompt that is not a round. Undefined when the part is a round or can not be parsed. */
function parseSingleEntry(text: string): readonly PromptEntry[] | undefined {
  const turn = /^\[TURN ([^\]\n]+)\]/.exec(text)?.[1]
  if (turn !== undefined) return [{ kind: 'turn', turnId: turn }]
  const heading = text.split('\n', 1)[0] ?? ''
  const read = readers.find(([beginning]) => heading.startsWith(beginning))?.[1]
  return read ? read(text) : parseHidden(text)
}

type Reader = (text: string) => readonly PromptEntry[]

const readUserText: Reader = (text) => [{ kind: 'user', text: bodyOf(text) }]
const readSummary: Reader = (text) => [{ kind: 'summary', text: bodyOf(text) }]

const readers: readonly (readonly [heading: string, reader: Reader])[] = [
  ['[USER MESSAGE]', readUserText],
  ['[FOLLOWUP DURING TURN]', readUserText],
  ['[STEER DURING TURN]', readUserText],
  ['[USER ATTACHMENT TEXT]', readAttachmentText],
  ['[USER ATTACHMENT]', readAttachment],
  ['[ASSISTANT MESSAGE', () => []],
  ['[INTERNAL NOTE]', (text) => [{ kind: 'note', text: bodyOf(text) }]],
  ['[COMPACTED PRIOR CONVERSATION MEMORY]', readSummary],
  ['[MID-TURN COMPACTION', readSummary],
  ['[WORKING SUMMARY]', readSummary],
]

/**
 * Removes the heading line and the line with the path. Also removes the characters that the renderer puts before lines of content that look
 * like headings.
 */
const bodyOf = (text: string): string => unguardHeadings(text.replace(/^[^\n]*\n?/, '').replace(/^\[path: [^\n]*\]\n?/, ''))

function readAttachmentText(text: string): readonly PromptEntry[] {
  const path = /^\[path: (.*)\]$/m.exec(text)?.[1]
  return path === undefined ? [] : [{ kind: 'attachment-text', path, text: bodyOf(text) }]
}

function readAttachment(text: string): readonly PromptEntry[] {
  const [, name = '', mime = ''] = /^\[USER ATTACHMENT\] (.*) \| (.*)$/m.exec(text) ?? []
  const path = text
    .split('\n')
    .findLast((line) => line.startsWith('[path: '))
    ?.slice('[path: '.length, -1)
  return path === undefined ? [] : [{ kind: 'attachment', name, mime, path }]
}

const roundHeadings =
  /(?:^|(?<=\n\n))(?:\[TOOL CALL ([^\]\n]+)\]\.call(?: (\S+))?|\[TOOL RESULT ([^\]\n]+)\]\.(summary|artifact|result|pruned)(?: (\S+))?|\[(INTERNAL NOTE)\]|\[(?:REACT NOTICE|PROTOCOL VIOLATION)\]\ncode: (\S+)|\[AI Agent (?:say\]:|wrote code\])|\[REACT\.PLAN\]|(HIDDEN) — )/g

/**
 * Parses the part of a round: tool calls and their results. A result may contain text that only looks like a heading of Daybook, for
 * example in a file. The call ids of this round did not exist when such text was written, so it can not contain them. Therefore these rules
 * decide which headings are real:
 *
 * - the heading of a result is real only if it has the id of a call in this round
 * - after the first result, the heading of a notice is taken as real. The text below it is skipped
 * - the heading of an internal note is real only if a call of the round wrote to the internal channel
 * - after the first result, all other headings are treated as content of the result
 */
function parseRound(
  text: string,
  earlierCallIds: readonly string[],
): { readonly entries: readonly PromptEntry[]; readonly callIds: readonly string[] } {
  const callIds = [...earlierCallIds]
  const headings: RegExpExecArray[] = []
  const writesNote = /^ *"channel": "internal"/m.test(text.split('\n\n[TOOL RESULT ', 1)[0] ?? '')
  let afterResult = earlierCallIds.length > 0
  for (const match of text.matchAll(roundHeadings)) {
    const [, callId, , resultCallId, , , note, noticeCode] = match
    if (callId !== undefined && !afterResult) callIds.push(callId)
    const trusted =
      resultCallId !== undefined
        ? callIds.includes(resultCallId)
        : note !== undefined
          ? writesNote
          : noticeCode !== undefined || !afterResult
    if (!trusted) continue
    headings.push(match)
    if (resultCallId !== undefined) afterResult = true
  }
  const entries = headings.flatMap((match, index) =>
    parseRoundEntry(match, text.slice(match.index + match[0].length, headings[index + 1]?.index)),
  )
  return { entries, callIds }
}

function parseRoundEntry(heading: RegExpExecArray, rest: string): readonly PromptEntry[] {
  const [, callId, toolId = '', resultCallId, form, , note, , hidden] = heading
  const body = trimEndLines(rest.startsWith('\n') ? rest.slice(1) : rest)
  if (callId !== undefined) return [{ kind: 'call', callId, toolId, params: body.split('Params:\n')[1] ?? '' }]
  if (resultCallId !== undefined) return [parseResult(resultCallId, form as ResultEntry['form'], body)]
  if (note !== undefined) return [{ kind: 'note', text: body }]
  return hidden === undefined ? [] : (parseHidden(heading[0] + rest) ?? [])
}

function parseResult(callId: string, form: ResultEntry['form'], text: string): ResultEntry {
  const path = /^(?:logical_path|result_hidden): (.*)/.exec(text)?.[1]
  const body = text.replace(/^(?:logical_path|result_hidden): .*\n?/, '').replace(/^physical_path: .*\n?/, '')
  const attachment = /^mime: .*\nshown below as attachment (\d+) of this round/.exec(body)?.[1]
  return {
    kind: 'result',
    callId,
    form,
    path,
    attachmentNumber: attachment === undefined ? undefined : Number(attachment),
    body: unguardHeadings(body),
  }
}

/** The content of a result, without the lines `mime: …` and `payload:` before it. */
export const withoutPayloadHeader = (body: string): string => body.replace(/^mime: .*\npayload:\n/, '')

const hiddenLine = /^[a-z_]+: path=(\S+)(?:.*? mime=(\S+))?/

/** Parses the lines that replace hidden blocks. Undefined when the text has no such lines. */
function parseHidden(text: string): readonly PromptEntry[] | undefined {
  const path = text.startsWith('HIDDEN — ') ? retrievablePath(text.split('\n', 1)[0] ?? '') : undefined
  if (path !== undefined) return [{ kind: 'hidden', path, mime: undefined }]
  if (!hiddenLine.test(text)) return undefined
  return text.split('\n').flatMap((line): readonly PromptEntry[] => {
    const [, linePath, mime] = hiddenLine.exec(line) ?? []
    return linePath === undefined ? [] : [{ kind: 'hidden', path: linePath, mime: mime === '-' ? undefined : mime }]
  })
}

/** The path in the last `Retrieve with react.read(…)` of a line. */
function retrievablePath(line: string): string | undefined {
  const call = 'Retrieve with react.read('
  const start = line.lastIndexOf(call) + call.length
  const end = line.indexOf(')', start)
  return start < call.length || end <= start ? undefined : line.slice(start, end)
}

/** Removes the empty lines at the end of a text. A regular expression would need quadratic time for a long text. */
function trimEndLines(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return text.slice(0, end)
}
