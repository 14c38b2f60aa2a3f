import { isSid, type SourceRow } from './source.ts'
import { keyOfRow } from './source-keys.ts'

/**
 * Whether the rows are sorted by SID and no two rows have the same SID. This is true for the lists that this file makes, but callers may
 * pass any list. The result is remembered for each list.
 */
export function isOrdered(rows: readonly SourceRow[]): boolean {
  if (knownAsOrdered.has(rows)) return true
  const ordered = rows.every(({ sid }, position) => isSid(sid) && sid > (rows[position - 1]?.sid ?? 0))
  if (ordered) knownAsOrdered.add(rows)
  return ordered
}

const knownAsOrdered = new WeakSet<readonly SourceRow[]>()

/** The rows sorted by SID. If several rows have the same SID, only the last one is kept. Rows without a valid SID are left out. */
export function orderedRows(rows: readonly SourceRow[]): readonly SourceRow[] {
  if (isOrdered(rows)) return rows
  const bySid = new Map(rows.filter(({ sid }) => isSid(sid)).map((row) => [row.sid, row]))
  return [...bySid.values()].sort((a, b) => a.sid - b.sid)
}

/** The row with this SID. Rows are sorted by SID. */
export function rowOf(rows: readonly SourceRow[], sid: number): SourceRow | undefined {
  const row = rows[firstPosition(rows, sid)]
  return row?.sid === sid ? row : undefined
}

/** The position of the first row whose SID is not lower than `sid`. */
function firstPosition(rows: readonly SourceRow[], sid: number): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rows[middle] as SourceRow).sid < sid) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The rows with the changed rows replaced and the new rows added, sorted by SID. `keepsKeys` is false when the map of `keysOf` for the old
 * rows can not be reused.
 */
export function replaceRows(
  rows: readonly SourceRow[],
  changed: readonly SourceRow[],
): { readonly rows: readonly SourceRow[]; readonly keepsKeys: boolean } {
  if (changed.length === 0) return { rows, keepsKeys: true }
  const merged = rows.slice()
  let keepsKeys = true
  for (const row of changed) {
    const position = firstPosition(merged, row.sid)
    const before = merged[position]
    if (before?.sid === row.sid) {
      keepsKeys &&= keyOfRow(before) === keyOfRow(row)
      merged[position] = row
    } else {
      keepsKeys &&= position === merged.length // a row that was inserted between others may now be the oldest row with its key
      merged.splice(position, 0, row)
    }
  }
  knownAsOrdered.add(merged)
  return { rows: merged, keepsKeys }
}
