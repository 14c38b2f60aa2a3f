import type { ConversationStore } from '../ports/store.ts'

/** Those whose last turn has no end, or where something that was said waits to become one: somebody is at it, or it was left behind. */
export async function* listUnfinished(store: ConversationStore): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const page = await store.list({ open: true, limit: 100, ...(cursor !== undefined && { cursor }) })
    for (const { conversationId } of page.conversations) yield conversationId
    cursor = page.next
  } while (cursor !== undefined)
}
