import { type Block, blocksOf, roughTokens, type Timeline } from 'daybook/client'
import { type BlockGroup, groupOf } from '../block-groups.ts'
import type { Entry } from './time-travel.ts'

/** A block of the conversation, whether it is still in the prompt or not. */
export interface TimelineRow {
  readonly block: Block
  readonly group: BlockGroup
  /** The entry that added the block. */
  readonly seq: number
  readonly tokens: number
  /** The size of the text in characters, or of the file in bytes. */
  readonly size: number
}

/**
 * The state of a block at a chosen time. `hidden`: the agent hid the block. `pruned`: it was hidden because it was old. `compacted`: a
 * summary replaced it. `later`: it did not exist yet.
 */
export type BlockState = 'shown' | 'hidden' | 'pruned' | 'compacted' | 'later'

/**
 * All blocks of a journal in the order of the timeline. Inserted blocks and summaries come directly after the block behind which they were
 * inserted.
 */
export function timelineRows(entries: readonly Entry[]): readonly TimelineRow[] {
  const rows: TimelineRow[] = []
  const known = new Set<string>()
  for (const { seq, change } of entries) {
    const added = blocksIn(change).filter(({ id }) => !known.has(id))
    if (added.length === 0) continue
    for (const { id } of added) known.add(id)
    const fresh = added.map((block) => rowOf(block, seq))
    const after = 'after_id' in change ? rows.findIndex(({ block }) => block.id === change.after_id) : -1
    if (after < 0) rows.push(...fresh)
    else rows.splice(after + 1, 0, ...fresh)
  }
  return rows
}

function blocksIn(change: Entry['change']): readonly Block[] {
  if (change.type === 'timeline.imported') return change.timeline.blocks
  return change.type === 'blocks.appended' || change.type === 'blocks.inserted' || change.type === 'range.compacted' ? change.blocks : []
}

function rowOf(block: Block, seq: number): TimelineRow {
  const { text = '', meta, type } = block
  const bytes = typeof meta?.size_bytes === 'number' ? meta.size_bytes : undefined
  return { block, group: groupOf(type), seq, tokens: roughTokens(text), size: text === '' ? (bytes ?? 0) : text.length }
}

/** The blocks of a timeline by their ids, in the state that they have in this timeline. */
export const visibleBlocks = (timeline: Timeline): ReadonlyMap<string, Block> =>
  new Map(blocksOf(timeline).map((block) => [block.id, block]))

export function stateOf({ block, seq }: TimelineRow, at: number, visible: ReadonlyMap<string, Block>): BlockState {
  if (seq > at) return 'later'
  const now = visible.get(block.id)
  if (!now) return 'compacted'
  if (now.meta?.hidden !== true) return 'shown'
  if (now.meta.hidden_reason === 'compaction') return 'compacted'
  return now.meta.hidden_reason === 'hide' || now.meta.hidden_reason === undefined ? 'hidden' : 'pruned'
}

/** What a person looks for in the timeline. */
export interface RowFilter {
  readonly text: string
  readonly group: BlockGroup | undefined
  readonly state: BlockState | undefined
  readonly path: string | undefined
}

/** The rows that match a filter, in order. */
export function filterRows(
  rows: readonly TimelineRow[],
  { text, group, state, path }: RowFilter,
  stateNow: (row: TimelineRow) => BlockState,
): readonly TimelineRow[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && !group && !state && path === undefined) return rows
  return rows.filter(
    (row) =>
      (!group || row.group === group) &&
      (path === undefined || row.block.path === path) &&
      (!state || stateNow(row) === state) &&
      (wanted === '' || contains(row.block, wanted)),
  )
}

const contains = ({ id, type, path, text, author, tool_id: tool }: Block, wanted: string): boolean =>
  [id, type, path, tool, author, text].some((field) => typeof field === 'string' && field.toLowerCase().includes(wanted))

/**
 * The groups whose colours the minimap shows. The list is divided into `count` pieces, and each piece gets the group with the most tokens
 * in it.
 */
export function minimapBands(rows: readonly TimelineRow[], count: number): readonly BlockGroup[] {
  const pieces = Math.min(count, rows.length)
  return Array.from({ length: pieces }, (_, index) => {
    const piece = rows.slice(Math.floor((index * rows.length) / pieces), Math.floor(((index + 1) * rows.length) / pieces))
    const tokens = new Map<BlockGroup, number>()
    for (const { group, tokens: own } of piece) tokens.set(group, (tokens.get(group) ?? 0) + own + 1)
    return [...tokens].reduce((most, next) => (next[1] > most[1] ? next : most), ['system', -1] as [BlockGroup, number])[0]
  })
}
