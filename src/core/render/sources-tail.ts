import { oncePerBlock } from '../block/reader.ts'
import { formatSelector } from '../path/selector.ts'
import type { SourcePool } from '../sources/pool.ts'
import type { SourceRow } from '../sources/source.ts'
import { type Caps, caps } from './caps.ts'
import { oneLine } from './text.ts'

export interface SourcesTailOptions {
  readonly currentTurnId?: string | undefined
  /** Sids cited and sids added in the current turn: when not all fit, these are shown first. */
  readonly used?: Iterable<number>
  readonly added?: Iterable<number>
  readonly caps?: Caps
}

/** Remembers the tail of the pool it saw last: it is asked for every round, and the pool seldom changes. */
export function createSourcesTail(): (pool: SourcePool, currentTurnId: string) => string {
  let last: { readonly pool: SourcePool; readonly turnId: string; readonly text: string } | undefined
  return (pool, turnId) => {
    if (last?.pool !== pool || last.turnId !== turnId) last = { pool, turnId, text: sourcesTail(pool, { currentTurnId: turnId }) }
    return last.text
  }
}

/** What the agent may cite and load, one short entry per source. Never stored, never cached: it changes whenever a source comes in. */
export function sourcesTail({ rows }: SourcePool, options: SourcesTailOptions = {}): string {
  return rows.length === 0 ? noSources : drawTail(rows, options)
}

function drawTail(rows: readonly SourceRow[], options: SourcesTailOptions): string {
  const limits = options.caps ?? caps
  const shown = chooseRows(rows, options, limits)
  const digits = Math.max(2, String(rows.at(-1)?.sid ?? 0).length)
  const visible = new Set(shown)
  const left = rows.filter((row) => !visible.has(row)).map(({ sid }) => sid)
  return frameLines(rows.length, [
    ...shown.flatMap((row) => [rowLine(row, digits, limits), `        ${snippet(row, limits)}`, '']),
    ...(left.length === 0
      ? []
      : [oneLine(`… ${left.length} more, read so:sources_pool[${formatSelector(left)}]`, limits.announceLine), '']),
    ...footer,
  ])
}

function frameLines(count: number, lines: readonly string[]): string {
  const header = ` SOURCES POOL  (${count} ${count === 1 ? 'source' : 'sources'})  load: react.read(["so:sources_pool[1,3-5]"])`
  const rule = '━'.repeat(Math.max(80, header.length))
  return [rule, header, rule, '', ...lines, rule].join('\n')
}

/** What most turns read. */
const noSources = frameLines(0, ['  (none)', ''])

const footer = [
  '  load   react.read(["so:sources_pool[1,3-5]"])      cite   [[S:1]] [[S:1,3]] [[S:2-4]]',
  '  fetch  web_tools.web_fetch(urls=["https://…"])      hide   react.hide("so:sources_pool[1]", "why it may go")',
]

/** This turn's rows first, then the newest; in order of their numbers. */
function chooseRows(
  rows: readonly SourceRow[],
  { currentTurnId, used = [], added = [] }: SourcesTailOptions,
  limits: Caps,
): readonly SourceRow[] {
  if (rows.length <= limits.sourcesShown) return rows
  const wanted = new Set([...used, ...added])
  const current = ({ sid, turn_id }: SourceRow) => wanted.has(sid) || (currentTurnId !== undefined && turn_id === currentTurnId)
  const newestFirst = rows.toReversed()
  return [...newestFirst.filter(current), ...newestFirst.filter((row) => !current(row))]
    .slice(0, limits.sourcesShown)
    .sort((a, b) => a.sid - b.sid)
}

function rowLine(row: SourceRow, digits: number, limits: Caps): string {
  const title = `"${oneLine(row.title ?? '', limits.sourceTitle)}"`.padEnd(limits.sourceTitle + 2)
  const mime = oneLine(row.mime ?? '-', limits.mime) || '-'
  return `SID:${String(row.sid).padStart(digits, '0')}  ${title}  ${mime}  ${locationOf(row, limits)}  ${tokens(row)}`
}

function locationOf(row: SourceRow, limits: Caps): string {
  const local = row.source_type === 'file' || row.source_type === 'attachment'
  const place = local ? row.artifact_path : (row.domain ?? hostOf(row) ?? row.artifact_path)
  return oneLine(place ?? '-', limits.sourcePlace) || '-'
}

const hostOf = oncePerBlock(({ url }: SourceRow) => (url !== undefined && URL.canParse(url) ? new URL(url).host || undefined : undefined))

function tokens({ content, content_length, size_bytes, text }: SourceRow): string {
  const size = content?.length ?? content_length ?? size_bytes ?? text?.length ?? 0
  const count = Math.ceil(size / 4)
  return count >= 1_000 ? `~${(count / 1_000).toFixed(1)}K tok` : `~${count} tok`
}

function snippet(row: SourceRow, limits: Caps): string {
  const text = oneLine(row.text ?? '', limits.sourceSnippet)
  if (text !== '') return text
  return /^image\/|^application\/pdf\b/.test(row.mime ?? '') ? '<base64>' : '<text>'
}
