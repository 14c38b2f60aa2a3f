import type { Buckets, CacheReport, CacheRow } from '../../core/cache/cache-report.ts'
import { columns, formatNumber, formatPercent, plural } from '../table.ts'
import type { Style } from '../terminal.ts'
import { plainLine } from '../terminal.ts'

/** Every decision on a line, the reason for a miss below it, and what it comes to in the end. */
export function cacheTable({ rows, billed, hitRate, misses }: CacheReport, style: Style): string {
  if (rows.length === 0) return 'no model was asked yet'
  const cells = rows.map((row, index) => cellsOf(row, rows[index - 1]))
  const [heading = '', ...lines] = columns([['turn', 'round', 'hit', 'read', 'expected', 'written', 'in full'], ...cells])
  const told = rows.flatMap(({ miss }, index) => [
    lines[index] ?? '',
    ...(miss ? [style.failure(`    ✗ ${miss.cause}: ${plainLine(miss.words)} (${plural(miss.tokens, 'token')})`)] : []),
  ])
  const lost = misses.reduce((sum, { miss }) => sum + (miss?.tokens ?? 0), 0)
  return [
    style.dim(heading),
    ...told,
    '',
    `${style.bold(`hit rate ${formatPercent(hitRate)}`)}: read ${formatNumber(billed.read)}, written ${formatNumber(billed.write)}, in full ${formatNumber(billed.uncached)}`,
    misses.length === 0 ? style.success('no misses') : `${plural(misses.length, 'miss', 'misses')}: ${plural(lost, 'token')} paid again`,
    ...(rows.some(({ predicted }) => !predicted) ? ['nobody knows how some of the models cache: nothing is expected of them (–)'] : []),
  ].join('\n')
}

/** A turn is named where it begins. */
const cellsOf = ({ turnId, iteration, predicted, billed }: CacheRow, before: CacheRow | undefined): readonly (string | number)[] => [
  before?.turnId === turnId ? '' : plainLine(turnId),
  iteration,
  billed ? hitRateOf(billed) : '?',
  billed?.read ?? '?',
  predicted?.read ?? '–',
  billed?.write ?? '?',
  billed?.uncached ?? '?',
]

const hitRateOf = ({ read, write, uncached }: Buckets) => formatPercent(read / Math.max(1, read + write + uncached), 0)
