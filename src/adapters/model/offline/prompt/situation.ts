import { isObject, type JsonObject, parseJson } from '../../../../core/json.ts'
import type { ModelRequest } from '../../../../ports/model.ts'
import { type Announced, announcedIn, isAnnounce } from './announce.ts'
import { type Catalog, catalogIn } from './catalog.ts'
import { type Document, documentsIn } from './document.ts'
import { entriesOf } from './entries.ts'
import type { Entry, Result } from './entry.ts'
import { type Citable, sourcesIn } from './sources.ts'

/** A prompt as the offline model understands it. */
export interface Situation {
  readonly tools: Catalog
  readonly turnId: string
  /** What is to be answered: the newest thing the user said in this turn. */
  readonly request: string
  /** What the user said before that, oldest first. */
  readonly earlier: readonly string[]
  /** The answer before this turn. */
  readonly lastAnswer: string | undefined
  readonly documents: readonly Document[]
  readonly sources: readonly Citable[]
  readonly notes: readonly string[]
  readonly summaries: readonly string[]
  /** What was done in this turn. */
  readonly calls: readonly Called[]
  readonly announced: Announced
}

export interface Called {
  readonly toolId: string
  /** Undefined when what is shown of them is not all of them. */
  readonly params: JsonObject | undefined
  readonly results: readonly Result[]
  readonly failed: boolean
}

/** Total: a prompt that is not ours is a situation in which nothing is known. */
export function situationOf({ system, parts }: Pick<ModelRequest, 'system' | 'parts'>): Situation {
  const last = parts.at(-1)
  const before = parts.at(-2)
  const announce = last?.type === 'text' && isAnnounce(last.text) ? last.text : ''
  const pool = announce !== '' && before?.type === 'text' ? sourcesIn(before.text) : []
  const tails = announce === '' ? 0 : before?.type === 'text' && /^━+\n SOURCES POOL/.test(before.text) ? 2 : 1
  const entries = entriesOf(parts.slice(0, parts.length - tails))
  const turnAt = entries.findLastIndex(({ kind }) => kind === 'turn')
  const turn = entries[turnAt]
  const current = entries.slice(turnAt + 1)
  const said = (some: readonly Entry[]) => some.flatMap((entry) => (entry.kind === 'said' ? [entry.text] : []))
  const requests = said(current)
  return {
    tools: catalogIn(system),
    turnId: turn?.kind === 'turn' ? turn.turnId : '',
    request: requests.at(-1)?.trim() ?? '',
    earlier: [...said(entries.slice(0, Math.max(0, turnAt))), ...requests.slice(0, -1)],
    lastAnswer: entries.flatMap((entry) => (entry.kind === 'answered' ? [entry.text] : [])).at(-1),
    documents: documentsIn(entries, pool),
    sources: pool,
    notes: entries.flatMap((entry) => (entry.kind === 'note' ? [entry.text] : [])),
    summaries: entries.flatMap((entry) => (entry.kind === 'summary' ? [entry.text] : [])),
    calls: callsIn(sinceLastSaid(current)),
    announced: announcedIn(announce),
  }
}

/** What was done for the newest request: a followup begins anew. */
function sinceLastSaid(entries: readonly Entry[]): readonly Entry[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === 'said') + 1)
}

function callsIn(entries: readonly Entry[]): readonly Called[] {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'called') return []
    const results = entries.filter((other): other is Result => other.kind === 'result' && other.callId === entry.callId)
    const params = parseJson(entry.params)
    const failed =
      results.length === 0 || results.some(({ body }) => /^(?:mime: .*\npayload:\n)?(?:Status: error|\{"(?:ok":false|error"))/.test(body))
    return [{ toolId: entry.toolId, params: isObject(params) ? params : undefined, results, failed }]
  })
}
