import { Command } from 'commander'
import { type Buckets, type CacheReport, type CacheRow, cacheReport } from '../../core/cache/cache-report.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { bookkeeping } from '../../wiring/models.ts'
import type { CommandContext } from '../context.ts'
import { reportJson, withJournal } from '../journal.ts'
import { withExamples } from '../options.ts'
import { columns, formatNumber, formatPercent, plural } from '../table.ts'
import { plainLine, printLine, type Style } from '../terminal.ts'

export function cacheCommand(context: CommandContext): Command {
  const command = new Command('cache')
    .description('what each call read from the provider’s cache, what it should have read, and why it did not')
    .argument('<conversation>')
    .option('--json', 'print JSON')
    .action((id: string, { json }: { json?: true }) =>
      withJournal(context, id, (journal) => {
        const report = cacheReport(journal, { rulesOf: bookkeeping.rulesOf, count: roughTokens })
        printLine(context.terminal, json ? reportJson(report) : cacheTable(report, context.style))
      }),
    )
  return withExamples(command, [['daybook cache costs', '']])
}

/** A table with a line for each round, and a summary. If the cache missed in a round, a second line gives the reason. */
export function cacheTable({ rows, billed, hitRate, misses }: CacheReport, style: Style): string {
  if (rows.length === 0) return 'no model was called yet'
  const cells = rows.map((row, index) => cellsOf(row, rows[index - 1]))
  const [heading = '', ...lines] = columns([['turn', 'round', 'hit', 'read', 'expected', 'written', 'in full'], ...cells])
  const rounds = rows.flatMap(({ miss }, index) => [
    lines[index] ?? '',
    ...(miss ? [style.failure(`    ✗ ${miss.cause}: ${plainLine(miss.words)} (${plural(miss.tokens, 'token')})`)] : []),
  ])
  const lost = misses.reduce((sum, { miss }) => sum + (miss?.tokens ?? 0), 0)
  return [
    style.dim(heading),
    ...rounds,
    '',
    `${style.bold(`hit rate ${formatPercent(hitRate)}`)}: read ${formatNumber(billed.read)}, written ${formatNumber(billed.write)}, in full ${formatNumber(billed.uncached)}`,
    misses.length === 0 ? style.success('no misses') : `${plural(misses.length, 'miss', 'misses')}: ${plural(lost, 'token')} paid again`,
    ...(rows.some(({ predicted }) => !predicted) ? ['the cache rules of some models are not known: nothing is expected of them (–)'] : []),
  ].join('\n')
}

/** The cells of one round. The id of a turn is shown only in its first round. */
const cellsOf = ({ turnId, iteration, predicted, billed }: CacheRow, previous: CacheRow | undefined): readonly (string | number)[] => [
  previous?.turnId === turnId ? '' : plainLine(turnId),
  iteration,
  billed ? hitRateOf(billed) : '?',
  billed?.read ?? '?',
  predicted?.read ?? '–',
  billed?.write ?? '?',
  billed?.uncached ?? '?',
]

const hitRateOf = ({ read, write, uncached }: Buckets) => formatPercent(read / Math.max(1, read + write + uncached), 0)
