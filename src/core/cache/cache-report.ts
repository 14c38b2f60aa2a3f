import { createEstimator } from '../estimate/estimate.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import type { Usage } from '../timeline/change.ts'
import { type CachedPrompt, createMiss, explainMiss, limitMiss, type Miss, markedTokens } from './misses.ts'
import { callsIn, createPromptReader, type JournalEntry, type SentPrompt } from './recorded-calls.ts'
import type { ProviderCacheRules, RulesOf } from './rules.ts'

/** How one decision used the provider's cache: the expected tokens and the billed ones. */
export interface CacheRow {
  readonly seq: number
  readonly turnId: string
  readonly iteration: number
  readonly ts: string
  readonly model: string
  /** For each mark, the hash of all parts up to it and the id of the last block before it. */
  readonly segments: readonly { readonly hash: number; readonly block: string | undefined }[]
  /** The number of parts from the last mark of the previous call to the last mark of this one. The provider has to look back that far. */
  readonly reach: number
  /** The expected tokens. Undefined when the caching rules of the model are not known. */
  readonly predicted: Buckets | undefined
  /** The tokens that the provider billed. Undefined when it reported none, as for an aborted call. */
  readonly billed: Buckets | undefined
  readonly miss?: Miss
}

/** The tokens of a prompt that were read from the cache, written to it, or neither. */
export interface Buckets {
  readonly read: number
  readonly write: number
  readonly uncached: number
}

/** How a conversation has used the provider's cache. */
export interface CacheReport {
  readonly rows: readonly CacheRow[]
  readonly billed: Buckets
  /** The share of all billed prompt tokens that was read from the cache, from 0 to 1. */
  readonly hitRate: number
  readonly misses: readonly CacheRow[]
}

/** Compares the expected use of the provider's cache with the billed one, for every decision of a journal. Explains each miss. */
export function cacheReport(
  journal: readonly JournalEntry[],
  { rulesOf, count }: { readonly rulesOf: RulesOf; readonly count: TokenCounter },
): CacheReport {
  const read = createPromptReader(createEstimator(count))
  const cachedByModel = new Map<string, CachedPrompt>()
  const rows: CacheRow[] = []
  let last: CachedPrompt | undefined
  for (const call of callsIn(journal)) {
    if (call.response.role !== undefined) continue // only decisions share a cached prompt
    const sent = read(call)
    const model = sent.prompt.model ?? ''
    for (const [name, state] of cachedByModel) cachedByModel.set(name, { ...state, since: [...state.since, ...sent.since] })
    const before = cachedByModel.get(model) ?? last
    rows.push({ seq: call.seq, ...rowOf(sent, before, rulesOf(model)) })
    const { usage } = sent.response
    if (!usage) continue
    last = { sent, cached: usage.cache_read + usage.cache_write, long: livesLong(usage, cachedByModel.get(model)), since: [] }
    cachedByModel.set(model, last)
  }
  return { rows, ...summed(rows) }
}

/** Whether the latest cache write used the longer time to live. For a call that only reads, the write of an earlier call decides. */
const livesLong = ({ cache_write, cache_write_long = 0 }: Usage, before: CachedPrompt | undefined) =>
  cache_write === 0 ? before?.long === true : cache_write_long > 0

function rowOf(sent: SentPrompt, before: CachedPrompt | undefined, rules: ProviderCacheRules | undefined): Omit<CacheRow, 'seq'> {
  const { response, prompt } = sent
  const billed = response.usage && billedOf(response.usage)
  const predicted = rules && predictBuckets(sent, before, rules)
  const miss = rules && predicted && missIn(sent, before, rules, predicted, billed)
  return {
    turnId: response.turn_id,
    iteration: response.iteration,
    ts: response.ts,
    model: prompt.model ?? '',
    segments: (prompt.segments ?? []).map((hash, index) => ({ hash, block: sent.shown[prompt.points?.[index] ?? -1]?.block.id })),
    reach: Math.max(0, (prompt.marks?.at(-1) ?? 0) - (before?.sent.prompt.marks?.at(-1) ?? 0)),
    predicted,
    billed,
    ...(miss && { miss }),
  }
}

const billedOf = ({ cache_read: read, cache_write: write, uncached }: Usage): Buckets => ({ read, write, uncached })

function predictBuckets(sent: SentPrompt, before: CachedPrompt | undefined, rules: ProviderCacheRules): Buckets {
  const read = Math.round(Math.min(sent.total, before ? expectedRead(before, sent, rules) : 0))
  const planned = Math.round(markedTokens(sent))
  const write = rules.kind === 'marks' && planned >= rules.minimumTokens ? Math.max(0, planned - read) : 0
  return { read, write, uncached: Math.max(0, Math.round(sent.total) - read - write) }
}

/** How many tokens of this prompt the provider should find in the cache, given what an earlier call cached. */
function expectedRead({ sent: before, cached }: CachedPrompt, sent: SentPrompt, rules: ProviderCacheRules): number {
  if (rules.kind === 'prefix') {
    const tokens = Math.min(sent.upTo(before.count - 1), before.total)
    return tokens < rules.minimumTokens ? 0 : tokens
  }
  if (rules.lookBackParts > 1 || before.prompt.model !== sent.prompt.model) return cached
  const shared = sent.prompt.points?.findLast((point) => before.prompt.points?.includes(point))
  return Math.min(cached, sent.upTo(shared ?? -1)) // without look-back only marks that both prompts share are found
}

function missIn(
  sent: SentPrompt,
  before: CachedPrompt | undefined,
  rules: ProviderCacheRules,
  predicted: Buckets,
  billed: Buckets | undefined,
): Miss | undefined {
  if (!billed) return isComplete(sent) ? createMiss('not reported', sent.total) : undefined
  const lost = predicted.read - billed.read
  if (before && lost > tolerance(predicted.read, rules)) return explainMiss(before, sent, rules, lost)
  if (rules.kind === 'prefix') return undefined
  const planned = markedTokens(sent)
  const notCached = planned - billed.read - billed.write
  if (notCached <= Math.max(MIN_DEVIATION, planned * MAX_DEVIATION_SHARE)) return undefined
  const refused = limitMiss(sent, rules, notCached)
  if (refused) return refused
  return billed.read + billed.write === 0 ? createMiss('not reported', notCached) : createMiss('dropped by provider', notCached)
}

/** Whether the call was completed. Then the provider should have reported its usage. */
const isComplete = ({ response: { finish_reason } }: SentPrompt) => finish_reason === 'stop' || finish_reason === 'length'

/**
 * How many tokens fewer than expected may be read from the cache without being a miss. With marks, the expected number is almost exact;
 * without marks it is an estimate.
 */
const tolerance = (read: number, { kind }: ProviderCacheRules) =>
  kind === 'marks' ? Math.max(16, read * 0.005) : Math.max(512, read * 0.1)

/** Which share of the tokens before the last mark may stay uncached without being a miss. Their number is only an estimate. */
const MAX_DEVIATION_SHARE = 0.3
const MIN_DEVIATION = 256

function summed(rows: readonly CacheRow[]): Omit<CacheReport, 'rows'> {
  const add = (one: Buckets, other: Buckets): Buckets => ({
    read: one.read + other.read,
    write: one.write + other.write,
    uncached: one.uncached + other.uncached,
  })
  const billed = rows.flatMap((row) => row.billed ?? []).reduce(add, { read: 0, write: 0, uncached: 0 })
  const all = billed.read + billed.write + billed.uncached
  return { billed, hitRate: all === 0 ? 0 : billed.read / all, misses: rows.filter(({ miss }) => miss !== undefined) }
}
