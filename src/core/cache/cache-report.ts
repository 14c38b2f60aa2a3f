import { createEstimator } from '../estimate/estimate.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import type { Usage } from '../timeline/response-record.ts'
import { type CachedPrompt, createMiss, explainMiss, limitMiss, type Miss, markedTokens } from './misses.ts'
import { callsIn, createPromptReader, type JournalEntry, type SentPrompt } from './recorded-calls.ts'
import type { ProviderCacheRules, RulesOf } from './rules.ts'

/** How one decision used the provider's cache: the predicted tokens and the tokens that the provider billed. */
export interface CacheRow {
  readonly seq: number
  readonly turnId: string
  readonly iteration: number
  readonly ts: string
  readonly model: string
  /** For each mark: the hash of all parts up to the mark, and the id of the last block before the mark. */
  readonly segments: readonly { readonly hash: number; readonly block: string | undefined }[]
  /**
   * The number of parts between the last mark of the previous call and the last mark of this call. The provider looks back over this many
   * parts, starting at the last mark of this call, to find the prefix that it cached.
   */
  readonly reach: number
  /** The predicted tokens. Undefined when the caching rules of the model are not known. */
  readonly predicted: Buckets | undefined
  /** The tokens that the provider billed. Undefined when the provider reported no usage, for example because the call was aborted. */
  readonly billed: Buckets | undefined
  readonly miss?: Miss
}

/** The tokens of a prompt: those that were read from the cache, those that were written to it, and all others. */
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

/** For every decision in a journal, compares the predicted use of the provider's cache with the billed use, and explains each miss. */
export function cacheReport(
  journal: readonly JournalEntry[],
  { rulesOf, count }: { readonly rulesOf: RulesOf; readonly count: TokenCounter },
): CacheReport {
  const read = createPromptReader(createEstimator(count))
  const cachedByModel = new Map<string, CachedPrompt>()
  const rows: CacheRow[] = []
  let last: CachedPrompt | undefined
  for (const call of callsIn(journal)) {
    if (call.response.role !== undefined) continue // a call with a role, such as one for a title, has another prompt
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

/**
 * True when the provider keeps the cached prompt for the longer time, usually an hour. If this call wrote nothing to the cache, the result
 * is the same as for the previous call.
 */
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

/** How many tokens of the prompt `sent` the provider should read from its cache. `before` is the earlier call that filled the cache. */
function expectedRead({ sent: before, cached }: CachedPrompt, sent: SentPrompt, rules: ProviderCacheRules): number {
  if (rules.kind === 'prefix') {
    const tokens = Math.min(sent.upTo(before.count - 1), before.total)
    return tokens < rules.minimumTokens ? 0 : tokens
  }
  if (rules.lookBackParts > 1 || before.prompt.model !== sent.prompt.model) return cached
  const shared = sent.prompt.points?.findLast((point) => before.prompt.points?.includes(point))
  // A provider with `lookBackParts` 1 does not look back from a mark. It reads up to a mark only if the earlier prompt had a mark at the
  // same block.
  return Math.min(cached, sent.upTo(shared ?? -1))
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

/** True when the model completed its response. In this case the provider should have reported the token usage. */
const isComplete = ({ response: { finish_reason } }: SentPrompt) => finish_reason === 'stop' || finish_reason === 'length'

/**
 * The provider may read this many tokens less from its cache than predicted, before a miss is reported. The prediction is almost exact for
 * providers with marks. For providers without marks it is only an estimate.
 */
const tolerance = (read: number, { kind }: ProviderCacheRules) =>
  kind === 'marks' ? Math.max(16, read * 0.005) : Math.max(512, read * 0.1)

/**
 * A prompt may have tokens before its last mark that the provider neither read from its cache nor wrote to it. They are reported as a miss
 * only if they are more than this share of all tokens before the mark. Below this share, the difference may come from the estimated token
 * counts.
 */
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
