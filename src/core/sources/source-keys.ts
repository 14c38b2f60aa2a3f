import { oncePerBlock } from '../block/reader.ts'
import type { SourceRow } from './source.ts'
import { normalizeUrl } from './url.ts'

/** The key by which a known source is recognised: the physical path of a file, or the normalised URL of any other source. */
export function sourceKey(row: { readonly url?: string; readonly physical_path?: string }): string {
  return row.physical_path === undefined ? normalizeUrl(row.url ?? '') : `local:${row.physical_path}`
}

/** The key of a row, computed once per row. Parsing the URLs of all rows would take longer than the whole merge. */
export const keyOfRow = oncePerBlock((row: SourceRow) => sourceKey(row))

/**
 * The SIDs of the rows by their keys. If several rows have the same key, the map has the SID of the oldest row. The keys of the newest pool
 * of a conversation are kept, so that a merge does not read the whole pool again.
 */
export function keysOf(rows: readonly SourceRow[]): ReadonlyMap<string, number> {
  const known = knownKeys.get(rows)
  if (known) return known
  const keys = new Map<string, number>()
  addKeys(keys, rows)
  knownKeys.set(rows, keys)
  return keys
}

const knownKeys = new WeakMap<readonly SourceRow[], Map<string, number>>()

function addKeys(keys: Map<string, number>, rows: readonly SourceRow[]): void {
  for (const row of rows) {
    const key = keyOfRow(row)
    if (!keys.has(key)) keys.set(key, row.sid)
  }
}

/**
 * Moves the cached keys of a pool to the next pool. `changed` are the rows in which the two pools differ. If the keys of the older pool are
 * needed later, they are computed again.
 */
export function moveKeys(before: readonly SourceRow[], after: readonly SourceRow[], changed: readonly SourceRow[]): void {
  const keys = knownKeys.get(before)
  if (!keys || after === before) return
  knownKeys.delete(before)
  addKeys(keys, changed)
  knownKeys.set(after, keys)
}
