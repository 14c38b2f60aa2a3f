import { createEstimator } from '../estimate/estimate.ts'
import type { TokenCounter } from '../estimate/tokens.ts'
import type { Usage } from '../timeline/change.ts'
import { type CachedPrompt, createMiss, explainMiss, limitMiss, type Miss, markedTokens } from './misses.ts'
import { callsIn, createPromptReader, type JournalEntry, type SentPrompt } from './recorded-calls.ts'
import type { ProviderCacheRules, RulesOf } from './rules.ts'

/** One decision, what of its prompt the provider should have known, and what it said it knew. */
export interface CacheRow {
  readonly seq: number
  readonly turnId: string
  readonly iteration: number
  readonly ts: string
  readonly model: string
  /** Hash of everything up to each mark, and the block that the mark stands behind. */
  readonly segments: readonly { readonly hash: number; readonly block: string | undefined }[]
  /** Parts between the last mark and the one that the call before had last: how far a look-back has to reach. */
  readonly reach: number
  /** If nothing goes wrong; undefined where nobody knows how the model caches. */
  readonly predicted: Buckets | undefined
  /** Undefined when the call was broken off. */
  readonly billed: Buckets | undefined
  readonly miss?: Miss
}

/** Tokens of a prompt by what they cost. */
export interface Buckets {
  readonly read: number
  readonly write: number
  readonly uncached: number
}

export interface CacheReport {
  readonly rows: readonly CacheRow[]
  readonly billed: Buckets
  /** Read over everything sent, of what was billed. */
  readonly hitRate: number
  readonly misses: readonly CacheRow[]
}

/** Every decision of a journal, with the reason for each miss. */
export function cacheReport(
  journal: readonly JournalEntry[],
  { rulesOf, count }: { readonly rulesOf: RulesOf; readonly count: TokenCounter },
): CacheReport {
  const read = createPromptReader(createEstimator(count))
  const kept = new Map<string, CachedPrompt>()
  const rows: CacheRow[] = []
  let last: CachedPrompt | undefined
  for (const call of callsIn(journal)) {
    if (call.response.role !== undefined) continue // a title and a summary are asked for under another system text
    const sent = read(call)
    const model = sent.prompt.model ?? ''
    for (const [name, state] of kept) kept.set(name, { ...state, since: [...state.since, ...sent.since] })
    const before = kept.get(model) ?? last
    rows.push({ seq: call.seq, ...rowOf(sent, before, rulesOf(model)) })
    const { usage } = sent.response
    if (!usage) continue
    last = { sent, cached: usage.cache_read + usage.cache_write, long: livesLong(usage, kept.get(model)), since: [] }
    kept.set(model, last)
  }
  return { rows, ...summed(rows) }
}

/** By the latest that was written; a call that only read leaves it as it was. */
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

/** What the call before had left behind. */
function expectedRead({ sent: before, cached }: CachedPrompt, sent: SentPrompt, rules: ProviderCacheRules): number {
  if (rules.kind === 'prefix') {
    const tokens = Math.min(sent.upTo(before.count - 1), before.total)
    return tokens < rules.minimumTokens ? 0 : tokens
  }
  if (rules.lookBackParts > 1 || before.prompt.model !== sent.prompt.model) return cached
  const shared = sent.prompt.points?.findLast((point) => before.prompt.points?.includes(point))
  return Math.min(cached, sent.upTo(shared ?? -1)) // only where a mark stands now is anything found
}

function missIn(
  sent: SentPrompt,
  before: CachedPrompt | undefined,
  rules: ProviderCacheRules,
  predicted: Buckets,
  billed: Buckets | undefined,
): Miss | undefined {
  if (!billed) return isWhole(sent) ? createMiss('not reported', sent.total) : undefined
  const lost = predicted.read - billed.read
  if (before && lost > tolerance(predicted.read, rules)) return explainMiss(before, sent, rules, lost)
  if (rules.kind === 'prefix') return undefined
  const planned = markedTokens(sent)
  const unkept = planned - billed.read - billed.write
  if (unkept <= Math.max(SLACK, planned * GUESS)) return undefined
  const refused = limitMiss(sent, rules, unkept)
  if (refused) return refused
  return billed.read + billed.write === 0 ? createMiss('not reported', unkept) : createMiss('dropped by provider', unkept)
}

/** The model came to an end by itself, so there should be a bill. */
const isWhole = ({ response: { finish_reason } }: SentPrompt) => finish_reason === 'stop' || finish_reason === 'length'

/** What is read is what was billed before, to the token; a beginning that was found by itself comes in blocks, and ends in a guess. */
const tolerance = (read: number, { kind }: ProviderCacheRules) =>
  kind === 'marks' ? Math.max(16, read * 0.005) : Math.max(512, read * 0.1)

/** Where the last mark stands is known in our own tokens only. */
const GUESS = 0.3
const SLACK = 256

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
