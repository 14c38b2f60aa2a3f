import { cutBetween } from '../cut.ts'
import { missAdvice } from './advice.ts'
import type { CacheReport, CacheRow } from './cache-report.ts'
import { findVolatileText, type VolatileTextRule } from './volatile-text.ts'

/** A problem that prevents the provider from reusing its cache, or that is likely to prevent it. */
export interface CacheFinding {
  readonly rule: LintRule
  /** Where the problem is: the name of a text, such as `instructions`, or of a round, such as `turn_2 round 0`. */
  readonly where: string
  readonly words: string
}

/** The name of a rule that `lintAgent` and `daybook cachelint` check. */
export type LintRule =
  | VolatileTextRule
  | 'unstable text'
  | 'unstable tool order'
  | 'changing tools'
  | 'avoidable miss'
  | 'long round'
  | 'hit rate'

/** A text that every prompt contains. `where` is its name. */
export interface PromptText {
  readonly where: string
  readonly text: string
}

/** Finds dates, times and ids in texts that should be the same in every prompt. Each rule is reported at most once per text. */
export function lintTexts(texts: readonly PromptText[]): readonly CacheFinding[] {
  return texts.flatMap(({ where, text }) =>
    findVolatileText(text).map(({ rule, at, length, advice }) => ({ rule, where, words: `"${around(text, at, length)}": ${advice}` })),
  )
}

const AROUND = 20

function around(text: string, at: number, length: number): string {
  const [from, to] = [Math.max(0, at - AROUND), Math.min(text.length, at + length + AROUND)]
  return `${from > 0 ? '…' : ''}${cutBetween(text, from, to).replace(/\s+/g, ' ').trim()}${to < text.length ? '…' : ''}`
}

/**
 * Compares the texts of two agents that were constructed in the same way. If the texts differ, a new process can not use the prompts that
 * the provider cached for an earlier process.
 */
export function lintStability(one: readonly PromptText[], other: readonly PromptText[]): readonly CacheFinding[] {
  const [names, others] = [one.map(({ where }) => where), other.map(({ where }) => where)]
  const tools = (list: readonly string[]) => list.filter((name) => name.startsWith('tool '))
  const [ours, theirs] = [tools(names), tools(others)]
  const missing = [...ours.filter((name) => !theirs.includes(name)), ...theirs.filter((name) => !ours.includes(name))]
  if (missing.length > 0) {
    return [
      { rule: 'changing tools', where: 'tools', words: `the agent was constructed twice and had different tools: ${missing.join(', ')}` },
    ]
  }
  const moved = ours.find((name, index) => name !== theirs[index])
  const order: readonly CacheFinding[] =
    moved === undefined
      ? []
      : [
          {
            rule: 'unstable tool order',
            where: moved,
            words: 'the agent was constructed twice, and its tools were in a different order: sort them',
          },
        ]
  const unequal = one.filter(({ where, text }) => other.some((each) => each.where === where && each.text !== text))
  return [
    ...order,
    ...unequal.map(({ where }) => ({
      rule: 'unstable text' as const,
      where,
      words: 'the agent was constructed twice, and this text was different',
    })),
  ]
}

/** The limits that `lintCacheReport` checks. It reports a finding when a conversation is not within them. */
export interface CacheBudget {
  /** The smallest allowed share of prompt tokens that are read from the cache, from 0 to 1. */
  readonly hitRate: number
  /** The greatest allowed number of avoidable misses. */
  readonly misses: number
  /**
   * The greatest number of parts that a round may add to the prompt. If a round adds too many, the provider does not find the cached
   * prefix. Anthropic looks back over at most 20 parts from a mark. The limits of other providers are in adapters/model/provider-rules.ts.
   */
  readonly roundParts: number
}

/** The limits that the command `daybook cachelint` uses. */
export const defaultCacheBudget: CacheBudget = { hitRate: 0.5, misses: 0, roundParts: 15 }

/**
 * Finds cache misses in a recorded conversation that could be avoided, rounds that add too many parts, and a low hit rate. Misses that come
 * from hiding, compaction or a long pause can not be avoided, so they are not reported.
 */
export function lintCacheReport(report: CacheReport, budget: CacheBudget = defaultCacheBudget): readonly CacheFinding[] {
  const avoidable = report.misses.filter(({ miss }) => miss && missAdvice(miss.cause).avoidable)
  const tools = avoidable.filter(({ miss }) => miss?.cause === 'tool text changed')
  return [
    ...(avoidable.length > budget.misses ? avoidable.map(missFinding) : []),
    ...(tools.length > 1
      ? [{ rule: 'changing tools' as const, where: roundName(tools[0]), words: 'the tools change from turn to turn' }]
      : []),
    ...report.rows.filter(({ reach }) => reach > budget.roundParts).map(longRoundFinding(budget)),
    ...hitRateFindings(report, budget),
  ]
}

const roundName = (row: CacheRow | undefined) => (row ? `${row.turnId} round ${row.iteration}` : '')

const missFinding = (row: CacheRow): CacheFinding => ({
  rule: 'avoidable miss',
  where: roundName(row),
  words: `${row.miss?.words ?? ''} (${row.miss?.tokens ?? 0} tokens)`,
})

const longRoundFinding =
  ({ roundParts }: CacheBudget) =>
  (row: CacheRow): CacheFinding => ({
    rule: 'long round',
    where: roundName(row),
    words: `the prompt has ${row.reach} more parts than in the previous call. After more than ${roundParts} new parts, the provider may not find its cached prompt: show fewer images at once`,
  })

/**
 * Whether the hit rate has a meaning. It has one if the cache rules of at least one model are known, or if a provider has read from its
 * cache.
 */
export const hasHitRate = ({ rows, billed }: CacheReport): boolean =>
  billed.read > 0 || rows.some(({ predicted }) => predicted !== undefined)

/**
 * Reports a hit rate that is too low. It reports nothing if fewer than two calls were billed, because the first call of a conversation
 * finds nothing in the cache.
 */
function hitRateFindings(report: CacheReport, budget: CacheBudget): readonly CacheFinding[] {
  const { rows, hitRate } = report
  if (!hasHitRate(report) || rows.filter(({ billed }) => billed).length < 2 || hitRate >= budget.hitRate) return []
  const percent = (rate: number) => `${(rate * 100).toFixed(1)} %`
  return [
    {
      rule: 'hit rate',
      where: 'conversation',
      words: `${percent(hitRate)} of the prompt tokens were read from the cache, but at least ${percent(budget.hitRate)} should be`,
    },
  ]
}
