import { oncePerBlock } from '../block/reader.ts'
import { type Estimator, tokenUpperBound } from '../estimate/estimate.ts'
import { shortSourcesPath, sourcesPath } from '../path/build.ts'
import { emptyPool, type SourcePool } from '../sources/pool.ts'
import { isCitable, isKnowledgeSource, type SourceRow } from '../sources/source.ts'
import { caps } from './caps.ts'
import { guardHeadings } from './headings.ts'
import { oneLine } from './text.ts'

/** The section of a prompt that lists the sources. Its tokens are counted when `tokens` is called. */
export interface SourcesTail {
  readonly text: string
  tokens(): number
}

/**
 * Returns the section for a pool, with fewer rows if it would otherwise have more than `maxTokens` tokens. The section without rows is
 * returned even if it has more tokens.
 */
export type SourcesTailRenderer = (pool: SourcePool, currentTurnId: string, maxTokens: number) => SourcesTail

/** How many rows the section may have. The numbers are tried in this order until the section is short enough. */
const rowLimits = [caps.sourcesShown, 30, 15, 7, 3, 1, 0]

/** Makes a renderer of the section. It keeps its last texts, because every round needs the section, but the pool seldom changes. */
export function createSourcesTail(estimator: Estimator, hasTool: (id: string) => boolean): SourcesTailRenderer {
  let last: { readonly pool: SourcePool; readonly turnId: string; readonly tails: SourcesTail[] } | undefined
  return (pool, turnId, maxTokens) => {
    if (last?.pool !== pool || last.turnId !== turnId) last = { pool, turnId, tails: [] }
    const { tails } = last
    const tailAt = (index: number) => (tails[index] ??= createTail(sourcesTail(pool, turnId, hasTool, rowLimits[index]), estimator))
    let index = 0
    while (index < rowLimits.length - 1 && exceeds(tailAt(index), maxTokens)) index++
    return tailAt(index)
  }
}

const exceeds = (tail: SourcesTail, maxTokens: number) => tokenUpperBound(tail.text) > maxTokens && tail.tokens() > maxTokens

/** The section for an empty pool. */
export const noSourcesTail = (estimator: Estimator, hasTool: (id: string) => boolean): SourcesTail =>
  createTail(sourcesTail(emptyPool, undefined, hasTool), estimator)

/** True for the tools that the section may name, if the application has not chosen the built-in tools of the agent. */
const hasUsualTools = (id: string) => id === 'react.read' || id === 'react.hide'

function createTail(text: string, estimator: Estimator): SourcesTail {
  let tokens: number | undefined
  return { text, tokens: () => (tokens ??= estimator.text(text)) }
}

/**
 * The section of a prompt that lists the sources which the agent may cite and read. It has no mark, because every new source changes it. It
 * names a tool only if `hasTool` returns true for it.
 */
export function sourcesTail(
  { rows }: SourcePool,
  currentTurnId?: string,
  hasTool: (id: string) => boolean = hasUsualTools,
  maxRows: number = caps.sourcesShown,
): string {
  if (rows.length === 0) return frameLines(0, ['  (none)', ''], hasTool)
  const shown = chooseRows(rows, currentTurnId, maxRows)
  const digits = Math.max(2, String(rows.at(-1)?.sid ?? 0).length)
  const visible = new Set(shown)
  const notShown = rows.filter((row) => !visible.has(row)).map(({ sid }) => sid)
  return frameLines(
    rows.length,
    [
      ...shown.flatMap((row) => [rowLine(row, digits), `        ${snippet(row)}`, '']),
      ...(notShown.length === 0 ? [] : [moreLine(rows, notShown, visible), '']),
      ...footer(rows, hasTool),
    ],
    hasTool,
  )
}

/**
 * The line about the rows that are not shown, with a path at which the agent can read them. If the path with exactly these rows is too long
 * for the line, a path with longer ranges is used. The path is never cut in the middle, because then `react.read` could not parse it.
 */
function moreLine(rows: readonly SourceRow[], notShown: readonly number[], visible: ReadonlySet<SourceRow>): string {
  const start = `… ${notShown.length} more, read `
  const exact = sourcesPath(notShown)
  const limit = caps.announceLine - start.length
  if (exact.length <= limit) return start + exact
  const spans = spansBetween(rows, visible)
  return start + (spans.length <= limit ? spans : shortSourcesPath(notShown, 0))
}

