import type { ConversationRow } from '../../shared/conversation-row.ts'
import type { Conversations } from '../conversations.ts'
import type { Database } from '../database.ts'
import { INDEX_BATCH, indexAfter } from './journal.ts'

/**
 * If a process is frozen while it indexes, the server ends its transaction after this time. The time is short, because claims of the
 * conversation wait for the transaction.
 */
const LOCKED_IDLE_MS = 5_000

/**
 * Indexes the entries of a conversation after its turn has ended, so that most appends need not index. If the conversation was claimed
 * since its release, it is left out. A claim that is made while the conversation is indexed waits. But a worker that looks for work skips a
 * locked conversation. So after indexing, `onFree` is called if the conversation has work.
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
        .catch(() => {}) // the next release tries again
        .finally(() => running.delete(indexing))
      running.add(indexing)
    },
    async close(): Promise<void> {
      await Promise.all(running)
    },
  }
}
