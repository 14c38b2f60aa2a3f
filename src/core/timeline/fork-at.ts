import { type Block, blobRefsOf } from '../block/block.ts'
import { Failure } from '../failure.ts'
import { applyChange } from './apply.ts'
import type { Bundle } from './bundle.ts'
import { blocksOfChange, type Change } from './change.ts'
import { bundleOfJournal } from './journal-bundle.ts'
import { emptyTimeline, type Timeline } from './timeline.ts'
import { FORKED, type TurnLog } from './turn-log.ts'

/**
 * A copy of a conversation as it was after the entry `seq`. `journal` has all entries of the conversation, and `bundle` is the conversation
 * as it is now. If a tool call had no result yet at `seq`, the copy ends earlier: at the last entry at which every call had a result. If a
 * turn is open at the end of the copy, it is closed with the exit reason `forked`. New sources of the copy get higher SIDs than all current
 * sources of the original, so that a SID never refers to different sources in the two conversations.
 */
export function forkBundleAt(bundle: Bundle, journal: Parameters<typeof forkPoint>[0], seq: number): Bundle {
  const id = bundle.conversation_id
  const last = journal.at(-1)?.seq ?? 0
  if (!Number.isSafeInteger(seq) || seq < 1 || seq > last) throw refused(id, `there is no entry ${seq}; the latest entry is ${last}`)
  if (journal.some((entry, index) => entry.seq !== index + 1 && entry.seq <= seq))
    throw refused(id, `a retention policy has removed entries before entry ${seq}, so a copy up to this entry is not possible`)
  const cut = forkPoint(journal, seq)
  const changes = journal.slice(0, cut).map(({ change }) => change)
  const timeline = changes.reduce(applyChange, emptyTimeline())
  const copy = bundleOfJournal(id, changes, timeline)
  const turn_logs = copy.turn_logs.filter(({ blocks }) => blocks.length > 0).map((log) => closedLog(log, timeline))
  const turnId = turn_logs.at(-1)?.turn_id
  if (turnId === undefined) throw refused(id, `the conversation had no message yet at entry ${seq}`)
  return {
    ...copy,
    timeline: {
      ...copy.timeline,
      conversation_title: copy.timeline.conversation_title ?? bundle.timeline.conversation_title,
      forked_from: { conversation_id: id, turn_id: turnId },
    },
    sources_pool: { ...copy.sources_pool, next_sid: Math.max(copy.sources_pool.next_sid, bundle.sources_pool.next_sid) },
    turn_logs,
    blobs: blobsOf([...copy.timeline.blocks, ...turn_logs.flatMap(({ blocks }) => blocks), ...copy.archive], bundle.blobs),
  }
}

/** How many entries a fork at the entry `seq` copies. An import is copied whole, because its last entry sets the visible state. */
export function forkPoint(journal: readonly { readonly seq: number; readonly change: Change }[], seq: number): number {
  const open = new Set<string>()
  let cut = 0
  for (const [index, { seq: at, change }] of journal.entries()) {
    if (at > seq) break
    for (const block of change.type === 'blocks.appended' ? blocksOfChange(change) : []) trackCall(open, block)
    if (change.type === 'turn.closed') open.clear()
    if (open.size === 0) cut = index + 1
  }
  return Math.max(cut, journal.findIndex(({ change }) => change.type === 'timeline.imported') + 1)
}

function trackCall(open: Set<string>, { type, call_id }: Block): void {
  if (call_id === undefined) return
  if (type === 'react.tool.call') open.add(call_id)
  else if (type === 'react.tool.result') open.delete(call_id)
}

function closedLog(log: TurnLog, { openTurn, lastTs }: Timeline): TurnLog {
  if (openTurn?.turn_id !== log.turn_id) return log
  return { ...log, end_ts: lastTs ?? log.ts ?? openTurn.ts, exit_reason: FORKED }
}

function blobsOf(blocks: readonly Block[], blobs: Bundle['blobs']): Bundle['blobs'] {
  const needed = new Set(blocks.flatMap(blobRefsOf).map(({ sha256 }) => sha256))
  return Object.fromEntries(Object.entries(blobs).filter(([sha256]) => needed.has(sha256)))
}

const refused = (conversationId: string, problem: string) => new Failure('change.invalid', `${conversationId}: ${problem}`)
