import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { collectDocuments, type Document } from './documents.ts'
import { type PromptEntry, parseEntries, type ResultEntry, withoutPayloadHeader } from './entries.ts'
import { type Announce, isAnnounce, isSourcesPool, parseAnnounce, parseCatalog, parseSources, type ToolCatalog } from './sections.ts'

/** The content of a prompt as data. */
export interface Situation {
  readonly tools: ToolCatalog
  readonly turnId: string
  /** The latest user message of this turn. The model answers this message. */
  readonly request: string
  /** All user messages before `request`, oldest first. */
  readonly earlier: readonly string[]
  readonly documents: readonly Document[]
  readonly notes: readonly string[]
  readonly summaries: readonly string[]
  /** The tool calls of this turn since the latest user message. */
  readonly calls: readonly CallRecord[]
  readonly announce: Announce
}

/** A tool call and its results, as the prompt shows them. */
export interface CallRecord {
  readonly toolId: string
  /** The parameters of the call. Undefined when the prompt does not show them in full. */
  readonly params: JsonObject | undefined
  readonly results: readonly ResultEntry[]
  readonly failed: boolean
}

/** Parses a prompt. Never throws. For a prompt in another format, the situation has no request, no documents and no tools. */
export function readSituation({ system, parts }: Pick<ModelRequest, 'system' | 'parts'>): Situation {
  const [last, beforeLast] = [textOf(parts.at(-1)), textOf(parts.at(-2))]
  const announceText = isAnnounce(last) ? last : ''
  const sourcesText = announceText !== '' && isSourcesPool(beforeLast) ? beforeLast : ''
  const tailParts = [announceText, sourcesText].filter((text) => text !== '').length
  const entries = parseEntries(parts.slice(0, parts.length - tailParts))
  const turnStart = entries.findLastIndex(({ kind }) => kind === 'turn')
  const turn = entries[turnStart]
  const currentTurn = entries.slice(turnStart + 1)
  const requests = textsOf(currentTurn, 'user')
  return {
    tools: parseCatalog(system),
    turnId: turn?.kind === 'turn' ? turn.turnId : '',
    request: requests.at(-1)?.trim() ?? '',
    earlier: [...textsOf(entries.slice(0, Math.max(0, turnStart)), 'user'), ...requests.slice(0, -1)],
    documents: collectDocuments(entries, parseSources(sourcesText)),
    notes: textsOf(entries, 'note'),
    summaries: textsOf(entries, 'summary'),
    calls: collectCalls(afterLatestRequest(currentTurn)),
    announce: parseAnnounce(announceText),
  }
}

const textOf = (part: ModelRequest['parts'][number] | undefined): string => (part?.type === 'text' ? part.text : '')

const textsOf = (entries: readonly PromptEntry[], kind: 'user' | 'note' | 'summary'): readonly string[] =>
  entries.flatMap((entry) => (entry.kind === kind ? [entry.text] : []))

function afterLatestRequest(entries: readonly PromptEntry[]): readonly PromptEntry[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === 'user') + 1)
}

function collectCalls(entries: readonly PromptEntry[]): readonly CallRecord[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'call') return []
    const results = entries.filter((other): other is ResultEntry => other.kind === 'result' && other.callId === entry.callId)
    const params = parseJson(entry.params)
    const failed =
      results.length === 0 || results.some(({ body }) => /^(?:Status: error|\{"(?:ok":false|error"))/.test(withoutPayloadHeader(body)))
    return [{ toolId: entry.toolId, params: isObject(params) ? params : undefined, results, failed }]
  })
}

/** The JSON that a tool returned. Undefined when the result is missing or is not JSON. */
export const parsePayload = (result: ResultEntry | undefined): Json | undefined => parseJson(result && withoutPayloadHeader(result.body))
