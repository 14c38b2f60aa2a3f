import { childMark } from '../../../core/scope.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../../ports/store/list.ts'
import { compareInListOrder, firstAfter, foldTitle, pageOf, pageSize, parseCursor } from '../shared/conversation-info.ts'
import { type ConversationRow, infoOf, LISTED_EARLIER, placeOf } from '../shared/conversation-row.ts'
import { isStorableId, parseConversation, ROW } from './conversation-columns.ts'
import type { Database } from './database.ts'
import { gramsOfSearch } from './titles.ts'

/** How many titles a search compares at a time. */
const SEARCH_CHUNK = 100

/** Reads pages of the list of conversations. For each filter there is an index, so no query reads the whole table. */
export function createLister(database: Database, clock: Clock) {
  /**
   * Reads a page from two kinds of rows: `listed` rows, and `running` rows, whose place in the indexes is older than their last entry.
   * There are only few running rows. One statement reads both kinds. With two statements, a conversation whose turn begins or ends between
   * them would be missing.
   */
  async function read({ conditions, byWork }: Filter, { after, limit }: Range): Promise<readonly ConversationRow[]> {
    const values: unknown[] = []
    const partOf = (rows: 'listed' | 'running') => {
      const activity = rows === 'running' ? 'active_at' : 'last_activity_at'
      const place = rows === 'running' ? `work_at = '' AND ${LISTED_EARLIER}` : `NOT ${LISTED_EARLIER}`
      const all = [...conditions, ...(after ? [afterCondition(activity, after)] : [])]
      const filters = all.map(({ sql, ofRunning = sql, values: own }) => {
        const from = values.length
        values.push(...own)
        return (rows === 'running' ? ofRunning : sql).replace(/\?(\d)/g, (_, index: string) => `$${from + Number(index)}`)
      })
      const matching = `SELECT ${ROW} FROM conversations WHERE ${['deleted_at IS NULL', place, ...filters].join(' AND ')}`
      // Conversations with work are found by their own index and then sorted. Otherwise the server might read all conversations in the
      // order of the list.
      const source = byWork || rows === 'running' ? `WITH matching AS MATERIALIZED (${matching}) SELECT * FROM matching` : matching
      return `(${source} ORDER BY ${activity} DESC, id LIMIT ${limit})`
    }
    const sql = `${partOf('listed')} UNION ALL ${partOf('running')}`
    // not prepared, so that the server makes a plan for these values
    const found = await database.all<ConversationRow>(sql, values, { prepare: false })
    return found
      .map(parseConversation)
      .sort((a, b) => compareInListOrder(placeOf(a), placeOf(b)))
      .slice(0, limit)
  }

  /** Whether the prefix is a folder without subfolders, such as `tenant/project/user/`. Then `folder` is the faster filter. */
  async function isFolder(prefix: string): Promise<boolean> {
    if (!prefix.endsWith('/')) return false
    const sql = 'SELECT 1 FROM conversations WHERE deleted_at IS NULL AND folder > $1 AND folder < $2 LIMIT 1'
    return (await database.all(sql, [prefix, firstAfter(prefix) ?? ''])).length === 0
  }

  async function conditionsOf({ plain, open, waits, parked, top, children, prefix = '' }: ListQuery): Promise<readonly Condition[]> {
    if (!isStorableId(prefix)) return [{ sql: 'false', values: [] }]
    const folder = plain ? '' : (await isFolder(prefix)) ? prefix : undefined
    const upper = firstAfter(prefix)
    return [
      ...(folder === undefined ? [] : [{ sql: 'folder = ?1', values: [folder] }]),
      ...(prefix === '' || folder === prefix ? [] : [{ sql: 'id >= ?1', values: [prefix] }]),
      ...(prefix === '' || folder === prefix || upper === undefined ? [] : [{ sql: 'id < ?1', values: [upper] }]),
      ...(open ? [{ sql: 'work_at <= ?1', values: [clock.now()] }] : []),
      ...(waits ? [{ sql: 'waits IS NOT NULL', values: [] }] : []),
      ...(parked ? [{ sql: 'parked_at IS NOT NULL', values: [] }] : []),
      ...(top ? [{ sql: 'position(?1 in id) = 0', values: [childMark] }] : []),
      ...(children ? [{ sql: `position(?1 in substring(id from '[^/]*$')) > 0`, values: [childMark] }] : []),
    ]
  }

  return async (query: ListQuery): Promise<ConversationPage> => {
    const size = pageSize(query)
    const wanted = foldTitle(query.search ?? '')
    const conditions = await conditionsOf(query)
    const byWork = query.open === true
    let after = parseCursor(query.cursor)
    if (wanted === '') return pageOf((await read({ conditions, byWork }, { after, limit: size + 1 })).map(infoOf), size)
    const named: Condition = {
      sql: 'key IN (SELECT conversation FROM titles WHERE grams @> ?1::int[])',
      ofRunning: '(SELECT grams FROM titles WHERE conversation = key) @> ?1::int[]',
      values: [gramsOfSearch(wanted)],
    }
    const found: ConversationInfo[] = []
    for (;;) {
      const chunk = await read({ conditions: [...conditions, named], byWork }, { after, limit: SEARCH_CHUNK })
      for (const row of chunk) if (found.length <= size && foldTitle(row.title ?? '').includes(wanted)) found.push(infoOf(row))
      const last = chunk.at(-1)
      if (found.length > size || chunk.length < SEARCH_CHUNK || !last) return pageOf(found, size)
      after = placeOf(last)
    }
  }
}

/** The conditions that select the rows of a list. With `byWork`, the conditions select conversations with work, which are few. */
interface Filter {
  readonly conditions: readonly Condition[]
  readonly byWork: boolean
}

/** The rows of a page: those after a place in the list, at most `limit`. */
interface Range {
  readonly after: { readonly activity: string; readonly id: string } | undefined
  readonly limit: number
}

/** A condition of a query. `?1` and `?2` in the SQL are its values. */
interface Condition {
  readonly sql: string
  /**
   * The condition for running conversations. It is checked for each running conversation, which is faster than an index because there are
   * few.
   */
  readonly ofRunning?: string
  readonly values: readonly unknown[]
}

const afterCondition = (column: string, { activity, id }: { readonly activity: string; readonly id: string }): Condition => ({
  sql: `${column} <= ?1 AND (${column} < ?1 OR id > ?2)`,
  values: [activity, id.toWellFormed().replaceAll('\0', '')],
})
