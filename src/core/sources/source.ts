import { isObject } from '../json.ts'
import { unsafeReason } from '../path/safety.ts'

const sourceTypes = ['web', 'file', 'attachment', 'manual'] as const
/** Where a source comes from. */
export type SourceType = (typeof sourceTypes)[number]

/** The fields of a source. Fields with other names are kept unchanged. */
export interface SourceFields {
  readonly source_type?: SourceType
  readonly title?: string
  readonly url?: string
  /** A short excerpt. */
  readonly text?: string
  /** The whole text of the source. Exported timelines do not contain it. */
  readonly content?: string
  readonly content_length?: number
  readonly mime?: string
  readonly size_bytes?: number
  readonly base64?: string
  readonly artifact_path?: string
  /** A physical path in Unicode form NFC that `unsafeReason` calls safe. */
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
  /** Whether an answer or an artifact cites the source. */
  readonly used?: boolean
  readonly [field: string]: unknown
}

/** A row of the pool. Its `sid` refers to this source as long as the conversation exists. */
export interface SourceRow extends SourceFields {
  readonly sid: number
}

/**
 * A row to add to the pool. Its `sid` is the number that the tool gave it. The row gets a SID of the pool instead, and the tool's number is
 * used only to find the citations of this row in the tool's output.
 */
export type IncomingSource = SourceFields & { readonly sid?: number } & ({ readonly url: string } | { readonly physical_path: string })

/** Whether a value can be a SID, which is a positive integer. */
export const isSid = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0 // safe integers are numbers

const maximumBase64 = 4000
/**
 * The highest number of characters in an address, or in a field that is not in `SourceFields`. A longer value is left out, because it is
 * probably content in the wrong field.
 */
const maximumText = 4000

/**
 * Parses a row from a tool or a file. Undefined when it has neither a URL nor a safe path. Known fields with a value of the wrong type are
 * left out.
 */
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

/**
 * A copy of an imported row. It lacks fields with a value of the wrong type, unsafe paths, and the fields that say where a file is hosted.
 * A row without a URL is kept too, because answers may cite it.
 */
export function cleanPoolRow(row: SourceRow): SourceRow {
  const fields = Object.entries(row).filter(([name, field]) => name === 'sid' || isPoolField(name, field)) // keeps the order of the fields
  return Object.fromEntries(fields) as SourceRow // `sid` is among the fields
}

function isPoolField(name: string, field: unknown): boolean {
  if (name === 'title' || name === 'url' || name === 'text') return isText(field)
  if (name === 'physical_path') return isFilled(field) && unsafeReason(field) === undefined
  return name !== 'local_path' && isValidField(name, field)
}

/** Fields that only the runtime may set. Some refer to files of the conversation, the others say how the conversation used the source. */
const runtimeFields: ReadonlySet<string> = new Set([
  ...['physical_path', 'local_path', 'artifact_path', 'rn', 'hosted_uri', 'key', 'turn_id', 'used'],
])

/**
 * Schemes of addresses that are not on the web. Such an address contains the content itself, runs as a program, or refers to a file on the
 * reader's machine.
 */
const refusedAddress = /^(?:data|javascript|vbscript|blob|file):/i

/**
 * Parses a row that a tool returned. Undefined when the row has no address. Fields that only the runtime may set are left out, so a tool
 * can not make a source refer to a file of the conversation. Fields with unknown names are kept if their value is a short text, a number or
 * a boolean.
 */
export function parseToolSource(value: unknown): IncomingSource | undefined {
  if (!isObject(value)) return undefined
  const fields = Object.entries(value).filter(([name, field]) => !runtimeFields.has(name) && isToolField(name, field))
  const url = addressOf(value)
  const row = url === undefined ? undefined : parseSourceRow({ ...Object.fromEntries(fields), url, sid: sidOf(value.sid) })
  if (url === undefined || row?.title !== url) return row
  const { title: _address, ...untitled } = row // the tool repeated the URL as title, so the title is left out
  return { ...untitled, url }
}

/**
 * The address in a row that a tool returned; undefined when there is none. The field `value` is used only if it is a web address, because
 * in most formats it has another meaning.
 */
