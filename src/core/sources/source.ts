import { unsafeReason } from '../path/safety.ts'

export const sourceTypes = ['web', 'file', 'attachment', 'manual'] as const
export type SourceType = (typeof sourceTypes)[number]

/** What a row may say of its source. Fields are additive: what we do not know is kept as it came. */
export interface SourceFields {
  readonly source_type?: SourceType
  readonly title?: string
  readonly url?: string
  /** A short piece for the eye. */
  readonly text?: string
  /** The whole body; expensive, and never in a snapshot. */
  readonly content?: string
  readonly content_length?: number
  readonly mime?: string
  readonly size_bytes?: number
  readonly base64?: string
  readonly artifact_path?: string
  /** Relative to OUT_DIR, NFC, and safe by `unsafeReason`. */
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
  /** Cited in some turn. */
  readonly used?: boolean
  readonly [field: string]: unknown
}

/** A row of the pool: `sid` names its source for the life of the conversation. */
export interface SourceRow extends SourceFields {
  readonly sid: number
}

/** A row on its way into the pool. Its `sid` is a tool's own numbering and only serves to renumber the tool's citations. */
export type IncomingSource = SourceFields & { readonly sid?: number } & ({ readonly url: string } | { readonly physical_path: string })

export const isSid = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0 // safe integers are numbers

const maximumBase64 = 4000

/** Reads a row from anywhere; undefined when it says neither where on the web nor where on disk. Fields of a wrong type are left out. */
export function parseSourceRow(value: unknown): IncomingSource | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const given = new Map<string, unknown>(Object.entries(value))
  const url = takeText(given, 'url', 'href', 'value')?.trim()
  const title = takeText(given, 'title', 'description') ?? url
  const text = takeText(given, 'text', 'body')
  const physical_path = takePhysicalPath(given)
  const fields: SourceFields = {
    ...Object.fromEntries([...given].filter(([field, held]) => isValidField(field, held))),
    ...(title === undefined ? {} : { title }),
    ...(text === undefined ? {} : { text }),
  }
  if (physical_path !== undefined) return { ...fields, ...(url === undefined ? {} : { url }), physical_path }
  return url === undefined ? undefined : { ...fields, url }
}

/** The first of the names that holds something; it is removed, the others stay as fields of their own. */
function takeText(given: Map<string, unknown>, ...names: readonly [string, ...string[]]): string | undefined {
  const name = names.find((candidate) => isFilled(given.get(candidate)))
  const held = name === undefined ? undefined : given.get(name)
  given.delete(names[0])
  if (name !== undefined) given.delete(name)
  return typeof held === 'string' ? held : undefined
}

/** `local_path` is the older name and may be absolute: it never stays in a row. */
function takePhysicalPath(given: Map<string, unknown>): string | undefined {
  const candidates = [given.get('physical_path'), given.get('local_path')]
  given.delete('physical_path')
  given.delete('local_path')
  return candidates
    .filter(isFilled)
    .map((path) => path.normalize('NFC'))
    .find((path) => unsafeReason(path) === undefined)
}

const isFilled = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
const isText = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => Number.isFinite(value)

/** One test per known field. The fields that are read by name above are not among them. */
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
