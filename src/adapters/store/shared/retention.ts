import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import type { Entry } from '../../../ports/store.ts'
import { turnsLoggedBy } from './bundles.ts'

/** An entry with its time; one that has none of its own shares that of the entry before. */
export interface TimedEntry extends Entry {
  readonly ts: string
}

/** What decides which history may go. */
export interface RemovalLimits {
  readonly before: string
  /** Entries from here on are what loading begins with. */
  readonly frameSeq: number
  readonly visible: ReadonlySet<string>
  readonly openTurn: string | null
}

/**
 * Entries that only tell of compacted blocks. A turn goes whole or stays whole, so that a turn log is exact or gone, and what is
 * visible, open, or not about blocks at all (sources, titles, events, feedback) always stays.
 */
export function removableEntries(entries: readonly TimedEntry[], horizon: RemovalLimits): readonly number[] {
  const turns = removableTurns(entries, horizon)
  return entries.filter((entry) => isOld(entry, horizon) && isRemovable(entry.change, turns, horizon)).map(({ seq }) => seq)
}

function isRemovable(change: Change, turns: ReadonlySet<string>, { visible }: RemovalLimits): boolean {
  switch (change.type) {
    case 'turn.opened':
    case 'turn.closed':
    case 'blocks.appended':
      return [...turnsLoggedBy(change)].every((turnId) => turns.has(turnId))
    case 'response.received':
      return turns.has(change.turn_id)
    case 'blocks.inserted':
    case 'range.compacted':
    case 'timeline.imported':
      return !blocksOfChange(change).some(({ id }) => visible.has(id))
    case 'blocks.hidden':
    case 'blocks.revealed':
      return !change.ids.some((id) => visible.has(id))
    default:
      return false
  }
}

/** Turns whose every trace may go. One entry can tell of several turns: it keeps them all or none, and so do its neighbours. */
function removableTurns(entries: readonly TimedEntry[], horizon: RemovalLimits): ReadonlySet<string> {
  const traces = entries.map((entry) => ({ entry, turns: [...turnsLoggedBy(entry.change)] })).filter(({ turns }) => turns.length > 0)
  const kept = new Set(horizon.openTurn === null ? [] : [horizon.openTurn])
  for (const { entry, turns } of traces) {
    const stays = !isOld(entry, horizon) || blocksOfChange(entry.change).some(({ id }) => horizon.visible.has(id))
    if (stays) for (const turnId of turns) kept.add(turnId)
  }
  const mixed = traces.filter(({ turns }) => turns.length > 1)
  for (let before = -1; before < kept.size; ) {
    before = kept.size
    for (const { turns } of mixed) if (turns.some((turnId) => kept.has(turnId))) for (const turnId of turns) kept.add(turnId)
  }
  return new Set(traces.flatMap(({ turns }) => turns.filter((turnId) => !kept.has(turnId))))
}

const isOld = ({ seq, ts }: TimedEntry, { before, frameSeq }: RemovalLimits) => seq < frameSeq && ts < before
