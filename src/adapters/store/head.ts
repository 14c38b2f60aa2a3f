import { type Change, changeTime } from '../../core/timeline/change.ts'
import type { ConversationInfo } from '../../ports/store.ts'

/** What a list shows of a conversation: facts of its timeline, kept beside it so that listing loads nothing. */
export type InfoFields = Omit<ConversationInfo, 'conversationId'>

export const emptyInfo: InfoFields = { title: null, startedAt: null, lastActivityAt: null, lastSeq: 0, openTurn: null, waiting: [] }

/** Somebody has to go on with it. */
export const isUnfinished = ({ openTurn, waiting }: InfoFields): boolean => openTurn !== null || waiting.length > 0

export function infoAfter(head: InfoFields, changes: readonly Change[]): InfoFields {
  const next: MutableInfo = { ...head }
  for (const change of changes) applyToInfo(next, change)
  return next
}

/** One that was just made and that nobody else holds yet. */
type MutableInfo = { -readonly [Field in keyof InfoFields]: InfoFields[Field] }

function applyToInfo(head: MutableInfo, change: Change): void {
  const ts = changeTime(change)
  head.startedAt ??= ts ?? null
  head.lastActivityAt = ts ?? head.lastActivityAt
  head.lastSeq += 1
  switch (change.type) {
    case 'title.set':
      head.title = change.title.toWellFormed()
      break
    case 'turn.opened':
      head.openTurn = change.turn_id
      break
    case 'turn.closed':
      if (change.turn_id === head.openTurn) head.openTurn = null
      break
    case 'event.accepted': {
      const { event_id: id, kind } = change.event
      if (kind === 'followup' && !head.waiting.includes(id)) head.waiting = [...head.waiting, id]
      break
    }
    case 'event.folded':
      if (head.waiting.length > 0) head.waiting = head.waiting.filter((id) => !change.event_ids.includes(id))
      break
    case 'timeline.imported': {
      const { conversation_title: title, conversation_started_at: started, ts: last } = change.timeline
      head.title = title?.toWellFormed() ?? null
      head.startedAt = started ?? last
      head.lastActivityAt = last
      head.openTurn = null
      head.waiting = []
    }
  }
}
