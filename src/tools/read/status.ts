import type { Notice } from '../../core/block/index.ts'
import type { Json } from '../../core/json.ts'
import type { MissingStatus } from './find.ts'
import type { ReadLimits } from './window.ts'

/** What the status says of one path. No status: it follows, whole. */
export interface StatusRow {
  readonly path: string
  readonly status?:
    | Exclude<MissingStatus, 'missing'>
    | 'exists_in_visible_context'
    | 'revealed'
    | 'truncated_for_visible_context'
    | 'too_large_for_visible_context_bytes'
    | 'stats_only'
    | 'missing'
  readonly missing?: true
  readonly tokens?: number
  readonly bytes?: number
  readonly mime?: string
  readonly kind?: string
  readonly line_count?: number
  readonly text_symbols?: number
  readonly read_range?: { readonly [key: string]: number }
  /** Where it can be seen already. */
  readonly visibleAt?: string
}

/** The first block of every read. */
export function readStatus(rows: readonly StatusRow[], limits: ReadLimits, statsOnly: boolean): Json {
  const paths = (status: StatusRow['status']) => rows.filter((row) => row.status === status).map(({ path }) => path)
  const { files, skills } = missingPaths(rows)
  const visible = rows.filter(({ status }) => status === 'exists_in_visible_context')
  const large = paths('too_large_for_visible_context_bytes')
  const truncated = paths('truncated_for_visible_context')
  return {
    paths: rows.map(({ visibleAt: _elsewhere, ...row }) => row as unknown as Json), // plain fields
    total_tokens: rows.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
    ...(files.length > 0 && { missing: files }),
    ...(skills.length > 0 && { missing_skills: skills }),
    ...(visible.length > 0 && { exists_in_visible_context: visible.map(({ path }) => path) }),
    ...(visible.length > 0 && {
      visible_context_refs: Object.fromEntries(visible.map(({ path, visibleAt: seenAt }) => [path, seenAt ?? path])),
    }),
    ...(large.length > 0 && { large_paths: large }),
    ...(truncated.length > 0 && { truncated_paths: truncated }),
    stats_only: statsOnly,
    visible_read_limit_tokens: limits.tokens,
    visible_read_limit_text_symbols: limits.symbols,
    visible_read_limit_bytes: limits.bytes,
  }
}

function missingPaths(rows: readonly StatusRow[]): { readonly files: readonly string[]; readonly skills: readonly string[] } {
  const gone = rows.filter((row) => row.missing)
  const [skills, files] = [gone.filter(({ status }) => status === 'skill_missing'), gone.filter(({ status }) => status !== 'skill_missing')]
  return { files: files.map(({ path }) => path), skills: skills.map(({ path }) => path) }
}

export function missingNotice(rows: readonly StatusRow[]): readonly Notice[] {
  const { files, skills } = missingPaths(rows)
  const all = [...files, ...skills]
  if (all.length === 0) return []
  const folder = rows.some(({ status }) => status === 'folder')
    ? ' A folder is not read: list it with react.search_files or bring it here with react.pull.'
    : ''
  const message = `Not found: ${all.join(', ')}. Give logical paths exactly as they are shown.${folder}`
  return [{ code: 'read_paths_missing', message, missing: files, ...(skills.length > 0 && { missing_skills: skills }) }]
}
