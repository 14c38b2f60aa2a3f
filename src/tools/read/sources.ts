import { sourcesPath } from '../../core/path/build.ts'
import { type FilePath, parsePath } from '../../core/path/logical.ts'
import { toLogical } from '../../core/path/physical.ts'
import { selectSources } from '../../core/sources/select.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import type { Call } from '../tool.ts'
import { missingContent, type PathContent } from './find.ts'

export interface SourceContents {
  /** Rows that are files: they are read as such. */
  readonly files: readonly FilePath[]
  readonly found: readonly PathContent[]
}

/** Rows that name a file are that file; the rest is one text. No row is ever dropped: only what it says may be cut. */
export function findSources(path: string, sids: readonly number[], { timeline }: Call, maxSymbols?: number): SourceContents {
  const { rows, missing: unknown } = selectSources(timeline.sources, sids)
  const files = rows.flatMap((row) => sourceFile(row) ?? [])
  const pages = rows.filter((row) => sourceFile(row) === undefined)
  const each = maxSymbols === undefined || pages.length === 0 ? undefined : Math.max(1, Math.floor(maxSymbols / pages.length))
  return {
    files,
    found: [
      ...(pages.length === 0 ? [] : [sourcesText(path, pages, each)]),
      ...(unknown.length === 0 ? [] : [missingContent(rows.length === 0 ? path : sourcesPath(unknown), 'sources_pool_rows_missing')]),
    ],
  }
}

function sourceFile({ artifact_path, physical_path, turn_id }: SourceRow): FilePath | undefined {
  const logical =
    artifact_path ?? (physical_path === undefined ? undefined : toLogical(physical_path, new Set(turn_id === undefined ? [] : [turn_id])))
  const parsed = logical === undefined ? undefined : parsePath(logical)
  return parsed?.space === 'fi' && parsed.kind === 'file' && parsed.conversation === undefined ? parsed : undefined
}

const sourcesText = (path: string, rows: readonly SourceRow[], each: number | undefined): PathContent => ({
  kind: 'text',
  path,
  mime: 'text/markdown',
  text: rows.map((row) => sourceRowText(row, each)).join('\n\n'),
  capped: true,
})

function sourceRowText({ sid, title = '', mime, url, domain, content, text }: SourceRow, each: number | undefined): string {
  const body = content ?? text ?? ''
  const place = [url, domain].filter((part) => part !== undefined && part !== '').join(' | ')
  return [
    `[S:${sid}] ${title}`,
    ...(mime ? [`mime: ${mime}`] : []),
    ...(place ? [place] : []),
    ...(body ? [each === undefined ? body : body.slice(0, each)] : []),
  ].join('\n')
}
