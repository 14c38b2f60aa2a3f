import type { Notice } from '../../core/block/index.ts'
import { extractSids } from '../../core/citations/sids.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { Target } from '../../core/path/physical.ts'
import { isSid } from '../../core/sources/source.ts'
import { mimeOf } from '../mime.ts'
import { failed } from '../outcome.ts'
import type { Call, Outcome } from '../tool.ts'

/** What writing a text and patching one have in common: for whom it is, and what is known of it afterwards. */

export const channels = ['canvas', 'timeline_text', 'internal'] as const
export const kinds = ['display', 'file'] as const

type Channel = (typeof channels)[number]
type Kind = (typeof kinds)[number]

/** The channel and the kind, or what is wrong with them, in words of our own. */
export function parseAudience(channel: string, kind: string): { readonly channel: Channel; readonly kind: Kind } | Outcome {
  if (!isOneOf(channel, channels)) return failed('bad_channel', `There is no channel "${channel}". Use ${channels.join(', ')}.`)
  if (!isOneOf(kind, kinds)) return failed('bad_kind', `There is no kind "${kind}". Use ${kinds.join(' or ')}.`)
  return { channel, kind }
}

const isOneOf = <T extends string>(value: string, allowed: readonly T[]): value is T => allowed.some((each) => each === value)

/** What a file's name does not tell is taken for markdown: it is text, and the agent wrote it. */
export const textMimeOf = (physical: string): string =>
  mimeOf(physical) === 'application/octet-stream' ? 'text/markdown' : mimeOf(physical)

/** The part of a digest that is read off the text. */
export function textFacts(text: string, mime: string, { visiblePrompt: sight }: Pick<Call, 'visiblePrompt'>) {
  const sids = citedSids(text, mime)
  return {
    text_symbols: text.length,
    line_count: text === '' ? 0 : text.split('\n').length,
    tokens: sight.tokens(text),
    ...(sids.length > 0 && { sources_used: [...sids] }),
  }
}

type Rewrite = NonNullable<(Target & { readonly ok: true })['rewrite']>

/** `became` says what is now at the path that was meant. */
export function rewriteNotice(rewrite: Rewrite | undefined, toolId: string, became: string): readonly Notice[] {
  if (!rewrite?.notify) return []
  const { original, normalized } = rewrite
  const message = `${original} is not in this turn's writable space; ${became} ${normalized}.`
  return [{ code: 'protocol_violation.path_rewritten', message, original, normalized, tool_id: toolId }]
}

/** The sources that a written text cites, ascending: by its citations, or by the list that data carries. */
export function citedSids(text: string, mime: string): readonly number[] {
  if (mime === 'application/json') return jsonCitations(parseJson(text))
  if (mime === 'application/yaml') return yamlCitations(text)
  return extractSids(text, mime === 'text/html' ? 'html' : 'markdown')
}

function jsonCitations(value: unknown): readonly number[] {
  const citations = isObject(value) && Array.isArray(value.citations) ? value.citations : []
  return sortedSids(citations.flatMap((citation) => (isObject(citation) && Array.isArray(citation.sids) ? citation.sids : [])))
}

/** Only as it is usually written: `citations:` at the left edge, and `sids: [1, 2]` or a list of dashes below. Line by line: it may be long. */
function yamlCitations(text: string): readonly number[] {
  const sids: number[] = []
  let [inside, listing] = [false, false]
  for (const line of text.split('\n')) {
    if (!inside || !/^(?:[ \t-]|\r?$)/.test(line)) {
      inside = line.startsWith('citations:')
      listing = false
      continue
    }
    const item = listing ? /^\s*-\s*(\d+)\s*$/.exec(line)?.[1] : undefined
    if (item !== undefined) sids.push(Number(item))
    else if (line.trim() !== '') {
      const [, list] = /\bsids:([^\n]*)/.exec(line) ?? []
      const flow = /^\s*\[([^\]]*)\]/.exec(list ?? '')?.[1] ?? ''
      for (const [sid] of flow.matchAll(/\d+/g)) sids.push(Number(sid))
      listing = list?.trim() === ''
    }
  }
  return sortedSids(sids)
}

const sortedSids = (sids: readonly unknown[]) => [...new Set(sids.filter(isSid))].sort((a, b) => a - b)
