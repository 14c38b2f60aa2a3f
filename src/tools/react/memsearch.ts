import { z } from 'zod'
import { cutAt } from '../../core/cut.ts'
import type { Json } from '../../core/json.ts'
import { type MemoryTarget, memoryTargets } from '../../core/recall/snippets.ts'
import { defineTool } from '../define.ts'
import { messageForModel } from '../invoke.ts'
import { failed, succeeded } from '../outcome.ts'
import { parametersOf } from '../parameters.ts'
import type { Call, Tool } from '../tool.ts'

export type { MemoryTarget } from '../../core/recall/snippets.ts'

/** Searches earlier messages. The application supplies this function. It must search only in the scope of the call. */
export interface MemorySearch {
  search(query: MemoryQuery, call: Pick<Call, 'conversationId' | 'scope' | 'origin' | 'signal'>): Promise<MemoryFindings>
  /**
   * Returns the vector of a question, and the number of its model in the memory index, for searches outside of a turn. Returns undefined if
   * there is no embedding model or if it does not answer. In this case the search compares only words.
   */
  vectorOf?(question: string): Promise<{ readonly model: number; readonly values: Float32Array } | undefined>
}

/** What to search for. `topK` and `days` are already within the limits of the tool. */
export interface MemoryQuery {
  /** The text to search for. Undefined when the search asks for a turn by its number, for a period, or for an overview of the summaries. */
  readonly query: string | undefined
  readonly targets: readonly MemoryTarget[]
  readonly topK: number
  readonly days: number
  readonly scope: 'conversation' | 'user'
  readonly from?: string
  /** The end of the searched period (ISO 8601). It is exclusive: a message of exactly this time is not found. */
  readonly to?: string
  /** The number of a turn of this conversation, from 1. */
  readonly ordinal?: number
  /** The order of the hits when there is no query. */
  readonly order?: 'oldest' | 'newest'
  /** Whether the search also finds turns in which the agent only searched the memory and read content. */
  readonly withLookups?: boolean
}

/** One match of a memory search. */
export interface MemoryHit {
  readonly turn_id: string
  readonly ts: string
  readonly score: number
  readonly role: MemoryTarget
  /** A logical path that `react.read` accepts. */
  readonly path: string
  readonly text: string
}

/** The result of a memory search. */
export interface MemoryFindings {
  /** The matches, best first. */
  readonly hits: readonly MemoryHit[]
  readonly warnings?: readonly string[]
}

const maxQueryLength = 512
const maxSnippetLength = 500
const [maxHits, maxDays] = [50, 3_650]

const shownParams = z.object({
  query: z.string().optional().describe('what to look for; names and rare words help most'),
  targets: z.array(z.enum(memoryTargets)).optional().describe('whose words: assistant, user and attachment when not said'),
  top_k: z.number().int().default(5).describe('how many hits, at most 50'),
  days: z.number().int().default(365).describe('how far back'),
  scope: z.enum(['conversation', 'user']).default('conversation').describe('this conversation, or all of this user'),
  from: z.string().optional().describe('not before this time (ISO 8601)'),
  to: z.string().optional().describe('before this time (ISO 8601)'),
  ordinal: z.number().int().optional().describe('instead of a query: the turn with this number in this conversation, from 1'),
  order: z.enum(['oldest', 'newest']).optional().describe('without a query: which hits come first'),
  include_recovery_sessions: z.boolean().optional().describe('also turns that only searched and read'),
})

/**
 * The schema accepts any text as a target, so that the tool itself rejects an unknown target. The error of the tool lists the allowed
 * targets.
 */
const acceptedParams = shownParams.extend({ targets: z.array(z.string()).optional() })

