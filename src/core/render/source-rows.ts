import { isObject, type Json } from '../json.ts'
import { sourcesPath } from '../path/build.ts'
import { isSid } from '../sources/source.ts'
import type { Caps } from './caps.ts'
import { scrubBase64 } from './redact.ts'
import { omitHostingFields } from './secrets.ts'
import { joinLines, oneLine } from './text.ts'

/** The sids of a search result (a list of rows) or a fetch result (rows by URL); none for any other payload. */
export function rowSids(payload: Json | undefined): readonly number[] {
  const rows = Array.isArray(payload) ? payload : isObject(payload) ? Object.values(payload) : undefined
  if (rows === undefined) return noSids
  const sids: number[] = []
  for (const row of rows) {
    if (!isObject(row) || !isSid(row.sid)) return []
    sids.push(row.sid)
  }
  return sids
}

const noSids: readonly number[] = []

/** Rows are addressed by the sids that are really there, and stay valid JSON: what does not fit is left out by whole rows. */
export function renderSourceRows(payload: Json, sids: readonly number[], limits: Caps): string {
  const [shown, count] = rowsThatFit(payload, limits)
  return joinLines(
    `logical_path: ${oneLine(sourcesPath(sids), limits.path)}`,
    'mime: application/json',
    count < sids.length ? `rows: ${count} of ${sids.length} shown` : undefined,
    'payload:',
    shown,
  )
}

function rowsThatFit(payload: Json, limits: Caps): readonly [text: string, count: number] {
  const entries: readonly (readonly [string | undefined, Json])[] = Array.isArray(payload)
    ? payload.map((row) => [undefined, row] as const)
    : Object.entries(payload as { readonly [url: string]: Json }) // rowSids found rows in it
  const kept: string[] = []
  let size = 2
  for (const [url, row] of entries) {
    const text = `${url === undefined ? '' : `${JSON.stringify(url)}:`}${scrubBase64(JSON.stringify(row, omitHostingFields))}`
    size += text.length + 1
    if (size > limits.sourceRows) break
    kept.push(text)
  }
  const body = kept.join(',')
  return [Array.isArray(payload) ? `[${body}]` : `{${body}}`, kept.length]
}
