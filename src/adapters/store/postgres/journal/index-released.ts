import type { ConversationRow } from '../../shared/conversation-row.ts'
import type { Conversations } from '../conversations.ts'
import type { Database } from '../database.ts'
import { INDEX_BATCH, indexAfter } from './journal.ts'

/** After this time, the server ends the transaction of a process that is frozen in it, because claims of the conversation wait for it. */
const LOCKED_IDLE_MS = 5_000

/**
 * Indexes conversations after their turns, so that most appends need not. A conversation that was claimed since its release is left out. A
 * claim that comes later waits, but a worker passes over a conversation that is locked, so `onFree` is called afterwards if there is work.
 */
export function createReleasedIndex(database: Database, { rows }: Pick<Conversations, 'rows'>, onFree: (conversationId: string) => void) {
  const running = new Set<Promise<void>>()

  async function index({ id, key, epoch, indexed_seq }: ConversationRow): Promise<void> {
    const indexed = await database.write(async (queries) => {
      // a crash of the server may lose the index together with `indexed_seq`, so the commit need not be synced to the disk
      const [locked] = await queries.all<{ last_seq: number; free_at: string | null }>(
        `UPDATE conversations SET indexed_seq = last_seq WHERE key = $1 AND epoch = $2 AND indexed_seq = $3 AND owner_id IS NULL
         AND deleted_at IS NULL AND set_config('synchronous_commit', 'off', true) = 'off' RETURNING last_seq, free_at`,
        [key, epoch, indexed_seq],
      )
      if (locked) await indexAfter(queries, id, key, indexed_seq)
      return locked
    }, LOCKED_IDLE_MS)
    if (!indexed) return
    const known = rows.get(id)
    if (known?.key === key && known.epoch === epoch) rows.set({ ...known, indexed_seq: indexed.last_seq })
    if (indexed.free_at !== null) onFree(id)
  }

  return {
    /** Starts to index a conversation that was just released, if it has enough entries that are not indexed. */
    start(row: ConversationRow): void {
      if (row.last_seq - row.indexed_seq < INDEX_BATCH) return
      const indexing = index(row)
        .catch(() => {}) // the next release tries it again
        .finally(() => running.delete(indexing))
      running.add(indexing)
    },
    async close(): Promise<void> {
      await Promise.all(running)
    },
  }
}
