import { expect, it } from 'vitest'
import type { Replayed } from '../../agent/replay/replay.ts'
import type { Block } from '../../core/block/index.ts'
import type { CacheRow } from '../../core/cache/cache-report.ts'
import { createMiss } from '../../core/cache/misses.ts'
import { addSums, type CostReport, type Sum, zeroSum } from '../../core/cost/cost.ts'
import { styleFor } from '../terminal.ts'
import { replayTable } from './replay.ts'
import { cacheTable, costTable, formatMoney } from './reports.ts'

const plain = styleFor({}, {})

const row = (iteration: number, billed: CacheRow['billed'], predicted: CacheRow['predicted'], more: Partial<CacheRow> = {}): CacheRow => ({
  seq: iteration,
  turnId: 'turn_1',
  iteration,
  ts: '',
  model: 'm',
  segments: [],
  reach: 1,
  predicted,
  billed,
  ...more,
})

it('the cache table has a line per round, the reason for a miss below it, and a summary', () => {
  const hidden: Block = { id: 'b_7', type: 'react.tool.result', author: 'tool', turn_id: 'turn_1', ts: '', path: 'tc:turn_1.c1.result' }
  const rows = [
    row(0, { read: 0, write: 12_000, uncached: 700 }, { read: 0, write: 12_100, uncached: 600 }),
    row(
      1,
      { read: 10_500, write: 900, uncached: 710 },
      { read: 12_000, write: 400, uncached: 600 },
      { miss: createMiss('hide', 1_500, {}, hidden) },
    ),
    row(2, undefined, undefined),
  ]
  const report = {
    rows,
    misses: rows.filter(({ miss }) => miss),
    hitRate: 0.4231,
    billed: { read: 10_500, write: 12_900, uncached: 1_410 },
  }
  expect(cacheTable(report, plain)).toMatchInlineSnapshot(`
    "turn    round   hit    read  expected  written  in full
    turn_1      0   0 %       0         0   12,000      700
                1  87 %  10,500    12,000      900      710
        ✗ hide: the agent hid b_7 (tc:turn_1.c1.result) with react.hide (1,500 tokens)
                2     ?       ?         –        ?        ?

    hit rate 42.3 %: read 10,500, written 12,900, in full 1,410
    1 miss: 1,500 tokens paid again
    the cache rules of some models are not known, so the table can not say what they should have read (–)"
  `)
  expect(cacheTable({ ...report, rows: [] }, plain)).toBe('no model was called yet')
})

it('an unknown price is shown as ?, and a sum that contains one as ≥ the known part', () => {
  const sum = (money: number, calls: number, unpriced: number): Sum => ({ ...zeroSum, money, calls, unpriced })
  expect([formatMoney(sum(1_234_567, 2, 0)), formatMoney(sum(1_234_567, 2, 1)), formatMoney(sum(0, 2, 2))]).toEqual([
    '$0.001235',
    '≥ $0.001235',
    '?',
  ])
  const nothing = { calls: [], total: zeroSum, turns: new Map(), roles: new Map(), models: new Map(), blocks: new Map() }
  expect(costTable(nothing, new Map(), plain)).toBe('no model was called yet: nothing was spent')
})

it('the cost table has a column for reasoning only if tokens were used for it, and names models without a price', () => {
  const tokens = { uncached: 100, cacheRead: 9_000, cacheWrite: 300, output: 40, reasoning: 0 }
  const [priced, unpriced]: readonly [Sum, Sum] = [
    { tokens, money: 3_000_000, calls: 1, unpriced: 0 },
    { tokens, money: 0, calls: 1, unpriced: 1 },
  ]
  const call = { estimated: false } as CostReport['calls'][number]
  const both = addSums(priced, unpriced)
  const evil: Block = {
    id: 'b_1',
    type: 'user.prompt',
    author: 'user',
    turn_id: 't1',
    ts: '',
    path: 'ar:t1.\u001b]0;mine\u0007user.prompt',
  }
  const report: CostReport = {
    calls: [call, call],
    total: both,
    turns: new Map([['t1', both]]),
    roles: new Map([['decision', both]]),
    models: new Map([
      ['acme/rocket', priced],
      ['acme/mystery', unpriced],
    ]),
    blocks: new Map([['b_1', both]]),
  }
  expect(costTable(report, new Map([['b_1', evil]]), plain)).toMatchInlineSnapshot(`
    "turn         cost    share    read  written  in full  output
    t1    ≥ $0.003000  100.0 %  18,000      600      200      80

    role             cost    share    read  written  in full  output
    decision  ≥ $0.003000  100.0 %  18,000      600      200      80

    model              cost    share   read  written  in full  output
    acme/rocket   $0.003000  100.0 %  9,000      300      100      40
    acme/mystery          ?        ?  9,000      300      100      40

    block                                  cost    share    read  written  in full  output
    b_1 ar:t1.␛]0;mine␇user.prompt  ≥ $0.003000  100.0 %  18,000      600      200      80

    total ≥ $0.003000 for 2 calls
    the real total may be higher: no price is known for acme/mystery (1 call)"
  `)
  const unknown = { ...report, total: unpriced, models: new Map([['acme/mystery', unpriced]]), calls: [call] }
  expect(costTable(unknown, new Map(), plain)).toMatch(/total \? for 1 call\nno price is known for acme\/mystery$/)
})

it('the replay table has a line per turn, its first difference below it, and a summary', () => {
  const turns: readonly Replayed[] = [
    { turnId: 'turn_1', rounds: 2 },
    { turnId: 'turn_2', rounds: 1, divergence: { kind: 'decision', seq: 7, recorded: 'a call', present: 'a notice' } },
    { turnId: 'turn_3', rounds: 0, torn: true },
  ]
  expect(replayTable(turns, plain)).toMatchInlineSnapshot(`
    "turn_1  2 rounds  the same
    turn_2  1 round   not the same
        ✗ entry 7: on record a call; now a notice
    turn_3  0 rounds  not replayed: it was imported, or a part of its history was deleted

    1 of 2 turns would not be the same"
  `)
  expect(replayTable(turns.slice(0, 1), plain)).toMatch(/\n\n1 turn, 2 rounds: the current code does the same$/)
  expect(replayTable([], plain)).toBe('there is no turn yet')
})
