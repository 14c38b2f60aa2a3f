import { unsafeReason } from '../path/safety.ts'

const sourceTypes = ['web', 'file', 'attachment', 'manual'] as const
/** Where a source comes from. */
export type SourceType = (typeof sourceTypes)[number]

/** The fields of a source. Unknown fields are kept unchanged. */
export interface SourceFields {
  readonly source_type?: SourceType
  readonly title?: string
  readonly url?: string
  /** A short excerpt. */
  readonly text?: string
  /** The whole body. It is never part of an exported timeline. */
  readonly content?: string
  readonly content_length?: number
  readonly mime?: string
  readonly size_bytes?: number
  readonly base64?: string
  readonly artifact_path?: string
  /** A path below OUT_DIR, in Unicode form NFC and safe by `unsafeReason`. */
  readonly physical_path?: string
  readonly turn_id?: string
  readonly rn?: string
  readonly hosted_uri?: string
  readonly key?: string
  readonly domain?: string
  readonly favicon?: string
  readonly authority?: string
  readonly provider?: string
  readonly provider_rank?: number
  readonly weighted_rank?: number
  readonly objective_relevance?: number
  readonly query_relevance?: number
  readonly published_time_iso?: string
  readonly modified_time_iso?: string
  readonly fetched_time_iso?: string
  readonly fetch_status?: string
  /** Whether an answer or an artifact cited the source. */
  readonly used?: boolean
  readonly [field: string]: unknown
}

/** A row of the pool. Its `sid` identifies the source as long as the conversation exists. */
export interface SourceRow extends SourceFields {
  readonly sid: number
}

/** A row to merge into the pool. Its `sid` is the number that the tool gave it. It serves only to renumber the tool's citations. */
export type IncomingSource = SourceFields & { readonly sid?: number } & ({ readonly url: string } | { readonly physical_path: string })

/** True for a valid sid, which is a positive integer. */
export const isSid = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0 // safe integers are numbers

const maximumBase64 = 4000

/** Parses a row from a tool or a file. Undefined when it has neither a URL nor a safe path. Known fields of a wrong type are left out. */
export function parseSourceRow(value: unknown): IncomingSource | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const remaining = new Map<string, unknown>(Object.entries(value))
  const url = takeText(remaining, 'url', 'href', 'value')?.trim()
  const title = takeText(remaining, 'title', 'description') ?? url
  const text = takeText(remaining, 'text', 'body')
  const physical_path = takePhysicalPath(remaining)
  const fields: SourceFields = {
    ...Object.fromEntries([...remaining].filter(([name, field]) => isValidField(name, field))),
    ...(title === undefined ? {} : { title }),
    ...(text === undefined ? {} : { text }),
  }
  if (physical_path !== undefined) return { ...fields, ...(url === undefined ? {} : { url }), physical_path }
  return url === undefined ? undefined : { ...fields, url }
}

/** Returns the first of these fields that has text and removes it. The field `names[0]` is removed in any case; the others stay. */
function takeText(remaining: Map<string, unknown>, ...names: readonly [string, ...string[]]): string | undefined {
  const name = names.find((candidate) => isFilled(remaining.get(candidate)))
  const value = name === undefined ? undefined : remaining.get(name)
  remaining.delete(names[0])
  if (name !== undefined) remaining.delete(name)
  return typeof value === 'string' ? value : undefined
}

/** Removes both path fields of a row and returns the first safe path. `local_path` is the older field and may be absolute. */
function takePhysicalPath(remaining: Map<string, unknown>): string | undefined {
  const candidates = [remaining.get('physical_path'), remaining.get('local_path')]
  remaining.delete('physical_path')
  remaining.delete('local_path')
  return candidates
    .filter(isFilled)
    .map((path) => path.normalize('NFC'))
    .find((path) => unsafeReason(path) === undefined)
}

const isFilled = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
const isText = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => Number.isFinite(value)

/** A check for each known field that `parseSourceRow` does not read by name. */
const fieldChecks: ReadonlyMap<string, (value: unknown) => boolean> = new Map<string, (value: unknown) => boolean>([
  ['sid', isSid],
  ['source_type', (value) => sourceTypes.some((type) => type === value)],
  ['base64', (value) => typeof value === 'string' && value.length <= maximumBase64],
  ['used', (value) => typeof value === 'boolean'],
  ...['content', 'mime', 'artifact_path', 'turn_id', 'rn', 'hosted_uri', 'key', 'domain', 'favicon', 'authority', 'provider'].map(asText),
  ...['published_time_iso', 'modified_time_iso', 'fetched_time_iso', 'fetch_status'].map(asText),
  ...['content_length', 'size_bytes', 'provider_rank', 'weighted_rank', 'objective_relevance', 'query_relevance'].map(asNumber),
])

function asText(field: string) {
  return [field, isText] as const
}
function asNumber(field: string) {
  return [field, isNumber] as const
}

const isValidField = (field: string, value: unknown) => value !== undefined && (fieldChecks.get(field)?.(value) ?? true)

/** The types of files that become sources by default. */
export const defaultEligibleMimes: readonly string[] = ['image/*']

/** A wider list for `isEligibleMime`, with text and PDF. Neither list has office files or archives. */
export const documentEligibleMimes: readonly string[] = ['text/*', 'image/*', 'application/pdf']

/**
 * Whether a file of this type may become a source. `allow` holds types and `kind/*` patterns. Web pages and skills need no such check.
 */
export function isEligibleMime(mime: string | undefined, allow: readonly string[] = defaultEligibleMimes): boolean {
  const type = (mime ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!type.includes('/')) return false
  return allow
    .map((pattern) => pattern.trim().toLowerCase())
    .some((pattern) => (pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern))
}

/** Whether an answer may cite this source. Only web pages can be cited; files are embedded instead. */
export function isCitable(row: SourceFields): boolean {
  if (row.source_type === 'file' || row.source_type === 'attachment') return false
  return row.url !== undefined && /^https?:\/\//i.test(row.url) && URL.canParse(row.url)
}
