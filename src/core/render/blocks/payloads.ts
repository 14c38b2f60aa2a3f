// Two payloads of tool results have a form of their own: the status of `react.read`, and rows of the source pool.

import { isObject, type Json } from '../../json.ts'
import { sourcesPath } from '../../path/build.ts'
import { isSid } from '../../sources/source.ts'
import type { Caps } from '../caps.ts'
import { omitHostingFields, scrubBase64 } from '../scrub.ts'
import { joinLines, oneLine } from '../text.ts'

/** The payload of the first block of every `react.read`. It says which paths were found, are missing, or are visible already. */
interface ReadStatus {
  readonly paths: readonly unknown[]
  readonly total_tokens: unknown
  readonly [key: string]: unknown
}

export function isReadStatus(payload: unknown): payload is ReadStatus {
  return isObject(payload) && Array.isArray(payload.paths) && payload.total_tokens !== undefined
}

export function renderReadStatus(status: ReadStatus, limits: Caps): string {
  const visible = new Set(stringsIn(status.exists_in_visible_context))
  const rows = status.paths.slice(0, limits.readPaths).flatMap((row) => rowLine(row, visible, limits) ?? [])
  const more = status.paths.length - limits.readPaths
  const missing = [...stringsIn(status.missing), ...stringsIn(status.missing_skills)]
  const alreadyVisible = visibleLines(visible, status.visible_context_refs, limits)
  return joinLines(
    'paths:',
    ...rows,
    more > 0 ? `... ${more} more` : undefined,
    missing.length === 0 ? undefined : `missing: ${pathList(missing, limits)}`,
    alreadyVisible.length === 0 ? undefined : 'already visible:',
    ...alreadyVisible,
  )
}

const stringsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [])
const shortPath = (path: string, limits: Caps) => oneLine(path, Math.floor(limits.path / 8)) // a result lists many paths, so each of them is cut short

function rowLine(row: unknown, visible: ReadonlySet<string>, limits: Caps): string | undefined {
  if (typeof row === 'string') return `- ${shortPath(row, limits)}`
  if (!isObject(row) || typeof row.path !== 'string') return undefined
  const status = typeof row.status === 'string' ? row.status : undefined
  if (visible.has(row.path) || status === 'exists_in_visible_context') return `- ${shortPath(row.path, limits)} (already visible)`
  const facts = [
    typeof row.tokens === 'number' ? `tokens=${row.tokens}` : undefined,
    status === undefined ? undefined : `status=${oneLine(status, 60)}`,
    status === undefined && row.missing === true ? 'status=missing' : undefined,
  ].filter((fact) => fact !== undefined)
  return `- ${shortPath(row.path, limits)}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`
}

function pathList(paths: readonly string[], limits: Caps): string {
  const more = paths.length - limits.readPaths
  const shown = paths.slice(0, limits.readPaths).map((path) => shortPath(path, limits))
  return `[${shown.join(', ')}${more > 0 ? `, … ${more} more` : ''}]`
}

/**
 * The lines for paths that are already visible. `refs` says where each path is visible. It is an object with paths as keys, or a list
 * of rows with a path and a location.
 */
function visibleLines(visible: ReadonlySet<string>, refs: unknown, limits: Caps): readonly string[] {
  const locationOf = (path: string): string | undefined => {
    if (isObject(refs)) return stringsIn([refs[path]])[0] ?? stringsIn(refs[path])[0]
    const row = Array.isArray(refs) ? refs.find((item) => isObject(item) && item.path === path) : undefined
    return isObject(row) ? stringsIn([row.visible_at, row.ref, row.block])[0] : undefined
  }
  return [...visible].slice(0, limits.readPaths).map((path) => {
    const location = locationOf(path)
    return `- ${shortPath(path, limits)}${location === undefined ? '' : ` at ${shortPath(location, limits)}`}`
  })
}

/** The sids of a search result (a list of rows) or a fetch result (an object with URLs as keys). Empty for any other payload. */
export function rowSids(payload: Json | undefined): readonly number[] {
  const rows = Array.isArray(payload) ? payload : isObject(payload) ? Object.values(payload) : undefined
  if (rows === undefined) return []
  const sids: number[] = []
  for (const row of rows) {
    if (!isObject(row) || !isSid(row.sid)) return []
    sids.push(row.sid)
  }
  return sids
}

/**
 * Renders a search or fetch result with its path and its rows. Rows that exceed the cap are left out whole, so what is shown stays
 * valid JSON.
 */
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
    : Object.entries(payload as { readonly [url: string]: Json }) // it is a list or an object, because `rowSids` found rows in it
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
