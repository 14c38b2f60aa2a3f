import type { Block } from '../../../../core/block/index.ts'
import { blocksOfChange, type Change } from '../../../../core/timeline/change.ts'
import { turnsLoggedBy } from '../../../../core/timeline/journal-bundle.ts'
import type { Entry } from '../../../../ports/store.ts'

/** An entry with its time. A change without a time gets the time of the entry before it. */
export interface TimedEntry extends Entry {
  readonly ts: string
}

/** Limits of what retention may remove from a journal. */
interface RemovalLimits {
  /** Only entries older than this time may be removed. */
  readonly before: string
  /** The `seq` of the latest frame. Loading starts with this entry, so this entry and all later ones stay. */
  readonly frameSeq: number
  /** The ids of the visible blocks. The entries that contain these blocks stay. */
  readonly visible: ReadonlySet<string>
  readonly openTurn: string | null
}

/**
 * The `seq` of every entry that retention removes. These are old entries that only concern compacted blocks. Either all entries of a turn
 * are removed or none, so that a turn log is complete or missing. These entries stay:
 *
 * - entries with visible blocks, and entries of the open turn
 * - entries of turns that stored a version of their files. Later versions list only what changed, and refer to the earlier versions
 * - entries about sources, titles, events and feedback
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
    case 'call.repeated':
    case 'turn.waiting':
    case 'turn.resumed':
    case 'call.finished':
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

/** The turns whose entries can all be removed. If one entry belongs to several turns, all of these turns are removed or none. */
function removableTurns(entries: readonly TimedEntry[], limits: RemovalLimits): ReadonlySet<string> {
  const logged = entries.map((entry) => ({ entry, turns: [...turnsLoggedBy(entry.change)] })).filter(({ turns }) => turns.length > 0)
  const kept = new Set(limits.openTurn === null ? [] : [limits.openTurn])
  for (const { entry, turns } of logged) {
    const mustStay = !isOld(entry, limits) || blocksOfChange(entry.change).some((block) => limits.visible.has(block.id) || isVersion(block))
    if (mustStay) for (const turnId of turns) kept.add(turnId)
  }
  const shared = logged.filter(({ turns }) => turns.length > 1)
  for (let before = -1; before < kept.size; ) {
    before = kept.size
    for (const { turns } of shared) if (turns.some((turnId) => kept.has(turnId))) for (const turnId of turns) kept.add(turnId)
  }
  return new Set(logged.flatMap(({ turns }) => turns.filter((turnId) => !kept.has(turnId))))
}

const isVersion = ({ type }: Pick<Block, 'type'>) => type === 'react.workspace.publish'

const isOld = ({ seq, ts }: TimedEntry, { before, frameSeq }: RemovalLimits) => seq < frameSeq && ts < before

/**
 * A copy of the change with only the fields that retention reads. It leaves out texts, so that the texts of a long journal are never all in
 * memory.
 */
export function outlineOf(change: Change): Change {
  const blocks = blocksOfChange(change).map(({ id, turn_id, type }) => ({ id, turn_id, type }))
  const { type } = change
  const turnId = 'turn_id' in change ? change.turn_id : null
  return { type, turn_id: turnId, ids: 'ids' in change ? change.ids : [], blocks, timeline: { blocks } } as unknown as Change
}
