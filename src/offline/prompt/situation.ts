import { isObject, type JsonObject, parseJson } from '../../core/json.ts'
import type { ModelRequest } from '../../ports/model.ts'
import { collectDocuments, type Document } from './documents.ts'
import type { PromptEntry, ResultEntry } from './entries.ts'
import { parseEntries } from './entries.ts'
import { type Announce, type CitableSource, isAnnounce, parseAnnounce, parseCatalog, parseSources, type ToolCatalog } from './sections.ts'

/** A prompt as the offline model understands it. */
export interface Situation {
  readonly tools: ToolCatalog
  readonly turnId: string
  /** What is to be answered: the newest thing the user said in this turn. */
  readonly request: string
  /** What the user said before that, oldest first. */
  readonly earlier: readonly string[]
  /** The answer before this turn. */
  readonly lastAnswer: string | undefined
  readonly documents: readonly Document[]
  readonly sources: readonly CitableSource[]
  readonly notes: readonly string[]
  readonly summaries: readonly string[]
  /** What was done in this turn. */
  readonly calls: readonly CallRecord[]
  readonly announced: Announce
}

export interface CallRecord {
  readonly toolId: string
  /** Undefined when what is shown of them is not all of them. */
  readonly params: JsonObject | undefined
  readonly results: readonly ResultEntry[]
  readonly failed: boolean
}

/** Total: a prompt that is not ours is a situation in which nothing is known. */
export function readSituation({ system, parts }: Pick<ModelRequest, 'system' | 'parts'>): Situation {
  const last = parts.at(-1)
  const before = parts.at(-2)
  const announce = last?.type === 'text' && isAnnounce(last.text) ? last.text : ''
  const pool = announce !== '' && before?.type === 'text' ? parseSources(before.text) : []
  const tails = announce === '' ? 0 : before?.type === 'text' && /^━+\n SOURCES POOL/.test(before.text) ? 2 : 1
  const entries = parseEntries(parts.slice(0, parts.length - tails))
  const turnAt = entries.findLastIndex(({ kind }) => kind === 'turn')
  const turn = entries[turnAt]
  const current = entries.slice(turnAt + 1)
  const said = (some: readonly PromptEntry[]) => some.flatMap((entry) => (entry.kind === 'said' ? [entry.text] : []))
  const requests = said(current)
  return {
    tools: parseCatalog(system),
    turnId: turn?.kind === 'turn' ? turn.turnId : '',
    request: requests.at(-1)?.trim() ?? '',
    earlier: [...said(entries.slice(0, Math.max(0, turnAt))), ...requests.slice(0, -1)],
    lastAnswer: entries.flatMap((entry) => (entry.kind === 'answered' ? [entry.text] : [])).at(-1),
    documents: collectDocuments(entries, pool),
    sources: pool,
    notes: entries.flatMap((entry) => (entry.kind === 'note' ? [entry.text] : [])),
    summaries: entries.flatMap((entry) => (entry.kind === 'summary' ? [entry.text] : [])),
    calls: collectCalls(afterLatestRequest(current)),
    announced: parseAnnounce(announce),
  }
}

/** What was done for the newest request: a followup begins anew. */
function afterLatestRequest(entries: readonly PromptEntry[]): readonly PromptEntry[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === 'said') + 1)
}

function collectCalls(entries: readonly PromptEntry[]): readonly CallRecord[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'called') return []
    const results = entries.filter((other): other is ResultEntry => other.kind === 'result' && other.callId === entry.callId)
    const params = parseJson(entry.params)
    const failed =
      results.length === 0 || results.some(({ body }) => /^(?:mime: .*\npayload:\n)?(?:Status: error|\{"(?:ok":false|error"))/.test(body))
    return [{ toolId: entry.toolId, params: isObject(params) ? params : undefined, results, failed }]
  })
}
