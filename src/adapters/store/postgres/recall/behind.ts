import type { MemoryScope } from '../../../../ports/store/memory-index.ts'
import { folderOfScope } from '../../shared/recall/memory-index.ts'
import { isStorableId } from '../conversation-columns.ts'
import type { Database, Queries } from '../database.ts'

/** How many conversations are read from `memory_behind` together. */
const PAGE = 500

interface BehindRow {
  readonly folder: string
  readonly conversation: number
  /** Null if the conversation is not behind: its running turn has no new entries, or its deletion has begun. */
  readonly id: string | null
}

/** Conversations of `memory_behind`. Their ids and positions are looked up one by one, so the plan does not depend on statistics. */
const behindAfter = (condition: string): string => `
  SELECT folder, conversation, place.id FROM (
    SELECT DISTINCT folder, conversation FROM memory_behind WHERE ${condition} ORDER BY folder, conversation LIMIT ${PAGE}
  ) AS noted LEFT JOIN LATERAL (
    SELECT id FROM conversations WHERE key = noted.conversation AND deleted_at IS NULL
    AND last_seq > coalesce((SELECT seq FROM memory_progress WHERE memory_progress.conversation = noted.conversation), 0) LIMIT 1
  ) AS place ON true ORDER BY folder, conversation`

const IN_FOLDER = behindAfter('folder = $1 AND conversation > $2')
const IN_ALL = behindAfter('(folder, conversation) > ($1, $2)')

/** The ids of the conversations with entries that are not in the memory index, in pages. */
export async function* findBehind(database: Pick<Database, 'all'>, within: MemoryScope | undefined): AsyncGenerator<readonly string[]> {
  if (within !== undefined && 'conversationId' in within) {
    if (isStorableId(within.conversationId)) yield [within.conversationId] // its position says whether it is behind
    return
  }
  const folder = within && folderOfScope(within)
  if (folder !== undefined && !isStorableId(folder)) return
  let last: Pick<BehindRow, 'folder' | 'conversation'> = { folder: folder ?? '', conversation: 0 }
  for (;;) {
    const rows = await database.all<BehindRow>(folder === undefined ? IN_ALL : IN_FOLDER, [last.folder, last.conversation])
    const ids = rows.flatMap(({ id }) => (id === null ? [] : [id]))
    // processes that start at the same time catch up in different orders, so that they seldom read the same conversation
    if (ids.length > 0) yield folder === undefined ? shuffled(ids) : ids
    const end = rows.at(-1)
    if (!end || rows.length < PAGE) return
    last = end
  }
}

const IS_BEHIND = 'last_seq > coalesce((SELECT seq FROM memory_progress WHERE memory_progress.conversation = key), 0)'

/** Whether the memory index lacks entries of these conversations. */
export async function isBehind({ all }: Pick<Queries, 'all'>, within: MemoryScope): Promise<boolean> {
  const name = 'conversationId' in within ? within.conversationId : folderOfScope(within)
  if (!isStorableId(name)) return false
  const sql =
    'conversationId' in within
      ? `SELECT 1 FROM conversations WHERE id = $1 AND deleted_at IS NULL AND ${IS_BEHIND}`
      : `SELECT 1 FROM (SELECT DISTINCT conversation FROM memory_behind WHERE folder = $1) AS noted,
         LATERAL (SELECT 1 FROM conversations WHERE key = noted.conversation AND deleted_at IS NULL AND ${IS_BEHIND} LIMIT 1) AS place LIMIT 1`
  return (await all(sql, [name])).length > 0
}

const shuffled = (ids: readonly string[]): readonly string[] =>
  ids
    .map((id) => ({ id, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ id }) => id)