/**
 * A path with one range for each sequence of rows that are not shown. A range may contain SIDs that no row has; `react.read` ignores them.
 */
function spansBetween(rows: readonly SourceRow[], visible: ReadonlySet<SourceRow>): string {
  const spans: { readonly from: number; to: number }[] = []
  rows.forEach((row, index) => {
    const before = rows[index - 1]
    const open = before === undefined || visible.has(before) ? undefined : spans.at(-1)
    if (visible.has(row)) return
    if (open === undefined) spans.push({ from: row.sid, to: row.sid })
    else open.to = row.sid
  })
  return `so:sources_pool[${spans.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')}]`
}

function frameLines(count: number, lines: readonly string[], hasTool: (id: string) => boolean): string {
  const load = hasTool('react.read') ? '  load: react.read(["so:sources_pool[1,3-5]"])' : ''
  const header = ` SOURCES POOL  (${count} ${count === 1 ? 'source' : 'sources'})${load}`
  const rule = '━'.repeat(Math.max(80, header.length))
  return [rule, header, rule, '', ...lines, rule].join('\n')
}

function footer(rows: readonly SourceRow[], hasTool: (id: string) => boolean): readonly string[] {
  const load = hasTool('react.read') ? ['load   react.read(["so:sources_pool[1,3-5]"])'] : []
  const hide = hasTool('react.hide') ? ['hide   react.hide("so:sources_pool[1]", "why it may go")'] : []
  const cite = rows.some((row) => isCitable(row) || isKnowledgeSource(row)) ? ['cite   [[S:1]] [[S:1,3]] [[S:2-4]]'] : []
  const fetch = hasTool('web_tools.web_fetch') ? ['fetch  web_tools.web_fetch(urls=["https://…"])'] : []
  return [
    [...load, ...cite],
    [...fetch, ...hide],
  ]
    .filter((columns) => columns.length > 0)
    .map((columns) => `  ${columns.join('      ')}`)
}

/**
 * Chooses the rows to show, sorted by SID. If there are more than `maxRows` rows, rows of the current turn are chosen first, and then the
 * newest rows of the other turns.
 */
function chooseRows(rows: readonly SourceRow[], currentTurnId: string | undefined, maxRows: number): readonly SourceRow[] {
  if (rows.length <= maxRows) return rows
  const isCurrent = ({ turn_id }: SourceRow) => currentTurnId !== undefined && turn_id === currentTurnId
  const newestFirst = rows.toReversed()
  return [...newestFirst.filter(isCurrent), ...newestFirst.filter((row) => !isCurrent(row))].slice(0, maxRows).sort((a, b) => a.sid - b.sid)
}

function rowLine(row: SourceRow, digits: number): string {
  const title = `"${oneLine(row.title ?? '', caps.sourceTitle)}"`.padEnd(caps.sourceTitle + 2)
  const mime = oneLine(row.mime ?? '-', caps.mime) || '-'
  return `SID:${String(row.sid).padStart(digits, '0')}  ${title}  ${mime}  ${locationOf(row)}  ${tokens(row)}`
}

function locationOf(row: SourceRow): string {
  const isLocal = row.source_type === 'file' || row.source_type === 'attachment'
  const remote = isKnowledgeSource(row) ? row.url : (row.domain ?? hostOf(row))
  const location = isLocal ? row.artifact_path : (remote ?? row.artifact_path)
  return oneLine(location ?? '-', caps.sourcePlace) || '-'
}

const hostOf = oncePerBlock(({ url }: SourceRow) => (url !== undefined && URL.canParse(url) ? new URL(url).host || undefined : undefined))

function tokens({ content, content_length, size_bytes, text }: SourceRow): string {
  const size = content?.length ?? content_length ?? size_bytes ?? text?.length ?? 0
  const count = Math.ceil(size / 4)
  return count >= 1_000 ? `~${(count / 1_000).toFixed(1)}K tok` : `~${count} tok`
}

function snippet(row: SourceRow): string {
  const text = guardHeadings(oneLine(row.text ?? '', caps.sourceSnippet))
  if (text !== '') return text
  return /^image\/|^application\/pdf\b/.test(row.mime ?? '') ? '<base64>' : '<text>'
}
