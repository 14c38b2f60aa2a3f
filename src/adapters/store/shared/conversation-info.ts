import { Failure } from '../../../core/failure.ts'
import { isObject, parseJson } from '../../../core/json.ts'
import { type Change, changeTime } from '../../../core/timeline/change.ts'
import type { InboxEvent } from '../../../core/timeline/inbox-event.ts'
import { firstExpiry, waitsAfter } from '../../../core/timeline/waits.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../../ports/store/list.ts'

/*
 * The info of a conversation is the data that a list of conversations shows, such as title and time. A store saves it with each append, so
 * that listing reads no journal. This file computes the info, the pages and cursors of a list, and checks the names of conversations.
 */

/** The info of a conversation, without its id. */
export type InfoFields = Omit<ConversationInfo, 'conversationId'>

export const emptyInfo: InfoFields = {
  title: null,
  startedAt: null,
  lastActivityAt: null,
  lastSeq: 0,
  openTurn: null,
  waiting: [],
  waits: [],
  dueAt: null,
  offers: 0,
}

/** Whether a turn is open, a followup waits, or an offer was not taken. Retention must not delete such a conversation. */
export const isUnfinished = ({ openTurn, waiting, offers }: InfoFields): boolean => openTurn !== null || waiting.length > 0 || offers > 0

/** Whether there is work that can be done at the time `now`. A turn that waits has no work until something is due or was offered. */
export const hasWork = (info: InfoFields, now: string): boolean =>
  info.waits.length === 0 || info.offers > 0 ? isUnfinished(info) : info.dueAt !== null && info.dueAt <= now

/** The info after these changes were appended. Offers are not part of the journal, so their number does not change. */
export function infoAfter(info: InfoFields, changes: readonly Change[]): InfoFields {
  const next: MutableInfo = { ...info }
  for (const change of changes) applyToInfo(next, change)
  return next
}

/** Whether a change may have given a conversation work, or may have changed the time from which it can be claimed. */
export const hasOtherWork = (before: InfoFields, after: InfoFields): boolean =>
  before.openTurn !== after.openTurn || before.waiting !== after.waiting || before.waits !== after.waits || before.dueAt !== after.dueAt

type MutableInfo = { -readonly [Field in keyof InfoFields]: InfoFields[Field] }

function applyToInfo(info: MutableInfo, change: Change): void {
  const ts = changeTime(change)
  info.startedAt ??= ts ?? null
  info.lastActivityAt = ts ?? info.lastActivityAt
  info.lastSeq += 1
  switch (change.type) {
    case 'title.set':
      info.title = change.title.toWellFormed()
      break
    case 'turn.opened':
      info.openTurn = change.turn_id
      endWaits(info)
      break
    case 'turn.closed':
      if (change.turn_id !== info.openTurn) break
      info.openTurn = null
      endWaits(info)
      break
    case 'turn.waiting':
    case 'turn.resumed':
      if (change.turn_id !== info.openTurn) break
      info.waits = waitsAfter(info.waits, change)
      if (info.waits.length === 0) info.dueAt = null
      else info.dueAt = change.type === 'turn.resumed' || change.active ? change.ts : (firstExpiry(info.waits) ?? null)
      break
    case 'event.accepted': {
      const { event_id: id, kind, ts: at } = change.event
      if (continuesTurn(kind, info) && (info.dueAt === null || at < info.dueAt)) info.dueAt = at
      if (kind === 'followup' && !info.waiting.includes(id)) info.waiting = [...info.waiting, id]
      break
    }
    case 'event.folded':
      if (info.waiting.length > 0) info.waiting = info.waiting.filter((id) => !change.event_ids.includes(id))
      break
    case 'timeline.imported': {
      const { conversation_title: title, conversation_started_at: started, ts: last } = change.timeline
      info.title = title?.toWellFormed() ?? null
      info.startedAt = started ?? last
      info.lastActivityAt = last
      info.openTurn = null
      info.waiting = []
      endWaits(info)
    }
  }
}

function endWaits(info: MutableInfo): void {
  if (info.waits.length > 0) info.waits = []
  info.dueAt = null
}

/** Whether an event makes a waiting turn continue. A followup does so only if the turn waits for nothing but late results. */
function continuesTurn(kind: InboxEvent['kind'], { waits }: InfoFields): boolean {
  if (kind === 'followup') return waits.length > 0 && waits.every((wait) => wait.kind === 'later')
  return waits.length > 0 && (kind === 'decision' || kind === 'completion' || kind === 'steer')
}

/** The position of a conversation in the list. The list is sorted by last activity, newest first. Equal times are sorted by id. */
export interface Cursor {
  readonly activity: string
  readonly id: string
}

export const pageSize = ({ limit }: ListQuery): number => Math.min(Math.max(Math.trunc(limit ?? 50), 1), 500)

/** A page of at most `size` conversations. If there is a next page, `found` must contain one conversation more than `size`. */
export function pageOf(found: readonly ConversationInfo[], size: number): ConversationPage {
  const conversations = found.slice(0, size)
  const last = conversations.at(-1)
  return { conversations, ...(found.length > size && last && { next: Buffer.from(JSON.stringify(cursorOf(last))).toString('base64url') }) }
}

/** Parses the text that `pageOf` returned as `next`. Other text throws `cursor.invalid`. */
export function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined) return undefined
  const value = parseJson(Buffer.from(text, 'base64url').toString())
  const { activity, id } = isObject(value) ? value : {}
  // PostgreSQL can not compare a text with the character U+0000, and no time has it
  if (typeof activity === 'string' && typeof id === 'string' && activity.isWellFormed() && !activity.includes('\0')) return { activity, id }
  throw new Failure('cursor.invalid', 'the cursor is not from this list: start again without a cursor')
}

export const cursorOf = (info: ConversationInfo): Cursor => ({ activity: info.lastActivityAt ?? '', id: info.conversationId })

/** Compares two positions in the list. Text is compared by its UTF-8 bytes, because SQLite compares text in this way. */
export const compareInListOrder = (a: Cursor, b: Cursor): number => compareBytes(b.activity, a.activity) || compareBytes(a.id, b.id)

export const compareBytes = (a: string, b: string) => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)))

/** The first text after all texts that begin with `prefix`, in the order of UTF-8 bytes. Undefined when no such text exists. */
export function firstAfter(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number) // a character has at least one code point
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1) // 0xd800 to 0xdfff are surrogates
}

/** The form of a title that a search compares. It is in lower case, and letters with accents are in Unicode form NFC. */
export const foldTitle = (title: string): string => title.toWellFormed().normalize('NFC').toLowerCase()

/** Throws `change.invalid` for a name that is empty or contains half a surrogate pair, which UTF-8 can not encode. */
export function checkConversationName(conversationId: string): void {
  if (conversationId !== '' && conversationId.isWellFormed()) return
  throw new Failure(
    'change.invalid',
    `the name of a conversation must be well-formed text and not empty, but it is ${JSON.stringify(conversationId)}`,
  )
}

export const conversationMissing = (conversationId: string) =>
  new Failure('conversation.missing', `there is no conversation ${conversationId}`, { details: { conversationId } })

export const conversationExists = (conversationId: string) =>
  new Failure('conversation.exists', `there is already a conversation ${conversationId}: import it under another name`, {
    details: { conversationId },
  })

/** The error for a new conversation with the id of a conversation whose deletion is not finished. */
export const beingDeleted = (conversationId: string, expiresAt: string) =>
  new Failure('conversation.busy', `conversation ${conversationId} is being deleted: try again when its deletion is finished`, {
    details: { conversationId, expiresAt },
  })
