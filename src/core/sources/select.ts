import type { SourcePool } from './pool.ts'
import type { SourceRow } from './source.ts'

export interface SelectedSources {
  /** In the order asked for. */
  readonly rows: readonly SourceRow[]
  readonly missing: readonly number[]
}

/** The rows behind a selector's sids. A missing one is reported, never an error. */
export function selectSources(pool: SourcePool, sids: Iterable<number>): SelectedSources {
  const bySid = sourcesBySid(pool)
  const asked = [...new Set(sids)]
  return {
    rows: asked.flatMap((sid) => bySid.get(sid) ?? []),
    missing: asked.filter((sid) => !bySid.has(sid)),
  }
}

/** What replacing citations needs. */
export const sourcesBySid = (pool: SourcePool): ReadonlyMap<number, SourceRow> => new Map(pool.rows.map((row) => [row.sid, row]))
