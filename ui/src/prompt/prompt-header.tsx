import { ChevronLeft, ChevronRight } from 'lucide-react'
import type { RoundBar } from '../model/inspect/cost-series.ts'
import { formatCount, formatMoney } from '../model/inspect/figures.ts'
import { TokenFigures } from '../primitives/buckets-bar.tsx'
import { IconButton } from '../primitives/button.tsx'
import { Figure } from '../primitives/figure.tsx'
import { Kbd } from '../primitives/kbd.tsx'

interface PromptHeaderProps {
  readonly bars: readonly RoundBar[]
  readonly bar: RoundBar
  readonly against: RoundBar | undefined
  choose(bar: RoundBar): void
  compare(bar: RoundBar | undefined): void
}

const fieldLook = 'max-w-52 rounded-md border border-line bg-page px-2 py-1 text-base md:text-sm'

/** The round, and how its prompt was billed. */
export function PromptHeader({ bars, bar, against, choose, compare }: PromptHeaderProps) {
  const index = bars.indexOf(bar)
  const [before, after] = [bars[index - 1], bars[index + 1]]
  return (
    <header className="flex flex-wrap items-center gap-x-6 gap-y-2 border-b border-line px-4 py-2">
      <div className="flex items-center gap-1">
        <IconButton label="Previous round" disabled={!before} onClick={() => before && choose(before)}>
          <ChevronLeft size={16} />
        </IconButton>
        <select aria-label="Round" className={fieldLook} value={index} onChange={(event) => pick(bars, event.target.value, choose)}>
          {bars.map((each, number) => (
            <option key={each.seq} value={number}>
              {roundName(bars, each)}
              {each.miss ? ' · miss' : ''}
            </option>
          ))}
        </select>
        <IconButton label="Next round" disabled={!after} onClick={() => after && choose(after)}>
          <ChevronRight size={16} />
        </IconButton>
        <span className="ml-1 hidden gap-1 lg:flex">
          <Kbd keys="[ ]" />
        </span>
      </div>
      <dl className="flex flex-wrap gap-x-6 gap-y-1">
        <TokenFigures read={bar.read} write={bar.write} uncached={bar.uncached} output={bar.output} format={formatCount} />
        <Figure label="Price" name="price">
          {formatMoney(bar.money)}
          {bar.estimated && <span className="text-xs font-normal text-soft"> estimated</span>}
        </Figure>
      </dl>
      <label className="ml-auto flex items-center gap-2 text-sm text-soft">
        Compare with
        <select
          aria-label="Compare with"
          className={`${fieldLook} text-ink`}
          value={against ? bars.indexOf(against) : ''}
          onChange={(event) => (event.target.value === '' ? compare(undefined) : pick(bars, event.target.value, compare))}
        >
          <option value="">no other round</option>
          {bars
            .filter((each) => each !== bar)
            .map((each) => (
              <option key={each.seq} value={bars.indexOf(each)}>
                {roundName(bars, each)}
              </option>
            ))}
        </select>
      </label>
    </header>
  )
}

function pick(bars: readonly RoundBar[], value: string, choose: (bar: RoundBar) => void): void {
  const bar = bars[Number(value)]
  if (bar) choose(bar)
}

function roundName(bars: readonly RoundBar[], { turnId, iteration }: RoundBar): string {
  const turns = [...new Set(bars.map((bar) => bar.turnId))]
  return `Turn ${turns.indexOf(turnId) + 1}, round ${iteration + 1}`
}
