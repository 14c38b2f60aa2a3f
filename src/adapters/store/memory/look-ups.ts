import { type Block, callIdOf } from '../../../core/block/index.ts'
import { turnLogOf } from '../../../core/timeline/turn-log.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { firstVersionsOf, type MemoryConversation, positionAfter, visibleTimeline } from './conversation.ts'

/** The functions of the store that read the journal of a conversation. */
type LookUps = Pick<ConversationStore, 'loadVisible' | 'findByPath' | 'findByTurn' | 'findByCall' | 'readTurnLog' | 'readJournal'>

/** `find` returns a conversation by its id, and throws if the store is closed. */
export function createLookUps(find: (conversationId: string) => MemoryConversation | undefined): LookUps {
  const blocksWhere = async (conversationId: string, matches: (block: Block) => boolean): Promise<readonly Block[]> =>
    [...firstVersionsOf(find(conversationId)).values()].filter(matches)

  return {
    async loadVisible(conversationId) {
      const conversation = find(conversationId)
      return conversation && { timeline: visibleTimeline(conversation), lastSeq: conversation.info.lastSeq }
    },

    findByPath: (conversationId, path) => blocksWhere(conversationId, (block) => block.path === path),
    findByTurn: (conversationId, turnId) => blocksWhere(conversationId, (block) => block.turn_id === turnId),
    findByCall: (conversationId, callId) => blocksWhere(conversationId, (block) => callIdOf(block) === callId),

    async readTurnLog(conversationId, turnId) {
      const entries = find(conversationId)?.journal.entries() ?? []
      return turnLogOf(
        turnId,
        entries.map(({ change }) => change),
      )
    },

    async *readJournal(conversationId, { after, limit = Number.POSITIVE_INFINITY }) {
      let last = after
      for (let count = 0; count < limit; count++) {
        const entries = find(conversationId)?.journal.entries() ?? []
        const next = entries[positionAfter(entries, last)]
        if (!next) return
        last = next.seq
        yield { seq: next.seq, change: JSON.parse(JSON.stringify(next.change)) } // a copy, because the caller may modify the entry
      }
    },
  }
}
