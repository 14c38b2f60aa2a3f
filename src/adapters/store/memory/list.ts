import { isChildKey } from '../../../core/scope.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../../ports/store/list.ts'
import {
  type Cursor,
  compareInListOrder,
  cursorOf,
  foldTitle,
  hasWork,
  pageOf,
  pageSize,
  parseCursor,
} from '../shared/conversation-info.ts'
import type { MemoryConversation } from './conversation.ts'
import { infoOf } from './work.ts'

/** A page of the list. Each conversation is compared with the last conversation of the page so far, and only the page is sorted. */
export function listConversations(conversations: ReadonlyMap<string, MemoryConversation>, query: ListQuery, now: string): ConversationPage {
  const cursor = parseCursor(query.cursor)
  const size = pageSize(query)
  const matches = matcherOf(query, now)
  const page: { readonly info: ConversationInfo; readonly cursor: Cursor }[] = []
  // the newest conversations were usually added last, so the page is soon complete
  for (const [conversationId, conversation] of [...conversations].reverse()) {
    const last = page[size]
    // JavaScript compares these times in the same order as their bytes, because they are ASCII
    if (last && (conversation.info.lastActivityAt ?? '') < last.cursor.activity) continue
    const info = infoOf(conversationId, conversation)
    const at = cursorOf(info)
    if (!matches(info) || (cursor && compareInListOrder(cursor, at) >= 0)) continue
    const before = page.findLastIndex((other) => compareInListOrder(other.cursor, at) < 0)
    page.splice(before + 1, 0, { info, cursor: at })
    if (page.length > size + 1) page.pop()
  }
  return pageOf(
    page.map(({ info }) => info),
    size,
  )
}

function matcherOf(query: ListQuery, now: string): (info: ConversationInfo) => boolean {
  const { prefix = '', plain, search = '', open, waits, parked, top, children } = query
  const wanted = foldTitle(search)
  return (info) => {
    const { conversationId } = info
    if (!conversationId.startsWith(prefix) || (plain && conversationId.includes('/'))) return false
    if ((top && isChildKey(conversationId)) || (children && !isChildKey(conversationId))) return false
    if ((waits === true && info.waits.length === 0) || (parked === true && info.parked === undefined)) return false
    return (wanted === '' || foldTitle(info.title ?? '').includes(wanted)) && (open !== true || hasWork(info, now))
  }
}
