import { childMark } from '../../../core/scope.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../../ports/store.ts'
import { firstAfter, foldTitle, pageOf, pageSize, parseCursor } from '../shared/conversation-info.ts'
import { type ConversationRow, infoOf } from '../shared/conversation-row.ts'
import { isStorableId, parseConversation } from './conversations.ts'
import type { Database } from './database.ts'

/** How many titles a search compares at a time. */
const SEARCH_CHUNK = 500

/** Reads pages of the list. For each filter there is an index, so no query reads the whole table. */
export function createLister(database: Database, clock: Clock) {
  async function read(conditions: readonly Condition[], limit: number): Promise<readonly ConversationRow[]> {
    const values: unknown[] = []
    const parts = conditions.map(({ sql, values: own }) => {
      const from = values.length
      values.push(...own)
      return sql.replace(/\?(\d)/g, (_, index: string) => `$${from + Number(index)}`)
    })
    const sql = `SELECT * FROM conversations WHERE ${['deleted_at IS NULL', ...parts].join(' AND ')}
      ORDER BY last_activity_at DESC, id LIMIT ${limit}`
    return (await database.all<ConversationRow>(sql, values)).map(parseConversation)
  }

  /** Whether the prefix is a folder without subfolders, such as `tenant/project/user/`. Then `folder` is the faster filter. */
  async function isFolder(prefix: string): Promise<boolean> {
    if (!prefix.endsWith('/')) return false
    const sql = 'SELECT 1 FROM conversations WHERE deleted_at IS NULL AND folder > $1 AND folder < $2 LIMIT 1'
    return (await database.all(sql, [prefix, firstAfter(prefix) ?? ''])).length === 0
  }

  async function conditionsOf({ plain, open, waits, top, prefix = '' }: ListQuery): Promise<readonly Condition[]> {
    if (!isStorableId(prefix)) return [{ sql: 'false', values: [] }]
    const folder = plain ? '' : (await isFolder(prefix)) ? prefix : undefined
    const upper = firstAfter(prefix)
    return [
      ...(folder === undefined ? [] : [{ sql: 'folder = ?1', values: [folder] }]),
      ...(prefix === '' || folder === prefix ? [] : [{ sql: 'id >= ?1', values: [prefix] }]),
      ...(prefix === '' || folder === prefix || upper === undefined ? [] : [{ sql: 'id < ?1', values: [upper] }]),
      ...(open ? [{ sql: 'work_at <= ?1', values: [clock.now()] }] : []),
      ...(waits ? [{ sql: 'waits IS NOT NULL', values: [] }] : []),
      ...(top ? [{ sql: 'position(?1 in id) = 0', values: [childMark] }] : []),
    ]
  }

  return async (query: ListQuery): Promise<ConversationPage> => {
    const size = pageSize(query)
    const wanted = foldTitle(query.search ?? '')
    const filter = await conditionsOf(query)
    let after = parseCursor(query.cursor)
    const page = (limit: number, ...more: readonly Condition[]) =>
      read([...filter, ...more, ...(after ? [afterCondition(after)] : [])], limit)
    if (wanted === '') return pageOf((await page(size + 1)).map(infoOf), size)
    const found: ConversationInfo[] = []
    for (;;) {
      const chunk = await page(SEARCH_CHUNK, { sql: 'title IS NOT NULL', values: [] })
      for (const row of chunk) if (found.length <= size && foldTitle(row.title ?? '').includes(wanted)) found.push(infoOf(row))
      const last = chunk.at(-1)
      if (found.length > size || chunk.length < SEARCH_CHUNK || !last) return pageOf(found, size)
      after = { activity: last.last_activity_at, id: last.id }
    }
  }
}

/** A condition of a query. `?1` and `?2` in the SQL are its values. */
interface Condition {
  readonly sql: string
  readonly values: readonly unknown[]
}

const afterCondition = ({ activity, id }: { readonly activity: string; readonly id: string }): Condition => ({
  sql: 'last_activity_at <= ?1 AND (last_activity_at < ?1 OR id > ?2)',
  values: [activity, id.toWellFormed().replaceAll('\0', '')],
})
