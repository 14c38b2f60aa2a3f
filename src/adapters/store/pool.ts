import { applyMerge, emptyPool, markUsed, removeSource, type SourcePool } from '../../core/sources/pool.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Change } from '../../core/timeline/change.ts'

const poolChanges: ReadonlySet<string> = new Set(['sources.merged', 'sources.used', 'source.removed'])
export const isPoolChange = ({ type }: Change): boolean => poolChanges.has(type)

/** The pool after these changes. Merges in a row are put in at once: one by one, each would copy the whole pool. */
export function poolAfter(changes: readonly Change[]): SourcePool {
  let pool = emptyPool
  let rows: SourceRow[] = []
  let nextSid = 1
  const settle = () => {
    pool = applyMerge(pool, { rows, next_sid: nextSid })
    rows = []
    return pool
  }
  for (const change of changes) {
    if (change.type === 'sources.merged') {
      for (const row of change.rows) rows.push(row)
      nextSid = Math.max(nextSid, change.next_sid)
    } else if (change.type === 'sources.used') pool = markUsed(settle(), change.sids)
    else if (change.type === 'source.removed') pool = removeSource(settle(), change.sid)
  }
  return settle()
}
