import { type Change, changeTime } from '../../core/timeline/change.ts'
import type { ConversationHead } from '../../ports/store.ts'

/** What a list shows of a conversation: facts of its timeline, kept beside it so that listing loads nothing. */
export type Head = Omit<ConversationHead, 'conversationId'>

export const emptyHead: Head = { title: null, startedAt: null, lastActivityAt: null, lastSeq: 0, openTurn: null, waiting: [] }

/** Somebody has to go on with it. */
export const isUnfinished = ({ openTurn, waiting }: Head): boolean => openTurn !== null || waiting.length > 0

export function headAfter(head: Head, changes: readonly Change[]): Head {
  return changes.reduce(advance, head)
}

function advance(head: Head, change: Change): Head {
  const ts = changeTime(change)
  const next: Head = {
    title: head.title,
    startedAt: head.startedAt ?? ts ?? null,
    lastActivityAt: ts ?? head.lastActivityAt,
    lastSeq: head.lastSeq + 1,
    openTurn: head.openTurn,
    waiting: head.waiting,
  }
  switch (change.type) {
    case 'title.set':
      return { ...next, title: change.title.toWellFormed() }
    case 'turn.opened':
      return { ...next, openTurn: change.turn_id }
    case 'turn.closed':
      return change.turn_id === head.openTurn ? { ...next, openTurn: null } : next
    case 'event.accepted': {
      const { event_id: id, kind } = change.event
      return kind !== 'followup' || head.waiting.includes(id) ? next : { ...next, waiting: [...head.waiting, id] }
    }
    case 'event.folded':
      return head.waiting.length === 0 ? next : { ...next, waiting: head.waiting.filter((id) => !change.event_ids.includes(id)) }
    case 'timeline.imported': {
      const { conversation_title: title, conversation_started_at: started, ts: last } = change.timeline
      return {
        title: title?.toWellFormed() ?? null,
        startedAt: started ?? last,
        lastActivityAt: last,
        lastSeq: next.lastSeq,
        openTurn: null,
        waiting: [],
      }
    }
    default:
      return next
  }
}
