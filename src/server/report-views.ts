import type { RoundReport, UsageReport } from '../agent/archive/usage-report.ts'
import { type Divergence, divergenceText } from '../agent/replay/divergence.ts'
import type { Replayed } from '../agent/replay/replay.ts'
import type { DivergenceView, ReplayView, RoundView } from '../core/api/inspection.ts'
import type { CacheRowView, CallView, CostSum, CostView } from '../core/api/report.ts'
import { missAdvice } from '../core/cache/advice.ts'
import type { CacheRow } from '../core/cache/cache-report.ts'
import type { CallCost, Sum } from '../core/cost/cost.ts'
import { missPrice } from '../core/cost/miss-price.ts'
import { totalOf } from '../core/cost/price.ts'

// The reports of an agent in the form that the server sends.

export function costView({ cost, cache }: UsageReport): CostView {
  // if a response took several attempts, the last attempt is used
  const callAt = new Map(cost.calls.filter(({ role }) => role === 'decision').map((call) => [call.seq, call]))
  return {
    total: sum(cost.total),
    turns: sums(cost.turns),
    roles: sums(cost.roles),
    models: sums(cost.models),
    blocks: sums(cost.blocks),
    calls: cost.calls.map(callView),
    cache: { hit_rate: cache.hitRate, billed: cache.billed, rows: cache.rows.map((row) => cacheRow(row, callAt.get(row.seq))) },
  }
}

export function roundView({ cost: { calls, shares }, cache }: RoundReport): RoundView {
  const last = calls.at(-1) as CallCost // a round has at least one call
  const difference = cache?.miss?.difference
  return {
    turn_id: last.turnId,
    iteration: last.iteration,
    calls: calls.map(callView),
    shares: shares.map(({ key, tokens, money, soFar }) => ({
      key,
      tokens: { uncached: tokens.uncached, cache_read: tokens.cacheRead, cache_write: tokens.cacheWrite, output: tokens.output },
      money: money ?? null,
      money_so_far: soFar.money,
      unpriced: soFar.unpriced,
    })),
    cache: cache
      ? {
          ...cacheRow(cache, last),
          difference: difference ? { before: difference.before ?? null, now: difference.now ?? null } : null,
        }
      : null,
  }
}

export function replayView(turns: readonly Replayed[]): ReplayView {
  return {
    turns: turns.map(({ turnId: turn_id, rounds, torn, divergence }) => ({
      turn_id,
      rounds,
      result: torn ? 'torn' : divergence ? 'different' : 'same',
      divergence: divergence ? divergenceView(divergence) : null,
    })),
  }
}

function divergenceView(divergence: Divergence): DivergenceView {
  const { kind, seq, iteration, recorded, present } = divergence
  const { block, byte } = divergence.kind === 'decision' ? {} : divergence
  return {
    kind,
    seq,
    iteration: iteration ?? null,
    where: divergence.kind === 'prompt' ? divergence.where : null,
    block: block ? { id: block.id, type: block.type, path: block.path ?? null } : null,
    field: divergence.kind === 'block' ? divergence.field : null,
    byte: byte ?? null,
    recorded: recorded ?? null,
    present: present ?? null,
    words: divergenceText(divergence),
  }
}

const sums = (all: ReadonlyMap<string, Sum>): Record<string, CostSum> => Object.fromEntries([...all].map(([key, one]) => [key, sum(one)]))

function sum({ tokens, money, calls, unpriced }: Sum): CostSum {
  return { tokens: tokenView(tokens), money, calls, unpriced }
}

const tokenView = ({ uncached, cacheRead: cache_read, cacheWrite: cache_write, output, reasoning }: Sum['tokens']): CostSum['tokens'] => ({
  uncached,
  cache_read,
  cache_write,
  output,
  reasoning,
})

function callView({ seq, turnId: turn_id, iteration, role, model, ts, usage, charge, estimated }: CallCost): CallView {
  return { seq, turn_id, iteration, role, model, ts, tokens: tokenView(usage), money: charge ? totalOf(charge) : null, estimated }
}

function cacheRow(row: CacheRow, call: CallCost | undefined): CacheRowView {
  const { seq, turnId: turn_id, iteration, ts, model, predicted, billed, miss } = row
  const view = miss && {
    cause: miss.cause,
    tokens: miss.tokens,
    words: miss.words,
    block: miss.block?.id ?? null,
    block_type: miss.block?.type ?? null,
    block_path: miss.block?.path ?? null,
    money: (call && missPrice(row, call)) ?? null,
    ...missAdvice(miss.cause),
  }
  return { seq, turn_id, iteration, ts, model, predicted: predicted ?? null, billed: billed ?? null, miss: view ?? null }
}
