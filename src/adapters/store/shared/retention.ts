import { blocksOfChange, type Change } from '../../../core/timeline/change.ts'
import type { Entry } from '../../../ports/store.ts'
import { turnsLoggedBy } from './bundles.ts'

/** An entry with its time. An entry without its own time has the time of the entry before it. */
export interface TimedEntry extends Entry {
  readonly ts: string
}

/** What retention must not remove from a journal. */
interface RemovalLimits {
  /** Entries from this time on stay. */
  readonly before: string
  /** The `seq` of the latest frame, where loading starts. This entry and later ones stay. */
  readonly frameSeq: number
  /** The ids of the visible blocks. Their entries stay. */
  readonly visible: ReadonlySet<string>
  readonly openTurn: string | null
}

/**
 * The `seq` of every entry that retention removes: old entries about compacted blocks only. All entries of a turn are removed or none, so
 * that a turn log is complete or gone. Entries of visible blocks and of the open turn stay. Entries about sources, titles, events and
 * feedback stay too.
 */
export function removableEntries(entries: readonly TimedEntry[], limits: RemovalLimits): readonly number[] {
  const turns = removableTurns(entries, limits)
  return entries.filter((entry) => isOld(entry, limits) && isRemovable(entry.change, turns, limits)).map(({ seq }) => seq)
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

/** The turns of which every entry can be removed. If an entry belongs to several turns, all of these turns are removed or none. */
function removableTurns(entries: readonly TimedEntry[], limits: RemovalLimits): ReadonlySet<string> {
  const logged = entries.map((entry) => ({ entry, turns: [...turnsLoggedBy(entry.change)] })).filter(({ turns }) => turns.length > 0)
  const kept = new Set(limits.openTurn === null ? [] : [limits.openTurn])
  for (const { entry, turns } of logged) {
    const mustStay = !isOld(entry, limits) || blocksOfChange(entry.change).some(({ id }) => limits.visible.has(id))
    if (mustStay) for (const turnId of turns) kept.add(turnId)
  }
  const shared = logged.filter(({ turns }) => turns.length > 1)
  for (let before = -1; before < kept.size; ) {
    before = kept.size
    for (const { turns } of shared) if (turns.some((turnId) => kept.has(turnId))) for (const turnId of turns) kept.add(turnId)
  }
  return new Set(logged.flatMap(({ turns }) => turns.filter((turnId) => !kept.has(turnId))))
}

const isOld = ({ seq, ts }: TimedEntry, { before, frameSeq }: RemovalLimits) => seq < frameSeq && ts < before
