import type { BlockOrigin, Digest, Meta, Visibility } from '../../core/block/index.ts'
import { isObject, type Json, omitUndefined } from '../../core/json.ts'
import { filePath } from '../../core/path/build.ts'
import { canonicalPath } from '../../core/path/logical.ts'
import { toLogical, toPhysical } from '../../core/path/physical.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import { wasMadeByAnotherCall } from '../../core/timeline/artifacts.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import { knownTurns } from '../../core/timeline/turns.ts'
import { mimeOf } from '../mime.ts'
import { declaredRows } from '../outcome.ts'

/** A file that a tool declares by returning `{artifact_type: "files", files: [row]}`. */
export type DeclaredFile =
  | { readonly kind: 'made'; readonly digest: Digest; readonly mime: string; readonly visibility: Visibility }
  /** The tool has already hosted the file, so the runtime only records it. `handles` has the fields that say where the file is hosted. */
  | { readonly kind: 'hosted'; readonly digest: Digest; readonly mime: string; readonly handles: Meta }
  /**
   * The row does not name a file of the workspace, so nothing is stored. If the row is external, a notice tells the model that the file was
   * not hosted.
   */
  | { readonly kind: 'refused'; readonly name: string; readonly visibility: Visibility }

type DeclaredRow = { readonly [key: string]: unknown }

const maxDeclaredFiles = 200

/** The declared files. Each path is listed only once. Rows after the first `maxDeclaredFiles` are left out. */
export function parseDeclaredFiles(output: Json | undefined, origin: BlockOrigin, timeline: Timeline): readonly DeclaredFile[] {
  const files = (declaredRows(output) ?? [])
    .filter(isObject)
    .slice(0, maxDeclaredFiles)
    .map((row) => parseRow(row, origin, timeline))
  const paths = new Set<string>()
  return files.filter((file) => file.kind !== 'made' || (!paths.has(file.digest.artifact_path) && paths.add(file.digest.artifact_path)))
}

/** The number of rows that `parseDeclaredFiles` leaves out. */
export const declaredFilesOverLimit = (output: Json | undefined): number =>
  Math.max(0, (declaredRows(output)?.length ?? 0) - maxDeclaredFiles)

function parseRow(row: DeclaredRow, origin: BlockOrigin, timeline: Timeline): DeclaredFile {
  const text = (...keys: readonly string[]) =>
    keys.map((key) => row[key]).find((value): value is string => typeof value === 'string' && value !== '')
  const visibility: Visibility = row.visibility === 'internal' ? 'internal' : 'external'
  const path = text('physical_path', 'path', 'artifact_path', 'logical_path')
  const handles = omitUndefined({ hosted_uri: text('hosted_uri'), rn: text('rn'), key: text('key') })
  const name = text('filename') ?? path?.split('/').at(-1) ?? 'file'
  const common = { visibility, kind: 'file' as const, ...(text('description') !== undefined && { description: text('description') }) }
  if (path === undefined) {
    const safe = unsafeReason(name) === undefined && !name.includes('/')
    if (Object.keys(handles).length === 0 || !safe) return { kind: 'refused', name, visibility }
    const mime = text('mime', 'mime_type') ?? mimeOf(name)
    const size = typeof row.size === 'number' ? { size_bytes: row.size } : {}
    const digest = { artifact_path: filePath(origin.turnId, 'outputs', name), mime, ...common, ...size } as Digest
    return { kind: 'hosted', digest, mime, handles }
  }
  const logical = logicalOf(path, origin.turnId, timeline)
  const physical = logical === undefined ? undefined : toPhysical(logical)
  if (logical === undefined || physical === undefined) return { kind: 'refused', name, visibility }
  const mime = text('mime', 'mime_type') ?? mimeOf(physical)
  const edited = wasMadeByAnotherCall(timeline, logical, origin.callId)
  return { kind: 'made', digest: { artifact_path: logical, physical_path: physical, mime, edited, ...common } as Digest, mime, visibility }
}

/** The logical path of a declared file. The declared path may be logical, physical, or relative to the folder of the current turn. */
function logicalOf(path: string, turnId: string, timeline: Timeline): string | undefined {
  const turns = new Set(knownTurns(timeline)).add(turnId)
  return canonicalPath(path) ?? toLogical(path, turns) ?? toLogical(`${turnId}/${path}`, turns)
}

const handleFields: ReadonlySet<string> = new Set(['hosted_uri', 'rn', 'key', 'local_path'])

/** Removes hosting fields and absolute paths from the declared rows, because the model must not read them. */
export function stripFileHandles(output: Json): Json {
  const rows = declaredRows(output)
  const clean = (value: Json): Json => {
    if (value === rows) return (value as readonly Json[]).map((row) => (isObject(row) ? stripRowHandles(row as DeclaredRow) : row))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, clean(inner as Json)]))
  }
  return clean(output)
}

const stripRowHandles = (row: DeclaredRow): Json =>
  Object.fromEntries(Object.entries(row).filter(([key, value]) => !handleFields.has(key) && !isAbsolutePath(key, value))) as Json

const isAbsolutePath = (key: string, value: unknown) =>
  (key === 'physical_path' || key === 'path') && typeof value === 'string' && /^(?:\/|[A-Za-z]:[\\/]|file:)/.test(value)