export function addressOf(row: { readonly [field: string]: unknown }): string | undefined {
  const address = [row.url, row.href, isWebAddress(row.value) ? row.value : undefined].find(isFilled)?.trim()
  if (address === undefined || address.length > maximumText) return undefined
  return refusedAddress.test(address.replace(ignoredInAddresses, '')) ? undefined : address
}

/**
 * Control characters and white space. Browsers ignore them when they read the scheme of an address, so `java\nscript:` would run as a
 * program.
 */
const ignoredInAddresses = /[\p{Cc}\s]+/gu

/** The number that a tool gave a row, from its field `sid`. Some tools write the number as a string. */
export function sidOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return isSid(number) ? number : undefined
}

/** Whether a value is the address of a web page. */
export const isWebAddress = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\//i.test(value) && URL.canParse(value)

function isToolField(name: string, field: unknown): boolean {
  if (name === 'href' || name === 'value') return false // `addressOf` has already put the address into `url`
  if (name === 'source_type') return field === 'web' || field === 'manual'
  if (fieldChecks.has(name) || readByName.has(name)) return true // `parseSourceRow` checks these fields
  return typeof field === 'string' ? field.length <= maximumText : typeof field === 'boolean' || Number.isFinite(field)
}

const readByName: ReadonlySet<string> = new Set(['title', 'description', 'text', 'body'])

/**
 * Returns the text of the first field in `names` that is not blank, and removes this field from `remaining`. The field `names[0]` is always
 * removed, even if it is blank.
 */
function takeText(remaining: Map<string, unknown>, ...names: readonly [string, ...string[]]): string | undefined {
  const name = names.find((candidate) => isFilled(remaining.get(candidate)))
  const value = name === undefined ? undefined : remaining.get(name)
  remaining.delete(names[0])
  if (name !== undefined) remaining.delete(name)
  return typeof value === 'string' ? value : undefined
}

/**
 * Removes both path fields of a row and returns the first safe path. `local_path` is the older name of the field; its value may be an
 * absolute path.
 */
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

/** A check for each known field. `title`, `url`, `text` and the paths are missing, because `parseSourceRow` reads them itself. */
const fieldChecks: ReadonlyMap<string, (value: unknown) => boolean> = new Map<string, (value: unknown) => boolean>([
  ['sid', isSid],
  ['source_type', (value) => sourceTypes.some((type) => type === value)],
  ['base64', (value) => typeof value === 'string' && value.length <= maximumBase64],
  ['used', (value) => typeof value === 'boolean'],
  ...['content', 'mime', 'artifact_path', 'turn_id', 'domain', 'favicon', 'authority', 'provider'].map(asText),
  ...['rn', 'hosted_uri', 'key'].map((field) => [field, () => false] as const), // a row of the pool does not say where a file is hosted
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

/** The media types of files that become sources by default. */
export const defaultEligibleMimes: readonly string[] = ['image/*']

/**
 * For applications that also want texts and PDFs as sources: pass this list to `isEligibleMime` instead of the default. Neither this list
 * nor the default contains Office files and archives.
 */
export const documentEligibleMimes: readonly string[] = ['text/*', 'image/*', 'application/pdf']

/** Whether a file of this media type may become a source. `allow` contains media types and patterns such as `image/*`. */
export function isEligibleMime(mime: string | undefined, allow: readonly string[] = defaultEligibleMimes): boolean {
  const type = (mime ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (!type.includes('/')) return false
  return allow
    .map((pattern) => pattern.trim().toLowerCase())
    .some((pattern) => (pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern))
}

/**
 * Whether a source is a document of the knowledge base, whose address is its path. An answer may cite it, and users read its title. But no
 * link is possible, because the document has no web page.
 */
export const isKnowledgeSource = ({ url }: SourceFields): boolean => url?.startsWith('ks:') === true

/** Whether an answer may cite this source with a link. Only web pages can be cited in this way. Files can be embedded in an answer. */
export function isCitable(row: SourceFields): boolean {
  if (row.source_type === 'file' || row.source_type === 'attachment') return false
  return isWebAddress(row.url)
}
