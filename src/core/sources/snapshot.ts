import type { SourcePool } from './pool.ts'
import type { SourceFields, SourceRow } from './source.ts'

// The last four are there because a sid must lead to its file when only the timeline is at hand.
const compactFields = [
  'title',
  'url',
  'text',
  'published_time_iso',
  'favicon',
  'mime',
  'source_type',
  'artifact_path',
  'physical_path',
] as const

export type CompactRow = Pick<SourceRow, 'sid' | (typeof compactFields)[number]>

const maximumText = 500

/** The row as the timeline keeps it: no body, no hosting handles, and a short text. */
export function compactRow(row: SourceRow): CompactRow {
  const fields = compactFields.filter((field) => row[field] !== undefined).map((field) => [field, row[field]] as const)
  const text = row.text === undefined ? {} : { text: shorten(row.text) }
  return { sid: row.sid, ...(Object.fromEntries(fields) as Partial<Pick<SourceFields, (typeof compactFields)[number]>>), ...text } // keys are those of `kept`
}

export const compactSnapshot = (pool: SourcePool): readonly CompactRow[] => pool.rows.map(compactRow)

/** Counts code points, so that no character is cut in two; a text that was cut says so once, however often it is shortened. */
function shorten(text: string): string {
  if (text.length <= maximumText) return text
  let end = 0
  for (let points = 0; points < maximumText && end < text.length; points++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return end === text.length || text.slice(end) === truncationMark ? text : text.slice(0, end) + truncationMark
}

const truncationMark = '...(truncated)'
