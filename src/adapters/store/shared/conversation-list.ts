import { Failure } from '../../../core/failure.ts'
import { isObject, parseJson } from '../../../core/json.ts'
import { type Change, changeTime } from '../../../core/timeline/change.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../../ports/store.ts'

/** The last conversation of a page, by what the list is ordered by: activity, newest first, then name. */
export interface Cursor {
  readonly activity: string
  readonly id: string
}

export const pageSize = ({ limit }: ListQuery): number => Math.min(Math.max(Math.trunc(limit ?? 50), 1), 500)

/** `found` holds one more than the page when there is a next one. */
export function pageOf(found: readonly ConversationInfo[], size: number): ConversationPage {
  const conversations = found.slice(0, size)
  const last = conversations.at(-1)
  return { conversations, ...(found.length > size && last && { next: Buffer.from(JSON.stringify(cursorOf(last))).toString('base64url') }) }
}

export function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined) return undefined
  const value = parseJson(Buffer.from(text, 'base64url').toString())
  if (isObject(value) && typeof value.activity === 'string' && typeof value.id === 'string')
    return { activity: value.activity, id: value.id }
  throw new Failure('cursor.invalid', 'not a cursor of this list: start again without one')
}

export const cursorOf = (head: ConversationInfo): Cursor => ({ activity: head.lastActivityAt ?? '', id: head.conversationId })

/** Bytes are compared, as databases do. */
export const compareInListOrder = (a: Cursor, b: Cursor): number => compareBytes(b.activity, a.activity) || compareBytes(a.id, b.id)

const compareBytes = (a: string, b: string) => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** Titles are compared in this form: case and the way accents are written do not matter. */
export const foldTitle = (title: string): string => title.toWellFormed().normalize('NFC').toLowerCase()

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

/** A name must survive being written as UTF-8. */
export function checkConversationName(conversationId: string): void {
  if (conversationId !== '' && conversationId.isWellFormed()) return
  throw new Failure('change.invalid', `a conversation needs a name of well-formed text, not ${JSON.stringify(conversationId)}`)
}

export const conversationMissing = (conversationId: string) =>
  new Failure('conversation.missing', `there is no conversation ${conversationId}`, { details: { conversationId } })

export const conversationExists = (conversationId: string) =>
  new Failure('conversation.exists', `there is already a conversation ${conversationId}: import it under another name`, {
    details: { conversationId },
  })
