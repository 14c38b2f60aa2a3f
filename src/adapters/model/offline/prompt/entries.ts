import type { Part } from '../../../../core/render/types.ts'
import type { PromptEntry } from '../../../../offline/prompt/entries.ts'
import { parseHidden } from './folded.ts'
import { parseRound, trimEndLines } from './round.ts'

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
