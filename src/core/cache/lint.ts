import type { CacheReport, CacheRow } from './cache-report.ts'
import type { MissCause } from './misses.ts'
import { findVolatileText, type VolatileTextRule } from './volatile-text.ts'

/** Something that costs a cache, or soon will. */
export interface CacheFinding {
  readonly rule: LintRule
  /** Which text, which round. */
  readonly where: string
  readonly words: string
}

export type LintRule =
  | VolatileTextRule
  | 'unstable text'
  | 'unstable tool order'
  | 'changing tools'
  | 'avoidable miss'
  | 'long round'
  | 'hit rate'

/** A text that stands in every prompt, and its name. */
export interface PromptText {
  readonly where: string
  readonly text: string
}

/** What in texts that should never change looks as if it did. Each rule once per text. */
export function lintTexts(texts: readonly PromptText[]): readonly CacheFinding[] {
  return texts.flatMap(({ where, text }) =>
    findVolatileText(text).map(({ rule, at, length, advice }) => ({ rule, where, words: `"${around(text, at, length)}": ${advice}` })),
  )
}

const AROUND = 20

function around(text: string, at: number, length: number): string {
  const [from, to] = [Math.max(0, at - AROUND), Math.min(text.length, at + length + AROUND)]
  return `${from > 0 ? '…' : ''}${text.slice(from, to).replace(/\s+/g, ' ').trim()}${to < text.length ? '…' : ''}`
}

/** The same agent, made twice: whatever is not the same costs the cache with every process. */
export function lintStability(one: readonly PromptText[], other: readonly PromptText[]): readonly CacheFinding[] {
  const [names, others] = [one.map(({ where }) => where), other.map(({ where }) => where)]
  const tools = (list: readonly string[]) => list.filter((name) => name.startsWith('tool '))
  const [ours, theirs] = [tools(names), tools(others)]
  const missing = [...ours.filter((name) => !theirs.includes(name)), ...theirs.filter((name) => !ours.includes(name))]
  if (missing.length > 0) {
    return [{ rule: 'changing tools', where: 'tools', words: `made twice, the agent has other tools: ${missing.join(', ')}` }]
  }
  const moved = ours.find((name, index) => name !== theirs[index])
  const order: readonly CacheFinding[] =
    moved === undefined
      ? []
      : [{ rule: 'unstable tool order', where: moved, words: 'made twice, the tools stand in another order: sort them' }]
  const unequal = one.filter(({ where, text }) => other.some((each) => each.where === where && each.text !== text))
  return [...order, ...unequal.map(({ where }) => ({ rule: 'unstable text' as const, where, words: 'made twice, it says something else' }))]
}

export interface CacheBudget {
  /** Of all that was sent, the least that must have been read from the cache. */
  readonly hitRate: number
  /** Misses that somebody could have avoided. */
  readonly misses: number
  /** Parts that a round may add; a provider looks back over 20. */
  readonly roundParts: number
}

export const defaultCacheBudget: CacheBudget = { hitRate: 0.5, misses: 0, roundParts: 15 }

/** What a recorded conversation has lost that it need not have lost. Folding, compacting and long pauses are what they are. */
export function lintCacheReport(ledger: CacheReport, budget: CacheBudget = defaultCacheBudget): readonly CacheFinding[] {
  const avoidable = ledger.misses.filter(({ miss }) => miss && avoidableCauses.has(miss.cause))
  const tools = avoidable.filter(({ miss }) => miss?.cause === 'tool text changed')
  return [
    ...(avoidable.length > budget.misses ? avoidable.map(missFinding) : []),
    ...(tools.length > 1
      ? [{ rule: 'changing tools' as const, where: placeOf(tools[0]), words: 'the tools change from turn to turn' }]
      : []),
    ...ledger.rows.filter(({ reach }) => reach > budget.roundParts).map(longRoundFinding(budget)),
    ...hitRateOf(ledger, budget),
  ]
}

const avoidableCauses: ReadonlySet<MissCause> = new Set([
  'model switch',
  'system text changed',
  'tool text changed',
  'rendered differently',
  'feedback inserted',
  'look-back exceeded',
  'mark limit',
])

const placeOf = (row: CacheRow | undefined) => (row ? `${row.turnId} round ${row.iteration}` : '')

const missFinding = (row: CacheRow): CacheFinding => ({
  rule: 'avoidable miss',
  where: placeOf(row),
  words: `${row.miss?.words ?? ''} (${row.miss?.tokens ?? 0} tokens)`,
})

const longRoundFinding =
  ({ roundParts }: CacheBudget) =>
  (row: CacheRow): CacheFinding => ({
    rule: 'long round',
    where: placeOf(row),
    words: `${row.reach} parts since the call before, at most ${roundParts} are safe: show fewer pictures at once`,
  })

/** The first call of a conversation can read nothing, so a rate of one call says nothing. */
function hitRateOf({ rows, hitRate }: CacheReport, budget: CacheBudget): readonly CacheFinding[] {
  if (rows.filter(({ billed }) => billed).length < 2 || hitRate >= budget.hitRate) return []
  const percent = (rate: number) => `${(rate * 100).toFixed(1)} %`
  return [
    {
      rule: 'hit rate',
      where: 'conversation',
      words: `${percent(hitRate)} was read from the cache, at least ${percent(budget.hitRate)} should be`,
    },
  ]
}
