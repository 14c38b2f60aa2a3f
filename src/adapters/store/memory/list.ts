import { isChildKey } from '../../../core/scope.ts'
import type { ConversationPage, ListQuery } from '../../../ports/store/list.ts'
import { compareInListOrder, cursorOf, foldTitle, hasWork, pageOf, pageSize, parseCursor } from '../shared/conversation-info.ts'
import type { MemoryConversation } from './conversation.ts'
import { infoOf } from './work.ts'

/** A page of the list. All conversations are compared, because a store in memory has few. */
export function listConversations(conversations: ReadonlyMap<string, MemoryConversation>, query: ListQuery, now: string): ConversationPage {
  const cursor = parseCursor(query.cursor)
  const size = pageSize(query)
  const wanted = foldTitle(query.search ?? '')
  const found = [...conversations]
    .map(([conversationId, conversation]) => infoOf(conversationId, conversation))
    .filter(({ conversationId }) => conversationId.startsWith(query.prefix ?? '') && !(query.plain && conversationId.includes('/')))
    .filter((info) => foldTitle(info.title ?? '').includes(wanted) && (query.open !== true || hasWork(info, now)))
    .filter(({ waits, parked }) => (query.waits !== true || waits.length > 0) && (query.parked !== true || parked !== undefined))
    .filter(({ conversationId }) => !((query.top && isChildKey(conversationId)) || (query.children && !isChildKey(conversationId))))
    .sort((a, b) => compareInListOrder(cursorOf(a), cursorOf(b)))
    .filter((info) => cursor === undefined || compareInListOrder(cursor, cursorOf(info)) < 0)
  return pageOf(found.slice(0, size + 1), size)
}
