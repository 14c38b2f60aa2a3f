import { Failure } from '../../../core/failure.ts'
import { isObject, parseJson } from '../../../core/json.ts'
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
