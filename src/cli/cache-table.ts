import type { CacheLedger, CacheRow } from '../core/cache/ledger.ts'
import { columns, number } from './columns.ts'

/** Every decision on a line, the reason for a miss below it, and what it comes to in the end. */
export function cacheTable({ rows, billed, hitRate, misses }: CacheLedger): string {
  if (rows.length === 0) return 'no model was asked yet'
  const [heading = '', ...lines] = columns([['turn', 'round', 'read', 'expected', 'written', 'in full'], ...rows.map(cellsOf)])
  const told = rows.flatMap((row, index) => [
    lines[index] ?? '',
    ...(row.miss ? [`    ✗ ${row.miss.cause}: ${row.miss.words} (${number(row.miss.tokens)} tokens)`] : []),
  ])
  const lost = misses.reduce((sum, { miss }) => sum + (miss?.tokens ?? 0), 0)
  return [
    heading,
    ...told,
    '',
    `hit rate ${(hitRate * 100).toFixed(1)} %: read ${number(billed.read)}, written ${number(billed.write)}, in full ${number(billed.uncached)}`,
    misses.length === 0 ? 'no misses' : `${misses.length === 1 ? '1 miss' : `${misses.length} misses`}: ${number(lost)} tokens paid again`,
    ...(rows.some(({ predicted }) => !predicted) ? ['nobody knows how some of the models cache: nothing is expected of them (–)'] : []),
  ].join('\n')
}

const cellsOf = ({ turnId, iteration, predicted, billed }: CacheRow): readonly (string | number)[] => [
  turnId,
  iteration,
  billed?.read ?? '?',
  predicted?.read ?? '–',
  billed?.write ?? '?',
  billed?.uncached ?? '?',
]
