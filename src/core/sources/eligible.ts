import type { SourceFields } from './source.ts'

/** Which files become sources unless a setting says otherwise. */
export const defaultEligibleMimes: readonly string[] = ['image/*']

/** The wider list: text and PDF too. Office files and archives are in neither. */
export const documentEligibleMimes: readonly string[] = ['text/*', 'image/*', 'application/pdf']

/** May a file of this type be a source? Web and skill rows are not asked. `allow` holds types and `kind/*` patterns. */
export function isEligibleMime(mime: string | undefined, allow: readonly string[] = defaultEligibleMimes): boolean {
  const type = (mime ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!type.includes('/')) return false
  return allow
    .map((pattern) => pattern.trim().toLowerCase())
    .some((pattern) => (pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern))
}

/** May an answer rest on it? Only pages can be shown as evidence; files are there to be embedded. */
export function isCitable(row: SourceFields): boolean {
  if (row.source_type === 'file' || row.source_type === 'attachment') return false
  return row.url !== undefined && /^https?:\/\//i.test(row.url) && URL.canParse(row.url)
}
