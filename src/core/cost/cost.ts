import type { Block } from '../block/block.ts'
import { callsIn, type JournalEntry, type RecordedCall } from '../cache/recorded-calls.ts'
import { createEstimator, type Estimator } from '../estimate/estimate.ts'
import { roughTokens, type TokenCounter } from '../estimate/tokens.ts'
import type { ModelUsage } from '../model-event.ts'
import type { ResponseReceived, Usage } from '../timeline/change.ts'
import { type Charge, type ChargeOf, totalOf } from './price.ts'
import { type Share, sharesOf, type WeightedItem } from './shares.ts'

/** What a conversation has cost: call by call, and by whatever one may ask. All sums are over the same calls. */
export interface CostReport {
  readonly calls: readonly CallCost[]
  readonly total: Sum
  readonly turns: ReadonlyMap<string, Sum>
  readonly roles: ReadonlyMap<string, Sum>
  readonly models: ReadonlyMap<string, Sum>
  /** By block id; `system`, `tail`, `gate` and `compaction` for what is no block. */
  readonly blocks: ReadonlyMap<string, Sum>
}

export interface CallCost {
  readonly seq: number
  readonly turnId: string
  readonly iteration: number
  readonly role: 'decision' | 'gate' | 'compaction'
  readonly model: string
  readonly ts: string
  readonly usage: ModelUsage
  /** Nobody sent a bill: the tokens are estimated. */
  readonly estimated: boolean
  /** Undefined: the price is not known. */
  readonly charge: Charge | undefined
  readonly shares: readonly Share[]
}

/** In tokens, and in whole billionths of the currency. */
export interface Sum {
  readonly tokens: Omit<ModelUsage, 'cacheWriteLong'>
  /** At least so much, when `unpriced` is not 0. */
  readonly money: number
  readonly calls: number
  /** Calls whose price is not known. */
  readonly unpriced: number
}

export const zeroSum: Sum = {
  tokens: { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 },
  money: 0,
  calls: 0,
  unpriced: 0,
}

export function costReport(
  journal: readonly JournalEntry[],
  { chargeOf, count }: { readonly chargeOf: ChargeOf; readonly count: TokenCounter },
): CostReport {
  const estimator = createEstimator(count)
  const calls = [...callsIn(journal)].flatMap((call) => callUsages(call.response).map((paid) => costOf(call, paid, chargeOf, estimator)))
  const whole = (call: CallCost): Sum => sumOf({ ...call.usage, reasoning: call.usage.reasoning }, call.charge && totalOf(call.charge))
  return {
    calls,
    total: calls.map(whole).reduce(addSums, zeroSum),
    turns: sumBy(calls, (call) => [[call.turnId, whole(call)]]),
    roles: sumBy(calls, (call) => [[call.role, whole(call)]]),
    models: sumBy(calls, (call) => [[call.model, whole(call)]]),
    blocks: sumBy(calls, ({ shares }) => shares.map(({ key, tokens, money }) => [key, sumOf({ ...tokens, reasoning: 0 }, money)])),
  }
}

function costOf(
  call: RecordedCall,
  { usage, model, estimated, discarded: inVain }: CallUsage,
  chargeOf: ChargeOf,
  estimator: Estimator,
): CallCost {
  const { seq, response } = call
  const charge = chargeOf(usage, model, response.ts)
  return {
    seq,
    turnId: response.turn_id,
    iteration: response.iteration,
    role: response.role ?? 'decision',
    model,
    ts: response.ts,
    usage,
    estimated,
    charge,
    shares: sharesOf(usage, charge, promptItems(call, estimator), outputItems(inVain ? [] : call.produced, estimator)),
  }
}

/** The prompt as it lay before the model: what is no block has a name of its own. */
function promptItems({ response: { role, prompt }, shown: lines, count }: RecordedCall, estimator: Estimator): readonly WeightedItem[] {
  if (role !== undefined) return [{ key: role, weight: 1 }] // nobody wrote down what a title or a summary was made from
  return [
    { key: 'system', weight: (prompt?.system?.size ?? 0) / CHARACTERS_PER_TOKEN },
    ...lines.slice(0, count).map(({ block, parts }) => ({ key: block.id, weight: estimator.parts(parts) })),
    { key: 'tail', weight: (prompt?.tail?.size ?? 0) / CHARACTERS_PER_TOKEN },
  ]
}

const CHARACTERS_PER_TOKEN = 4

function outputItems(made: readonly Block[], estimator: Estimator): readonly WeightedItem[] {
  return made.length === 0 ? [{ key: 'unused', weight: 1 }] : made.map((block) => ({ key: block.id, weight: estimator.content(block) }))
}

const sumOf = ({ uncached, cacheRead, cacheWrite, output, reasoning }: ModelUsage, money: number | undefined): Sum => ({
  tokens: { uncached, cacheRead, cacheWrite, output, reasoning },
  money: money ?? 0,
  calls: 1,
  unpriced: money === undefined ? 1 : 0,
})

export const addSums = (one: Sum, other: Sum): Sum => ({
  tokens: {
    uncached: one.tokens.uncached + other.tokens.uncached,
    cacheRead: one.tokens.cacheRead + other.tokens.cacheRead,
    cacheWrite: one.tokens.cacheWrite + other.tokens.cacheWrite,
    output: one.tokens.output + other.tokens.output,
    reasoning: one.tokens.reasoning + other.tokens.reasoning,
  },
  money: one.money + other.money,
  calls: one.calls + other.calls,
  unpriced: one.unpriced + other.unpriced,
})

function sumBy(calls: readonly CallCost[], entries: (call: CallCost) => readonly (readonly [string, Sum])[]): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>()
  for (const [key, sum] of calls.flatMap(entries)) sums.set(key, addSums(sums.get(key) ?? zeroSum, sum))
  return sums
}

/** The provider failed before it said anything. */
const failedBeforeOutput = ({ usage, raw, finish_reason }: ResponseReceived): boolean =>
  usage === undefined && raw === '' && finish_reason === 'error'

/** What one question to a model cost. */
export interface CallUsage {
  readonly usage: ModelUsage
  readonly model: string
  /** Nobody sent a bill. */
  readonly estimated: boolean
  /** It was asked again: nothing came of it. */
  readonly discarded: boolean
}

/** Everything that an answer cost: asking in vain, then the answer itself, unless that was free. */
export function callUsages(response: ResponseReceived): readonly CallUsage[] {
  const { retried = [], usage, prompt } = response
  const model = prompt?.model ?? ''
  const before = retried.map((attempt) => ({
    usage: fromRecord(attempt.usage),
    model: attempt.model ?? model,
    estimated: attempt.estimated === true,
    discarded: true,
  }))
  return failedBeforeOutput(response)
    ? before
    : [...before, { usage: usageOf(response), model, estimated: usage === undefined, discarded: false }]
}

/** A call without a bill, because it was broken off or nobody sent one, had a cost all the same: what was sent, and what had come back. */
function usageOf({ usage, raw, prompt }: ResponseReceived): ModelUsage {
  return usage ? fromRecord(usage) : estimatedUsage(prompt?.estimated_tokens ?? 0, raw)
}

export const estimatedUsage = (sent: number, raw: string): ModelUsage => ({
  uncached: sent,
  cacheRead: 0,
  cacheWrite: 0,
  output: roughTokens(raw),
  reasoning: 0,
})

function fromRecord({
  uncached,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  cache_write_long,
  output,
  reasoning = 0,
}: Usage): ModelUsage {
  return { uncached, cacheRead, cacheWrite, ...(cache_write_long !== undefined && { cacheWriteLong: cache_write_long }), output, reasoning }
}
