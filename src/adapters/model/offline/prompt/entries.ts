import type { Part } from '../../../../core/render/part.ts'
import type { Entry } from './entry.ts'
import { foldedIn } from './folded.ts'
import { roundIn, withoutClosingLines } from './round.ts'

/**
 * The parts of a prompt, read back. What a user said and what they sent each stand in a part of their own, so a heading inside a
 * document is only words: it begins no message, whatever it says.
 */
export function entriesOf(parts: readonly Part[]): readonly Entry[] {
  const entries: Entry[] = []
  let calls: readonly string[] = []
  let below: readonly (string | undefined)[] = [] // whose bytes follow the text
  for (const part of parts) {
    if (part.type !== 'text') {
      const [path, ...others] = below
      below = others
      entries.push({ kind: 'bytes', path, part })
      continue
    }
    const text = withoutClosingLines(part.text)
    const alone = standingAlone(text)
    if (alone) {
      entries.push(...alone)
      const last = alone.at(-1)
      below = last?.kind === 'attached' ? [last.path] : []
      continue
    }
    const round = roundIn(text, text.startsWith('[TOOL RESULT ') ? calls : [])
    calls = round.calls
    entries.push(...round.entries)
    below = bytesBelow(round.entries)
  }
  return entries
}

/** Paths of the shown results, in the order of their bytes. */
function bytesBelow(entries: readonly Entry[]): readonly (string | undefined)[] {
  const paths: (string | undefined)[] = []
  for (const entry of entries) if (entry.kind === 'result' && entry.shown !== undefined) paths[entry.shown - 1] = entry.path
  return paths
}

/** Undefined when the text is a round, or nothing we know. */
function standingAlone(text: string): readonly Entry[] | undefined {
  const turn = /^\[TURN ([^\]\n]+)\]/.exec(text)?.[1]
  if (turn !== undefined) return [{ kind: 'turn', turnId: turn }]
  const heading = text.split('\n', 1)[0] ?? ''
  const reader = headed.find(([beginning]) => heading.startsWith(beginning))?.[1]
  return reader ? reader(text) : foldedIn(text)
}

type Reader = (text: string) => readonly Entry[]

const said =
  (how: 'message' | 'followup' | 'steer'): Reader =>
  (text) => [{ kind: 'said', how, text: below(text) }]

const headed: readonly (readonly [heading: string, reader: Reader])[] = [
  ['[USER MESSAGE]', said('message')],
  ['[FOLLOWUP DURING TURN]', said('followup')],
  ['[STEER DURING TURN]', said('steer')],
  ['[USER ATTACHMENT TEXT]', (text) => textOf(text)],
  ['[USER ATTACHMENT]', attached],
  ['[ASSISTANT MESSAGE', (text) => [{ kind: 'answered', text: below(text).replace(/^\[(?:completion|sources_used): .*\]\n?/gm, '') }]],
  ['[INTERNAL NOTE]', (text) => [{ kind: 'note', text: below(text) }]],
  ['[COMPACTED PRIOR CONVERSATION MEMORY]', (text) => [{ kind: 'summary', text: below(text) }]],
  ['[MID-TURN COMPACTION', (text) => [{ kind: 'summary', text: below(text) }]],
  ['[WORKING SUMMARY]', (text) => [{ kind: 'summary', text: below(text) }]],
]

/** Without heading and address. */
const below = (text: string): string => text.replace(/^[^\n]*\n?/, '').replace(/^\[path: [^\n]*\]\n?/, '')

function pathIn(text: string): string | undefined {
  return /^\[path: (.*)\]$/m.exec(text)?.[1]
}

function textOf(text: string): readonly Entry[] {
  const path = pathIn(text)
  return path === undefined ? [] : [{ kind: 'text', path, text: below(text) }]
}

function attached(text: string): readonly Entry[] {
  const [, name = '', mime = ''] = /^\[USER ATTACHMENT\] (.*) \| (.*)$/m.exec(text) ?? []
  const path = text
    .split('\n')
    .findLast((line) => line.startsWith('[path: '))
    ?.slice('[path: '.length, -1)
  return path === undefined ? [] : [{ kind: 'attached', name, mime, path }]
}
