import { type CheckoutRecord, isCheckedOutScope } from './checkout-record.ts'
import { scopeOf } from './names.ts'

/** The lineage after a turn: every scope that the turn has files in, or has checked out, is what the turn made of it; the others stay. */
export function nextLineage<T>(
  before: ReadonlyMap<string, T>,
  made: ReadonlyMap<string, T>,
  checkedOut: CheckoutRecord | undefined,
): ReadonlyMap<string, T> {
  const touched = new Set([...made.keys()].map(scopeOf))
  const untouched = [...before].filter(([rel]) => !touched.has(scopeOf(rel)) && !isCheckedOutScope(checkedOut, rel))
  return new Map([...untouched, ...made].sort(([a], [b]) => (a < b ? -1 : 1)))
}
