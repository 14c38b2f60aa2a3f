import { useVirtualizer } from '@tanstack/react-virtual'
import { forkPoint } from 'daybook/client'
import { Search } from 'lucide-react'
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import type { JournalState } from '../data/journal.ts'
import { client } from '../data/session.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { moneyOf } from '../model/inspect/cost-series.ts'
import { createHistory } from '../model/inspect/time-travel.ts'
import { filterRows, minimapBands, stateOf, timelineRows, visibleBlocks } from '../model/inspect/timeline-rows.ts'
import { Notice } from '../primitives/notice.tsx'
import { conversationPath } from '../routes.ts'
import { BlockDetails } from './block-details.tsx'
import { BlockHeadings, BlockRow } from './block-row.tsx'
import { entryWords } from './entry-words.ts'
import { FilterBar } from './filter-bar.tsx'
import { ForkBar } from './fork-bar.tsx'
import { Minimap } from './minimap.tsx'
import { MomentPanel } from './moment-panel.tsx'
import { Scrubber } from './scrubber.tsx'
import { useFilter } from './use-filter.ts'

/** All blocks of a conversation, as they were at a time that the person chooses. */
export function TimelineScreen({ id, journal }: { readonly id: string; readonly journal: JournalState }) {
  const { entries, loaded } = journal
  const [, go] = useLocation()
  const [params, setParams] = useSearchParams()
  const history = useMemo(() => createHistory(), [])
  const { at, setAt } = usePlace(entries.length)
  const { filter, change: changeFilter } = useFilter()
  const [forking, setForking] = useState<number>()
  const cost = useLoaded(loaded ? `${id} ${Math.floor(entries.length / 50)}` : undefined, () => client.cost(id)).value

  const rows = useMemo(() => timelineRows(entries), [entries])
  const moment = history.at(entries, at)
  const seq = entries[at - 1]?.seq ?? 0
  const visible = useMemo(() => visibleBlocks(moment.timeline), [moment])
  const stateNow = useCallback((row: (typeof rows)[number]) => stateOf(row, seq, visible), [seq, visible])
  const wanted = useDeferredValue(filter)
  const found = useMemo(() => filterRows(rows, wanted, stateNow), [rows, wanted, stateNow])
  const knownPaths = useMemo(() => new Set(rows.flatMap(({ block }) => block.path ?? [])), [rows])
  const bands = useMemo(() => minimapBands(found, 240), [found])
  const turns = useMemo(() => entries.flatMap(({ change }, index) => (change.type === 'turn.opened' ? [index] : [])), [entries])
  const selected = rows.find(({ block }) => block.id === params.get('block'))
  const cut = forking === undefined ? 0 : (entries[forkPoint(entries, forking) - 1]?.seq ?? 0)
  const spent = useMemo(() => cost && moneyOf(cost.calls.filter((call) => call.seq <= seq)), [cost, seq])
  const hidden = useMemo(() => [...visible.values()].filter(({ meta }) => meta?.hidden === true).length, [visible])

  const scroller = useRef<HTMLDivElement>(null)
  const narrow = useNarrow()
  const headings = narrow ? 0 : 28 // the height of the headings in pixels
  const virtual = useVirtualizer({
    count: found.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (narrow ? 56 : 36),
    scrollMargin: headings,
    scrollPaddingStart: headings,
    getItemKey: (index) => found[index]?.block.id ?? index,
    overscan: 8,
  })
  const index = selected ? found.indexOf(selected) : -1
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list scrolls only when another block is chosen
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index, { align: 'auto' })
  }, [params.get('block'), loaded])

  const select = (block: string | undefined) => setParams((before) => withParam(before, 'block', block), { replace: true })
  const showPath = (path: string) => changeFilter({ path })

  if (!loaded) return <div className="flex-1" aria-busy="true" />
  if (rows.length === 0) return <Notice title="This conversation has no blocks yet." />
  const items = virtual.getVirtualItems()
  return (
    <div className="flex min-h-0 flex-1">
      <div className="flex min-w-0 flex-1 flex-col">
        <FilterBar filter={filter} onChange={changeFilter} found={found.length} count={rows.length} icon={<Search size={15} />} />
        <div className="flex min-h-0 flex-1">
          <div
            ref={scroller}
            className="min-w-0 flex-1 overflow-y-auto"
            tabIndex={0}
            role="region"
            aria-label="Blocks"
            data-testid="blocks"
          >
            <BlockHeadings />
            {found.length === 0 && <p className="p-6 text-center text-soft">No block matches the filter.</p>}
            <div className="relative" style={{ height: virtual.getTotalSize() }}>
              {items.map((item) => {
                const row = found[item.index]
                if (!row) return null
                return (
                  <div key={item.key} className="absolute inset-x-0 top-0" style={{ transform: `translateY(${item.start - headings}px)` }}>
                    <BlockRow
                      row={row}
                      state={stateNow(row)}
                      selected={row === selected}
                      leftOut={forking !== undefined && row.seq > cut}
                      onSelect={() => select(row === selected ? undefined : row.block.id)}
                      onPath={showPath}
                    />
                  </div>
                )
              })}
            </div>
          </div>
          <Minimap
            bands={bands}
            from={(items[0]?.index ?? 0) / Math.max(1, found.length)}
            to={((items.at(-1)?.index ?? 0) + 1) / Math.max(1, found.length)}
            onJump={(share) => virtual.scrollToIndex(Math.floor(share * found.length), { align: 'center' })}
          />
        </div>
        {forking !== undefined && (
          <ForkBar
            id={id}
            seq={forking}
            cut={cut}
            leftOut={rows.filter((row) => row.seq > cut).length}
            onForked={(copy) => go(conversationPath(copy))}
            onClose={() => setForking(undefined)}
          />
        )}
        <Scrubber count={entries.length} at={at} words={entryWords(entries[at - 1]?.change)} turns={turns} onMove={setAt} />
      </div>
      {selected ? (
        <BlockDetails
          row={selected}
          state={stateNow(selected)}
          now={visible.get(selected.block.id)}
          isKnownPath={(path) => knownPaths.has(path)}
          onPath={showPath}
          onFork={() => setForking(selected.seq)}
          onClose={() => select(undefined)}
        />
      ) : (
        <aside className="hidden w-80 shrink-0 overflow-y-auto border-l border-line lg:block" aria-label="The conversation at this entry">
          <MomentPanel view={moment.view} shown={visible.size - hidden} hidden={hidden} cost={spent} />
        </aside>
      )}
    </div>
  )
}

