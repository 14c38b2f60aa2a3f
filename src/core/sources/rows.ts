import { isObject } from '../json.ts'
import { addressOf, isWebAddress, sidOf } from './source.ts'

/** A row of a search or fetch result, with its number and its URL. */
export interface ResultRow {
  readonly [field: string]: unknown
  readonly sid: number
  readonly url: string
}

/**
 * The rows of a search result (a list of rows) or of a fetch result (an object with URLs as keys). A row is an object with a `sid` and the
 * URL of a web page. All items must be objects, and at least one must be such a row. Otherwise the result is empty, because other tools may
 * use the name `sid` for something else.
 */
export function sourceRowsIn(value: unknown): readonly ResultRow[] {
  if (Array.isArray(value)) return rowsOf(value, () => undefined)
  if (!isObject(value)) return []
  const keys = Object.keys(value)
  return rowsOf(Object.values(value), (index) => keys[index])
}

function rowsOf(items: readonly unknown[], keyAt: (index: number) => string | undefined): readonly ResultRow[] {
  const rows: ResultRow[] = []
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) return []
    const sid = sidOf(item.sid)
    if (sid === undefined) continue
    const url = addressOf(item) ?? keyAt(index)
    if (isWebAddress(url)) rows.push({ ...item, sid, url })
  }
  return rows
}
