import type { ParkedList } from '../../core/api/conversation.ts'
import type { Archive } from './archive.ts'

/** A page of the parked conversations of all users, in the form of the HTTP API. */
export async function parkedList(archive: Pick<Archive, 'list'>, cursor?: string): Promise<ParkedList> {
  const { conversations, next } = await archive.list({ parked: true, limit: 100, ...(cursor !== undefined && { cursor }) })
  return {
    parked: conversations.flatMap(({ conversationId: id, parked }) => (parked ? [{ id, ...parked }] : [])),
    ...(next !== undefined && { next }),
  }
}
