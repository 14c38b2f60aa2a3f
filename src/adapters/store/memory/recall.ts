import type { MemoryIndex } from '../../../ports/store/memory-index.ts'
import { createMemoryIndex } from '../shared/recall/memory-index.ts'
import { runNow } from '../shared/recall/steps.ts'
import { folderOf } from '../shared/recall/tables.ts'
import { createMemoryVectors } from '../shared/recall/vectors.ts'
import { analyseEntry, indexEntries, removeSnippets } from '../shared/recall/write.ts'
import { type MemoryConversation, positionAfter } from './conversation.ts'
import { createMemoryTables } from './memory-tables.ts'

interface Indexed {
  readonly key: number
  readonly id: string
  /** The `seq` of the last entry that is indexed. */
  seq: number
}

/** The memory index, and functions that remove conversations from it. */
export interface MemoryRecall {
  readonly index: MemoryIndex
  /** Removes a conversation from the index. If it still exists, the next search indexes it again. */
  forget(conversation: MemoryConversation): void
  /** Removes the conversations that are no longer in the store. */
  forgetMissing(): void
}

/**
 * The memory index of the store in memory. It indexes new entries when it is searched, so that the index does not make appends slower. A
 * conversation that is no longer in the map of conversations is removed from the index.
 */
export function createMemoryRecall(conversations: ReadonlyMap<string, MemoryConversation>): MemoryRecall {
  const indexed = new Map<MemoryConversation, Indexed>()
  const byKey = new Map<number, Indexed>()
  const tables = createMemoryTables((key) => byKey.get(key)?.id)
  let nextKey = 1

  function forget(conversation: MemoryConversation): void {
    const known = indexed.get(conversation)
    if (!known) return
    runNow(removeSnippets(tables, folderOf(known.id), tables.snippetsOf(known.key)))
    tables.forgetConversation(known.key)
    indexed.delete(conversation)
    byKey.delete(known.key)
  }

  function forgetMissing(): void {
    for (const [conversation, { id }] of indexed) if (conversations.get(id) !== conversation) forget(conversation)
  }

  function indexNew(): void {
    forgetMissing()
    for (const [id, conversation] of conversations) {
      const known = indexed.get(conversation) ?? { key: nextKey++, id, seq: 0 }
      indexed.set(conversation, known)
      byKey.set(known.key, known)
      if (known.seq === conversation.info.lastSeq) continue // there is no new entry, so a packed journal need not be unpacked
      const all = conversation.journal.entries()
      const entries = all.slice(positionAfter(all, known.seq))
      const analysed = entries.map(({ seq, change }) => analyseEntry(seq, change))
      runNow(indexEntries(tables, { folder: folderOf(id), conversation: known.key }, analysed))
      known.seq = entries.at(-1)?.seq ?? known.seq
    }
  }

  const index: MemoryIndex = createMemoryIndex({
    read(work) {
      indexNew()
      const conversationKey = (id: string) => {
        const conversation = conversations.get(id)
        return conversation && indexed.get(conversation)?.key
      }
      return runNow(work({ ...tables, conversationKey }))
    },
    catchUp: async () => 0, // there is nothing to do, because every search indexes the new entries
    vectors: createMemoryVectors(async (work) => {
      indexNew()
      return runNow(work(tables.vectorTables))
    }),
  })
  return { index, forget, forgetMissing }
}
