import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { type BlockGroup, blockGroups, groupNames } from '../model/block-groups.ts'
import { formatCount } from '../model/inspect/figures.ts'
import type { BlockState, RowFilter } from '../model/inspect/timeline-rows.ts'

interface FilterBarProps {
  readonly filter: RowFilter
  readonly found: number
  readonly count: number
  readonly icon: ReactNode
  onChange(next: Partial<RowFilter>): void
}

const states: readonly BlockState[] = ['shown', 'hidden', 'pruned', 'compacted', 'later']
const fieldLook = 'rounded-md border border-line bg-page px-2 py-1 text-base md:text-sm'

/** The controls that filter the blocks of the timeline. */
export function FilterBar({ filter, found, count, icon, onChange }: FilterBarProps) {
  return (
    <search className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2 text-sm">
      <label className={`flex w-full items-center gap-2 text-soft md:w-auto md:min-w-40 md:flex-1 ${fieldLook}`}>
        {icon}
        <input
          type="search"
          aria-label="Search in blocks"
          placeholder="Text, path, type or id"
          value={filter.text}
          onChange={(event) => onChange({ text: event.target.value })}
          className="min-w-0 flex-1 bg-transparent text-ink outline-none placeholder:text-soft"
        />
      </label>
      <select
        aria-label="Type"
        value={filter.group ?? ''}
        onChange={(event) => onChange({ group: blockGroups.find((group) => group === event.target.value) })}
        className={`min-w-0 flex-1 md:flex-none ${fieldLook}`}
      >
        <option value="">All types</option>
        {blockGroups.map((group: BlockGroup) => (
          <option key={group} value={group}>
            {groupNames[group]}
          </option>
        ))}
      </select>
      <select
        aria-label="State"
        value={filter.state ?? ''}
        onChange={(event) => onChange({ state: states.find((state) => state === event.target.value) })}
        className={`min-w-0 flex-1 md:flex-none ${fieldLook}`}
      >
        <option value="">All states</option>
        {states.map((state) => (
          <option key={state} value={state}>
            {state === 'shown' ? 'in the prompt' : state}
          </option>
        ))}
      </select>
      {filter.path !== undefined && (
        <button
          type="button"
          onClick={() => onChange({ path: undefined })}
          className="flex max-w-full items-center gap-1 rounded-md bg-tint px-2 py-1 font-mono text-xs text-accent"
          aria-label={`Show all paths, not only ${filter.path}`}
        >
          <span className="truncate">{filter.path}</span>
          <X size={13} />
        </button>
      )}
      <span className="ml-auto tabular-nums text-soft" data-figure="found">
        {found === count ? formatCount(count) : `${formatCount(found)} of ${formatCount(count)}`} blocks
      </span>
    </search>
  )
}
