import { setImmediate as nextTask } from 'node:timers/promises'
import { childMark } from '../../../core/scope.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../../ports/store/list.ts'
import { compareInListOrder, firstAfter, foldTitle, pageOf, pageSize, parseCursor } from '../shared/conversation-info.ts'
import { type ConversationRow, infoOf, LISTED_EARLIER, placeOf } from '../shared/conversation-row.ts'
import type { Database, Statement } from './database.ts'

/** How many titles a search compares before other work of the process may run. */
const SEARCH_CHUNK = 500

/** The conditions of a list query. They decide which SQL index the query uses. */
export interface ListFilter extends Pick<ListQuery, 'plain' | 'waits' | 'parked' | 'top' | 'children'> {
  /** Only conversations with work at this time. */
  readonly workAt?: string
  /**
   * Only ids directly in this folder, such as `tenant/project/user/`. Such an id has no slash after the folder. `''` selects ids without a
   * slash.
   */
  readonly folder?: string
  /** Only ids that begin with this text. The matching rows have to be sorted, so `folder` is faster. */
  readonly prefix?: string
  readonly after?: { readonly activity: string; readonly id: string }
}

/**
 * The SQL that reads a page of the list, and its values. The caller adds the last value, the maximum number of rows. For each filter there
 * is an SQL index, so no query reads the whole table.
 *
 *   listed    the rows whose place in the indexes is current: all rows except those of some running turns
 *   running   the rows of these running turns. They are few, and are found by the index of conversations with work
 */
export function listQuery(
  { folder, prefix, workAt, waits, parked, top, children, after }: ListFilter,
  rows: 'listed' | 'running' = 'listed',
  columns = '*',
): { readonly sql: string; readonly values: readonly string[] } {
  const upper = prefix === undefined ? undefined : firstAfter(prefix)
  const activity = rows === 'running' ? 'active_at' : 'last_activity_at'
  const conditions = [
    'deleted_at IS NULL',
    rows === 'running' ? `work_at = '' AND ${LISTED_EARLIER}` : `NOT ${LISTED_EARLIER}`,
    ...(folder === undefined ? [] : ['folder = ?']),
    ...(prefix === undefined ? [] : ['id >= ?']),
    ...(upper === undefined ? [] : ['id < ?']),
    ...(workAt === undefined ? [] : ['work_at <= ?']),
    ...(waits ? ['waits IS NOT NULL'] : []),
    ...(parked ? ['parked_at IS NOT NULL'] : []),
    ...(top ? [`instr(id, '${childMark}') = 0`] : []),
    ...(children ? [`instr(substr(id, length(folder) + 1), '${childMark}') > 0`] : []),
    ...(after ? [`${activity} <= ?`, `(${activity} < ? OR id > ?)`] : []),
  ]
  const values = [folder, prefix, upper, workAt, ...(after ? [after.activity, after.activity, after.id] : [])].filter(
    (value) => value !== undefined,
  )
  const byWork = workAt !== undefined || rows === 'running'
  return {
    // Conversations with work are found by their own index and then sorted. There are few of them, even if thousands of turns wait.
    sql: `SELECT ${columns} FROM conversations${byWork ? ' INDEXED BY conversations_with_work' : ''}
      WHERE ${conditions.join(' AND ')} ORDER BY ${activity} DESC, id LIMIT ?`,
    values,
  }
}

export function createLister(database: Database, clock: Clock) {
  const statements = new Map<string, Statement<ConversationRow>>()
  const byId = database.readStatement<ConversationRow>('SELECT * FROM conversations WHERE id = ? AND deleted_at IS NULL')
  const nested = database.readStatement('SELECT 1 FROM conversations WHERE deleted_at IS NULL AND folder > ? AND folder < ? LIMIT 1')

  function query({ sql, values }: ReturnType<typeof listQuery>, limit: number): readonly ConversationRow[] {
    const statement = statements.get(sql) ?? database.readStatement<ConversationRow>(sql)
    statements.set(sql, statement) // cached, so that each SQL text is prepared once
    return statement.all(...values, limit)
  }

  function read(filter: ListFilter, limit: number, columns?: string): readonly ConversationRow[] {
    const rowsOf = (rows: 'listed' | 'running') => query(listQuery(filter, rows, columns), limit)
    const { listed, running } = database.read(() => ({ listed: rowsOf('listed'), running: rowsOf('running') }))
    if (running.length === 0) return listed
    return [...listed, ...running].sort((a, b) => compareInListOrder(placeOf(a), placeOf(b))).slice(0, limit)
  }

  /** Whether the prefix is a folder without subfolders, such as `tenant/project/user/`. Then `folder` is the faster filter. */
  const isFolder = (prefix: string) => prefix.endsWith('/') && !database.read(() => nested.get(prefix, firstAfter(prefix) ?? ''))

  function filterOf({ plain, open, waits, parked, top, children, prefix = '' }: ListQuery): ListFilter {
    if (!prefix.isWellFormed()) return { folder: prefix } // no id begins with half of a surrogate pair
    const place = plain ? { folder: '' } : isFolder(prefix) ? { folder: prefix } : {}
    const begin = prefix === '' || place.folder === prefix ? {} : { prefix }
    return {
      ...place,
      ...begin,
      ...(open && { workAt: clock.now() }),
      ...(waits && { waits }),
      ...(parked && { parked }),
      ...(top && { top }),
      ...(children && { children }),
    }
  }

  return async (query: ListQuery): Promise<ConversationPage> => {
    const size = pageSize(query)
    const wanted = foldTitle(query.search ?? '')
    const filter = filterOf(query)
    let after = parseCursor(query.cursor)
    const page = (limit: number, columns?: string) => read({ ...filter, ...(after && { after }) }, limit, columns)
    if (wanted === '') return pageOf(page(size + 1).map(infoOf), size)
    const found: ConversationInfo[] = []
    for (;;) {
      const chunk = page(SEARCH_CHUNK, 'id, title, last_activity_at, active_at, open_turn, waits')
      for (const { id, title } of chunk) {
        if (title === null || found.length > size || !foldTitle(title).includes(wanted)) continue
        const row = database.read(() => byId.get(id)) // undefined if the conversation was deleted meanwhile
        if (row) found.push(infoOf(row))
      }
      const last = chunk.at(-1)
      if (found.length > size || chunk.length < SEARCH_CHUNK || !last) return pageOf(found, size)
      after = placeOf(last)
      await nextTask()
    }
  }
}
