import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'

/** How many pages of the full-text index one step writes. Between two steps, other work of the process runs. */
const PAGES_PER_STEP = 16

/**
 * Overwrites the remains of removed documents in the file. SQLite itself overwrites the rows with their texts (`secure_delete`). But their
 * words stay in the full-text index, which only marks them as deleted. So all parts of that index are merged into a new one without these
 * words. Then the write-ahead log is emptied, because it still contains the old pages.
 *
 * `removals` counts the removed rows, and how many of them are overwritten. So another process can continue, if this process ends in the
 * middle.
 */
export async function purgeRemoved(database: DatabaseSync, signal: AbortSignal): Promise<void> {
  const { made } = database.prepare('SELECT made FROM removals').get() as { readonly made: number }
  const merge = database.prepare("INSERT INTO terms (terms, rank) VALUES ('merge', ?)")
  const changes = database.prepare('SELECT total_changes() AS count')
  const count = () => (changes.get() as { readonly count: number }).count
  // The documentation of FTS5 describes this loop: the first step has a negative number, so that it merges all parts of the index, and a
  // step that makes fewer than two changes is the last one.
  for (let pages = -PAGES_PER_STEP, before = 0; ; pages = PAGES_PER_STEP) {
    if (signal.aborted) return
    before = count()
    merge.run(pages)
    if (count() - before < 2) break
    await setImmediate()
  }
  // if another process still reads the old pages, the log can not be emptied, and the next update tries again
  if (signal.aborted || !emptiesLog(database)) return
  database.prepare('UPDATE removals SET overwritten = max(overwritten, ?)').run(made)
}

/** Whether documents were removed whose words are still in the file. */
export const hasRemains = (database: DatabaseSync): boolean =>
  database.prepare('SELECT 1 FROM removals WHERE made > overwritten').get() !== undefined

function emptiesLog(database: DatabaseSync): boolean {
  const { busy } = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { readonly busy: number }
  return busy === 0
}
