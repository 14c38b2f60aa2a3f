import { expect, it } from 'vitest'
import type { CacheRow } from '../core/cache/ledger.ts'
import { missOf } from '../core/cache/miss.ts'
import { nothingSpent, type Sum } from '../core/cost/ledger.ts'
import { cacheTable } from './cache-table.ts'
import { costTable, money } from './cost-table.ts'

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

it('shows the calls, the reason for a miss below its call, and what it comes to', () => {
  const hidden = { id: 'b_7', type: 'react.tool.result', author: 'tool', turn_id: 'turn_1', ts: '', path: 'tc:turn_1.c1.result' }
  const rows = [
    row(0, { read: 0, write: 12_000, uncached: 700 }, { read: 0, write: 12_100, uncached: 600 }),
    row(
      1,
      { read: 10_500, write: 900, uncached: 710 },
      { read: 12_000, write: 400, uncached: 600 },
      { miss: missOf('hide', 1_500, {}, hidden) },
    ),
    row(2, undefined, undefined),
  ]
  const ledger = {
    rows,
    misses: rows.filter(({ miss }) => miss),
    hitRate: 0.4231,
    billed: { read: 10_500, write: 12_900, uncached: 1_410 },
  }
  expect(cacheTable(ledger)).toMatchInlineSnapshot(`
    "turn    round    read  expected  written  in full
    turn_1      0       0         0   12,000      700
    turn_1      1  10,500    12,000      900      710
        ✗ hide: react.hide folded b_7 (tc:turn_1.c1.result) away (1,500 tokens)
    turn_1      2       ?         –        ?        ?

    hit rate 42.3 %: read 10,500, written 12,900, in full 1,410
    1 miss: 1,500 tokens paid again
    nobody knows how some of the models cache: nothing is expected of them (–)"
  `)
  expect(cacheTable({ ...ledger, rows: [] })).toBe('no model was asked yet')
})

it('a price that is not known is a question mark, and in a sum it makes an at least', () => {
  const sum = (money: number, calls: number, unpriced: number): Sum => ({ ...nothingSpent, money, calls, unpriced })
  expect([money(sum(1_234_567, 2, 0)), money(sum(1_234_567, 2, 1)), money(sum(0, 2, 2))]).toEqual(['$0.001235', '≥ $0.001235', '?'])
  const nothing = { calls: [], total: nothingSpent, turns: new Map(), roles: new Map(), models: new Map(), blocks: new Map() }
  expect(costTable(nothing, new Map())).toBe('nothing was asked yet, so nothing was spent')
})
