import type { Change } from '../timeline/change.ts'
import { isMessage } from '../timeline/inbox-event.ts'
import { readBlocks } from './read-block.ts'
import type { VisibleEvent } from './visible-event.ts'

/** The events that people see of a change, in order. Empty for a change that only affects what the model sees. */
export function readChange(change: Change): readonly VisibleEvent[] {
  switch (change.type) {
    case 'turn.opened':
      return [{ kind: 'turn.started', turnId: change.turn_id, ts: change.ts }]
    case 'turn.closed': {
      const { turn_id: turnId, ts, exit_reason: exitReason, sources_used: sourcesUsed = [] } = change
      return [{ kind: 'turn.ended', turnId, ts, exitReason, failed: failedExitReasons.has(exitReason), sourcesUsed }]
    }
    case 'turn.waiting': {
      const { turn_id: turnId, ts, waits, active } = change
      return [{ kind: 'turn.waiting', turnId, ts, waits: waits.filter(({ running }) => !running), parked: active === undefined }]
    }
    case 'turn.resumed':
      return [{ kind: 'turn.resumed', turnId: change.turn_id, ts: change.ts, waitIds: change.wait_ids }]
    case 'response.received': {
      const { turn_id: turnId, ts, iteration, role, finish_reason: finishReason, prompt, usage, error } = change
      return [{ kind: 'response', turnId, ts, iteration, role, finishReason, model: prompt?.model, usage, error }]
    }
    case 'blocks.appended':
      return readBlocks(change.blocks)
    case 'blocks.inserted':
      return [{ kind: 'history', title: undefined, events: readBlocks(change.blocks), imported: false }]
    case 'timeline.imported': {
      const { blocks, conversation_title: title } = change.timeline
      return [{ kind: 'history', title: title ?? undefined, events: readBlocks(blocks), imported: true }]
    }
    case 'range.compacted': {
      const { blocks, covered } = change
      const { turn_id: turnId = null, ts } = blocks.at(-1) ?? {}
      const summaries = readBlocks(blocks).filter(({ kind }) => kind === 'summary') // the other blocks are copies of blocks that people already see
      return [{ kind: 'compaction', turnId, ts, coveredTurns: covered.length }, ...summaries]
    }
    case 'sources.merged':
      return [{ kind: 'sources.found', ts: change.ts, rows: change.rows }]
    case 'source.removed':
      return [{ kind: 'source.removed', ts: change.ts, sid: change.sid }]
    case 'sources.used':
      return [{ kind: 'sources.cited', ts: change.ts, sids: change.sids }]
    case 'title.set':
      return [{ kind: 'title', ts: change.ts, title: change.title }]
    case 'event.accepted':
      return isMessage(change.event) ? [{ kind: 'message.accepted', message: change.event }] : []
    case 'event.folded':
      return [{ kind: 'messages.read', turnId: change.turn_id, ts: change.ts, eventIds: change.event_ids }]
    case 'blocks.hidden':
    case 'blocks.revealed':
    case 'feedback.seen':
    case 'call.repeated':
    case 'call.finished':
      return []
    default:
      return change satisfies never
  }
}

const failedExitReasons: ReadonlySet<string> = new Set(['error', 'protocol_violation', 'cancelled', 'unpriced'])