/** The tool `react.memsearch`: searches earlier turns. An agent has this tool only if the application supplies a search. */
export function createMemsearchTool(memory: MemorySearch): Tool {
  return defineTool({
    id: 'react.memsearch',
    description: 'Search what was said in earlier turns. Hits name paths; react.read brings them into view.',
    params: acceptedParams,
    parameters: parametersOf(shownParams) ?? [],
    strategy: 'exploration',
    repeatable: true,
    returns: 'hits with turn, time, score, role, path and a snippet',
    async run(params, call) {
      const targets = params.targets ?? ['assistant', 'user', 'attachment']
      const unknown = targets.filter((target) => !memoryTargets.some((known) => known === target))
      if (unknown.length > 0 || targets.length === 0)
        return failed('bad_targets', `Targets are ${memoryTargets.join(', ')}; not ${unknown.join(', ') || 'none'}.`)
      if (!isTimeWindow(params.from, params.to))
        return failed('bad_time_window', '`from` and `to` must be times in ISO 8601, `from` the earlier.')
      if (params.ordinal !== undefined && (params.ordinal < 1 || params.scope === 'user'))
        return failed('bad_ordinal', '`ordinal` counts the turns of this conversation from 1.')
      const query = queryOf(params, targets as readonly MemoryTarget[])
      if (!hasCriterion(query))
        return failed(
          'missing_query',
          'Say what to look for with `query`, or name a turn with `ordinal`, a period, or targets ["summary"].',
        )
      try {
        return succeeded({ output: formatHits(await memory.search(query, call), query, call) })
      } catch (error) {
        return failed('memsearch_failed', `The search did not work: ${messageForModel(error)} Go on without it, or try once more.`)
      }
    },
  })
}

function queryOf(params: z.infer<typeof acceptedParams>, targets: readonly MemoryTarget[]): MemoryQuery {
  const query = cutAt((params.query ?? '').trim(), maxQueryLength)
  return {
    query: query === '' ? undefined : query,
    targets: [...new Set(targets)],
    topK: clamp(params.top_k, maxHits),
    days: clamp(params.days, maxDays),
    scope: params.scope,
    ...(params.from !== undefined && { from: params.from }),
    ...(params.to !== undefined && { to: params.to }),
    ...(params.ordinal !== undefined && { ordinal: params.ordinal }),
    ...(params.order !== undefined && { order: params.order }),
    ...(params.include_recovery_sessions === true && { withLookups: true }),
  }
}

/** Without a query, the search needs a turn, a period, or summaries as its only target. */
const hasCriterion = ({ query, ordinal, from, to, targets }: MemoryQuery): boolean =>
  query !== undefined || ordinal !== undefined || from !== undefined || to !== undefined || targets.every((target) => target === 'summary')

const clamp = (value: number, max: number) => Math.min(max, Math.max(1, value))

function isTimeWindow(from: string | undefined, to: string | undefined): boolean {
  const times = [from, to].map((time) => (time === undefined ? undefined : Date.parse(time)))
  if (times.some((time) => Number.isNaN(time))) return false
  return times[0] === undefined || times[1] === undefined || times[0] < times[1]
}

/** The best matches, grouped by turn. */
function formatHits({ hits, warnings = [] }: MemoryFindings, query: MemoryQuery, { visiblePrompt }: Call): Json {
  const { topK } = query
  const best = hits
    .slice(0, topK)
    .map(({ turn_id, ts, score, role, path, text }) => ({ turn_id, ts, score, role, path, text: cutAt(text, maxSnippetLength) }))
  const turns = [...new Set(best.map(({ turn_id }) => turn_id))]
  const grouped = turns.flatMap((turn) => best.filter(({ turn_id }) => turn_id === turn))
  const tokens = grouped.reduce((sum, { text }) => sum + visiblePrompt.tokens(text), 0)
  return { mode: modeOf(query), hits: grouped, tokens, ...(warnings.length > 0 && { warnings }) }
}

function modeOf({ query, ordinal, from, to }: MemoryQuery): string {
  if (ordinal !== undefined) return 'ordinal'
  if (query !== undefined) return 'search'
  return from === undefined && to === undefined ? 'overview' : 'period'
}
