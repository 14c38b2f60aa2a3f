import type { Notice } from '../../core/block/index.ts'
import { extractSids } from '../../core/citations/sids.ts'
import { isObject, parseJson } from '../../core/json.ts'
import type { Target } from '../../core/path/physical.ts'
import { isSid } from '../../core/sources/source.ts'
import { mimeOf } from '../mime.ts'
import { failed } from '../outcome.ts'
import { linesOf } from '../read/window.ts'
import type { Call, Outcome } from '../tool.ts'

// Code that `react.write` and `react.patch` share: the audience, digest fields and notices of a text artifact.

/** The lane in which the user sees the text while the model writes it. With `internal`, the user does not see the text. */
export const channels = ['canvas', 'timeline_text', 'internal'] as const
/** How the user gets the text: shown in the conversation, or hosted as a file. */
export const kinds = ['display', 'file'] as const

/** Where and how the user sees a text artifact. */
export interface Audience {
  readonly channel: (typeof channels)[number]
  readonly kind: (typeof kinds)[number]
}

/** Validates channel and kind. The error lists the allowed values. */
export function parseAudience(channel: string, kind: string): Audience | Outcome {
  if (!isOneOf(channel, channels)) return failed('bad_channel', `There is no channel "${channel}". Use ${channels.join(', ')}.`)
  if (!isOneOf(kind, kinds)) return failed('bad_kind', `There is no kind "${kind}". Use ${kinds.join(' or ')}.`)
  return { channel, kind }
}

const isOneOf = <T extends string>(value: string, allowed: readonly T[]): value is T => allowed.some((each) => each === value)

/** The media type, judged by the file name. A text with an unknown extension is treated as Markdown. */
export const textMimeOf = (physical: string): string =>
  mimeOf(physical) === 'application/octet-stream' ? 'text/markdown' : mimeOf(physical)

/** The fields of a digest that are computed from the text. */
export function textFacts(text: string, mime: string, { visiblePrompt }: Pick<Call, 'visiblePrompt'>) {
  const sids = citedSids(text, mime)
  return {
    text_symbols: text.length,
    line_count: linesOf(text).length,
    tokens: visiblePrompt.tokens(text),
    ...(sids.length > 0 && { sources_used: [...sids] }),
  }
}

type Rewrite = NonNullable<(Target & { readonly ok: true })['rewrite']>

/** The notice that the path was changed. `consequence` is the text before the new path in the message, such as `it was written to`. */
export function rewriteNotice(rewrite: Rewrite | undefined, toolId: string, consequence: string): readonly Notice[] {
  if (!rewrite?.notify) return []
  const { original, normalized } = rewrite
  const message = `${original} is not in this turn's writable space; ${consequence} ${normalized}.`
  return [{ code: 'protocol_violation.path_rewritten', message, original, normalized, tool_id: toolId }]
}

/** The SIDs that a text cites, in ascending order. In JSON and YAML they are in the list `citations`. */
export function citedSids(text: string, mime: string): readonly number[] {
  if (mime === 'application/json') return jsonCitations(parseJson(text))
  if (mime === 'application/yaml') return yamlCitations(text)
  return extractSids(text, mime === 'text/html' ? 'html' : 'markdown')
}

function jsonCitations(value: unknown): readonly number[] {
  const citations = isObject(value) && Array.isArray(value.citations) ? value.citations : []
  return sortedSids(citations.flatMap((citation) => (isObject(citation) && Array.isArray(citation.sids) ? citation.sids : [])))
}

/**
 * Reads citations without a YAML parser, in linear time. The line `citations:` must have no indentation. The SIDs must be below it, as
 * `sids: [1, 2]` or as a list with dashes. Other forms are not found.
 */
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
