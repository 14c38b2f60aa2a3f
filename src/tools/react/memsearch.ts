import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import { truncateText } from '../artifacts/payload.ts'
import { defineTool, parametersOf } from '../define.ts'
import { messageForModel } from '../invoke.ts'
import { failed, succeeded } from '../outcome.ts'
import type { Call, Tool } from '../tool.ts'

export const memoryTargets = ['assistant', 'user', 'attachment', 'summary', 'notes'] as const
export type MemoryTarget = (typeof memoryTargets)[number]

/** Finds what was said before. It never looks beyond the scope of the call. */
export interface MemorySearch {
  search(query: MemoryQuery, call: Pick<Call, 'conversationId' | 'scope' | 'origin' | 'signal'>): Promise<MemoryFindings>
}

export interface MemoryQuery {
  /** Undefined: an overview of what there is. */
  readonly query: string | undefined
  readonly targets: readonly MemoryTarget[]
  readonly topK: number
  readonly days: number
  readonly scope: 'conversation' | 'user'
  readonly from?: string
  /** Exclusive. */
  readonly to?: string
}

export interface MemoryHit {
  readonly turn_id: string
  readonly ts: string
  readonly score: number
  readonly role: MemoryTarget
  /** Can be read as it is. */
  readonly path: string
  readonly text: string
}

export interface MemoryFindings {
  /** Best first. */
  readonly hits: readonly MemoryHit[]
  readonly warnings?: readonly string[]
}

const maxQueryLength = 512
const maxSnippetLength = 500
const [mostHits, mostDays] = [50, 3_650]

const documented = z.object({
  query: z.string().optional().describe('what to look for; without it, an overview'),
  targets: z.array(z.enum(memoryTargets)).optional().describe('whose words: assistant, user and attachment when not said'),
  top_k: z.number().int().default(5).describe('how many hits, at most 50'),
  days: z.number().int().default(365).describe('how far back'),
  scope: z.enum(['conversation', 'user']).default('conversation').describe('this conversation, or all of this user'),
  from: z.string().optional().describe('not before this time (ISO 8601)'),
  to: z.string().optional().describe('before this time (ISO 8601)'),
})
const accepted = documented.extend({ targets: z.array(z.string()).optional() })

/** Exists only where there is something to search with. */
export function createMemsearchTool(memory: MemorySearch): Tool {
  return defineTool({
    id: 'react.memsearch',
    description: 'Search what was said in earlier turns. Hits name paths; react.read brings them into view.',
    params: accepted,
    parameters: parametersOf(documented) ?? [],
    strategy: 'exploration',
    repeatable: true,
    returns: 'hits with turn, time, score, role, path and a snippet',
    async run(given, call) {
      const targets = given.targets ?? ['assistant', 'user', 'attachment']
      const unknown = targets.filter((target) => !memoryTargets.some((known) => known === target))
      if (unknown.length > 0 || targets.length === 0)
        return failed('bad_targets', `Targets are ${memoryTargets.join(', ')}; not ${unknown.join(', ') || 'none'}.`)
      if (!isTimeWindow(given.from, given.to))
        return failed('bad_time_window', '`from` and `to` must be times in ISO 8601, `from` the earlier.')
      const query = queryOf(given, targets as readonly MemoryTarget[])
      try {
        return succeeded({ output: formatHits(await memory.search(query, call), query, call) })
      } catch (error) {
        return failed('memsearch_failed', `The search did not work: ${messageForModel(error)} Go on without it, or try once more.`)
      }
    },
  })
}

function queryOf(given: z.infer<typeof accepted>, targets: readonly MemoryTarget[]): MemoryQuery {
  const query = truncateText((given.query ?? '').trim(), maxQueryLength)
  return {
    query: query === '' ? undefined : query,
    targets: [...new Set(targets)],
    topK: clamp(given.top_k, mostHits),
    days: clamp(given.days, mostDays),
    scope: given.scope,
    ...(given.from !== undefined && { from: given.from }),
    ...(given.to !== undefined && { to: given.to }),
  }
}

const clamp = (value: number, most: number) => Math.min(most, Math.max(1, value))

function isTimeWindow(from: string | undefined, to: string | undefined): boolean {
  const times = [from, to].map((time) => (time === undefined ? undefined : Date.parse(time)))
  if (times.some((time) => Number.isNaN(time))) return false
  return times[0] === undefined || times[1] === undefined || times[0] < times[1]
}

/** One hit per snippet, those of one turn side by side; nothing else comes into view. */
function formatHits({ hits, warnings = [] }: MemoryFindings, { query, topK }: MemoryQuery, { visiblePrompt: sight }: Call): Json {
  const kept = hits
    .slice(0, topK)
    .map(({ turn_id, ts, score, role, path, text }) => ({ turn_id, ts, score, role, path, text: truncateText(text, maxSnippetLength) }))
  const turns = [...new Set(kept.map(({ turn_id }) => turn_id))]
  const grouped = turns.flatMap((turn) => kept.filter(({ turn_id }) => turn_id === turn))
  const tokens = grouped.reduce((sum, { text }) => sum + sight.tokens(text), 0)
  return { mode: query === undefined ? 'overview' : 'search', hits: grouped, tokens, ...(warnings.length > 0 && { warnings }) }
}