/** The number of the entry that the screen shows. The address has it as `seq`. Without `seq`, the screen shows the newest entry. */
function usePlace(count: number) {
  const [params, setParams] = useSearchParams()
  const [chosen, setChosen] = useState<number | undefined>(() => numberIn(params.get('seq')))
  const at = Math.max(Math.min(1, count), Math.min(count, chosen ?? count))
  // The address changes a moment after the last step, because browsers limit how often the address may change in a short time.
  useEffect(() => {
    const timer = setTimeout(() => {
      const wanted = chosen === undefined ? undefined : String(chosen)
      setParams((before) => ((before.get('seq') ?? undefined) === wanted ? before : withParam(before, 'seq', wanted)), { replace: true })
    }, 400)
    return () => clearTimeout(timer)
  }, [chosen, setParams])
  const setAt = useCallback((next: number) => setChosen(next >= count ? undefined : Math.max(1, next)), [count])
  return { at, setAt }
}

function numberIn(text: string | null): number | undefined {
  const value = Number(text)
  return text !== null && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

function withParam(before: URLSearchParams, name: string, value: string | undefined): URLSearchParams {
  const next = new URLSearchParams(before)
  if (value === undefined) next.delete(name)
  else next.set(name, value)
  return next
}

/** Whether a row takes two lines, because the window is narrow. */
function useNarrow(): boolean {
  const [query] = useState(() => matchMedia('(max-width: 767px)'))
  const [narrow, setNarrow] = useState(query.matches)
  useEffect(() => {
    const onChange = () => setNarrow(query.matches)
    query.addEventListener('change', onChange)
    return () => query.removeEventListener('change', onChange)
  }, [query])
  return narrow
}
