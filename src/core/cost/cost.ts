import type { Block } from '../block/block.ts'
import { callsIn, type JournalEntry, type RecordedCall } from '../cache/recorded-calls.ts'
import { createEstimator, type Estimator } from '../estimate/estimate.ts'
import { CHARACTERS_PER_TOKEN, type TokenCounter } from '../estimate/tokens.ts'
import type { ModelUsage } from '../model-event.ts'
import type { RenderedBlock } from '../render/walk.ts'
import { type CallUsage, callUsages } from './call-usage.ts'
import { childCallsOf } from './child-calls.ts'
import { createPromptSums, type ShareSum } from './fast-sum-shares.ts'
import { type Charge, type ChargeOf, totalOf } from './price.ts'
import { outputShares, type Share, sharesOf, type WeightedItem } from './shares.ts'

/** The cost of a conversation. Each map has the cost of all calls, grouped by turn, role, model or block. */
export interface CostReport {
  readonly calls: readonly CallCost[]
  readonly total: Sum
  readonly turns: ReadonlyMap<string, Sum>
  readonly roles: ReadonlyMap<string, Sum>
  readonly models: ReadonlyMap<string, Sum>
  /**
   * The costs by the id of the block. Costs that belong to no block have one of these keys: `system` (the system text), `tail` (the end of
   * the prompt), `gate` (calls for a title), `compaction` (calls for a summary), `unused` (output that became no block).
   */
  readonly blocks: ReadonlyMap<string, Sum>
}

/** The cost of one model call. */
export interface CallCost {
  readonly seq: number
  readonly turnId: string
  readonly iteration: number
  /** The purpose of the call. `child`: a sub-agent made the call. */
  readonly role: 'decision' | 'gate' | 'compaction' | 'child'
  readonly model: string
  readonly ts: string
  readonly usage: ModelUsage
  /** True when the provider reported no tokens and Daybook estimated them. */
  readonly estimated: boolean
  /** The price of the call. Undefined when it is not known. */
  readonly charge: Charge | undefined
  /** How the cost is divided among the blocks. The list is computed each time it is read. */
  readonly shares: readonly Share[]
}

/** The sum over several calls. Money is in whole billionths of a US dollar. */
export interface Sum {
  readonly tokens: Omit<ModelUsage, 'cacheWriteLong'>
  /** The money for all calls with a known price. */
  readonly money: number
  readonly calls: number
  /** The number of calls whose price is not known. */
  readonly unpriced: number
}

export const zeroSum: Sum = {
  tokens: { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 },
  money: 0,
  calls: 0,
  unpriced: 0,
}

/** Computes the costs of all model calls in a journal. */
export function costReport(
  journal: readonly JournalEntry[],
  { chargeOf, count }: { readonly chargeOf: ChargeOf; readonly count: TokenCounter },
): CostReport {
  const estimator = createEstimator(count)
  const own = [...callsIn(journal)].flatMap((call) =>
    callUsages(call.response).map((usage) => ({ call, usage, cost: costOf(call, usage, chargeOf, estimator) })),
  )
  const ofChildren = journal.flatMap((entry) => childCosts(entry, chargeOf)).map((cost) => ({ cost }))
  const recorded: readonly RecordedCost[] =
    ofChildren.length === 0 ? own : [...own, ...ofChildren].sort((one, other) => one.cost.seq - other.cost.seq)
  const calls = recorded.map(({ cost }) => cost)
  const whole = (call: CallCost): Sum => sumOf(call.usage, call.charge && totalOf(call.charge))
  return {
    calls,
    total: calls.map(whole).reduce(addSums, zeroSum),
    turns: sumBy(calls, (call) => [[call.turnId, whole(call)]]),
    roles: sumBy(calls, (call) => [[call.role, whole(call)]]),
    models: sumBy(calls, (call) => [[call.model, whole(call)]]),
    blocks: sumShares(recorded, estimator),
  }
}

function costOf(call: RecordedCall, { usage, model, estimated, discarded }: CallUsage, chargeOf: ChargeOf, estimator: Estimator): CallCost {
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
    // The list is computed at each access and not kept, because all shares of a long conversation would take hundreds of megabytes.
    get shares() {
      return sharesOf(usage, charge, promptItems(call, estimator), producedItems(call, { discarded }, estimator))
    },
  }
}

/** The costs of the sub-agents whose results are in an entry. The whole cost of a sub-agent belongs to the block with its result. */
function childCosts({ seq, change }: JournalEntry, chargeOf: ChargeOf): readonly CallCost[] {
  return blocksOfEntry(change).flatMap((block) =>
    childCallsOf(block).map(({ model, ts, usage, estimated }) => {
      const charge = chargeOf(usage, model, ts)
      const { reasoning: _reasoning, cacheWriteLong: _long, ...tokens } = usage
      const shares = [{ key: block.id, tokens, money: charge && totalOf(charge) }]
      const iteration = block.meta?.iteration ?? 0
      return { seq, turnId: block.turn_id, iteration, role: 'child' as const, model, ts, usage, estimated, charge, shares }
    }),
  )
}

const blocksOfEntry = (change: JournalEntry['change']): readonly Block[] => (change.type === 'blocks.appended' ? change.blocks : [])

/** The parts of a prompt in order. The weight of a part is its estimated number of tokens. */
function promptItems({ response: { role, prompt }, shown, count }: RecordedCall, estimator: Estimator): readonly WeightedItem[] {
  if (role !== undefined) return [{ key: role, weight: 1 }] // the parts of prompts for titles and summaries are not recorded
  const items: WeightedItem[] = [{ key: 'system', weight: (prompt?.system?.size ?? 0) / CHARACTERS_PER_TOKEN }]
  for (let position = 0; position < count; position++) {
    const { block, parts } = shown[position] as RenderedBlock // the list has at least `count` blocks
    items.push({ key: block.id, weight: estimator.parts(parts) })
  }
  items.push({ key: 'tail', weight: (prompt?.tail?.size ?? 0) / CHARACTERS_PER_TOKEN })
  return items
}

function producedItems(call: RecordedCall, { discarded }: Pick<CallUsage, 'discarded'>, estimator: Estimator): readonly WeightedItem[] {
  const produced = discarded ? [] : call.produced
  return produced.length === 0
    ? [{ key: 'unused', weight: 1 }]
    : produced.map((block) => ({ key: block.id, weight: estimator.content(block) }))
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
  for (const call of calls) for (const [key, sum] of entries(call)) sums.set(key, addSums(sums.get(key) ?? zeroSum, sum))
  return sums
}

/** The cost of a call. For a call of a sub-agent, `call` and `usage` are undefined, because its details are not in this journal. */
interface RecordedCost {
  readonly cost: CallCost
  readonly call?: RecordedCall
  readonly usage?: CallUsage
}

/**
 * The sums of the shares by block. A long conversation has millions of shares, because each call has one for each block of its prompt.
 * Therefore the shares are added to the sums in place, without lists.
 */
function sumShares(recorded: readonly RecordedCost[], estimator: Estimator): ReadonlyMap<string, Sum> {
  const sums = new Map<string, ShareSum>()
  const sumOf = (key: string): ShareSum => {
    const known = sums.get(key)
    if (known) return known
    const created = { tokens: { ...zeroSum.tokens }, money: 0, calls: 0, unpriced: 0 }
    sums.set(key, created)
    return created
  }
  const addPrompt = createPromptSums(sumOf, estimator)
  for (const { cost, call, usage } of recorded) {
    const hasAdded = call && usage && call.response.role === undefined && addPrompt(call, usage.usage, cost.charge)
    const rest = hasAdded ? outputShares(usage.usage.output, cost.charge?.output, producedItems(call, usage, estimator)) : cost.shares
    for (const { key, tokens, money } of rest) {
      const sum = sumOf(key)
      sum.tokens.uncached += tokens.uncached
      sum.tokens.cacheRead += tokens.cacheRead
      sum.tokens.cacheWrite += tokens.cacheWrite
      sum.tokens.output += tokens.output
      sum.money += money ?? 0
      sum.calls++
      if (money === undefined) sum.unpriced++
    }
  }
  return sums
}
