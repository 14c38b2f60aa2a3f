import type { WorkspaceScope } from '../../core/announce/workspace-section.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { SkippedEntry, UnsafeFileReason } from '../../ports/files.ts'
import type { PublishOutcome, PublishRecord, Workspaces } from '../../ports/workspace.ts'
import type { CheckoutRecord } from './checkout.ts'
import { countScopes } from './describe.ts'
import { unreadReasons } from './files.ts'
import { excludedPart, foldersAbove, scopeOf } from './names.ts'

type RecordFields = Readonly<Record<string, unknown>>

/** Makes functions that build the outcome of a publish, with the record for the publish block. */
export function publishOutcomes(implementation: Workspaces['implementation'], turnId: string) {
  const common = { turn_id: turnId, workspace_implementation: implementation }
  return {
    committed: (fields: RecordFields): PublishOutcome => ({
      status: 'published',
      record: { status: 'published', ...common, committed: true, ...fields },
    }),
    /** The turn changed no file. Its version is the same as the previous version. */
    unchanged: (fields: RecordFields): PublishOutcome => ({
      status: 'published',
      record: {
        status: 'published',
        ...common,
        committed: false,
        reason: 'workspace_unchanged',
        version_aliased: true,
        ...fields,
      },
    }),
    skipped: (reason: 'workspace_not_materialized' | 'empty_workspace', fields: RecordFields = {}): PublishOutcome => ({
      status: 'skipped',
      record: { status: 'skipped', ...common, committed: false, skipped: true, reason, ...fields },
    }),
    failed: (message: string): PublishOutcome => ({
      status: 'failed',
      record: { status: 'failed', ...common, committed: false, message, error: { code: 'workspace_publish_failed', message } },
    }),
  }
}

const MAX_RECORDED_SCOPES = 40

/**
 * The scopes of a version for its publish record. With these scopes, the next turn can announce its files without opening the workspace.
 */
export const recordedScopes = (version: ReadonlyMap<string, unknown>): readonly WorkspaceScope[] =>
  countScopes([...version.keys()]).slice(0, MAX_RECORDED_SCOPES)

const MAX_LEFT_OUT = 12

/** The files in the folder of a turn that its version does not contain. Paths are below `files/`. */
interface LeftOutFiles {
  /** Files that were left out because of their names, or because a `.gitignore` names them. */
  readonly ignored: readonly string[]
  /** Links and other entries that can not be stored. */
  readonly skipped: readonly SkippedEntry[]
}

/**
 * The field `left_out` of the publish record. It lists folders, such as `app/node_modules`, with the number of left-out files in each. The
 * folder that is listed for a file is the folder with an excluded name. If there is none, it is the outermost folder that has no file in
 * the version. If every folder above the file has files in the version, the file itself is listed. The model sees the names.
 */
export function leftOutField(
  { ignored, skipped }: LeftOutFiles,
  published: Iterable<string>,
): Pick<PublishRecord, 'left_out' | 'left_out_more'> {
  if (ignored.length + skipped.length === 0) return {}
  const folders = new Set([...published].flatMap(foldersAbove))
  const nameOf = (rel: string) => excludedPart(rel) ?? foldersAbove(rel).find((folder) => !folders.has(folder)) ?? rel
  const groups = new Map<string, { readonly name: string; readonly reason?: UnsafeFileReason; readonly rels: string[] }>()
  const isSkipped = createPathSet(skipped)
  const named = ignored.filter((rel) => !isSkipped(rel)).map((rel) => ({ path: rel, reason: undefined }))
  for (const { path, reason } of [...named, ...skipped]) {
    const isIgnored = reason === undefined || excludedPart(path) !== undefined
    const group = { name: printablePart(nameOf(path)), ...(!isIgnored && { reason }), rels: [] }
    const key = `${group.name}\n${isIgnored ? '' : reason}`
    groups.set(key, groups.get(key) ?? group)
    groups.get(key)?.rels.push(path)
  }
  const all = [...groups.values()].map(({ name, reason, rels: [first = name, ...more] }) => ({
    name: reason !== undefined && more.length === 0 ? printablePart(first) : name,
    files: more.length + 1,
    ...(reason !== undefined && { reason }),
  }))
  const count = all.length - MAX_LEFT_OUT
  return { left_out: all.slice(0, MAX_LEFT_OUT), ...(count > 0 && { left_out_more: count }) }
}

/** Makes a function that tells whether a path is one of these entries or is below one of them. */
function createPathSet(entries: readonly SkippedEntry[]): (rel: string) => boolean {
  const paths = new Set(entries.map(({ path }) => path))
  return (rel) => paths.size > 0 && (paths.has(rel) || foldersAbove(rel).some((folder) => paths.has(folder)))
}

/**
 * The path, or the innermost folder above it whose path can be printed. The check is needed because a program can put lines of text into
 * the name of a file.
 */
function printablePart(rel: string): string {
  return isPrintable(rel) ? rel : (foldersAbove(rel).findLast(isPrintable) ?? 'files')
}

const isPrintable = (rel: string) => unsafeReason(rel) === undefined || (rel.length <= 200 && [...rel].every((c) => c >= ' ' && c <= '~'))

/**
 * The files of the new version, by path below `files/`. A scope that the turn has checked out whole contains exactly the turn's files. In
 * the other scopes, the files of the previous version stay, and the turn's files are added or replace them. A file is deleted only if the
 * folder of the turn has contained it. A file that still exists in the folder, but can not be read, stays as it was in the previous
 * version.
 */
export function nextLineage<T>(
  before: ReadonlyMap<string, T>,
  ofTurn: ReadonlyMap<string, T>,
  held: HeldFiles,
  skipped: readonly SkippedEntry[],
): ReadonlyMap<string, T> {
  const isUnread = createPathSet(skipped.filter(({ reason }) => unreadReasons.has(reason)))
  const folders = new Set([...ofTurn.keys()].flatMap(foldersAbove))
  const isReplaced = (rel: string) => ofTurn.has(rel) || folders.has(rel) || foldersAbove(rel).some((folder) => ofTurn.has(folder))
  const isDeleted = (rel: string) => (held.scopes.has(scopeOf(rel)) || held.paths.has(rel)) && !isUnread(rel)
  const isKept = (rel: string) => !isDeleted(rel) && !isReplaced(rel)
  const others = [...before].filter(([rel]) => isKept(rel))
  return new Map([...others, ...ofTurn].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Adds to the skipped entries of a listing the files that could not be read. A file below an entry of the list is not added. A path is not
 * added either if a program has put a folder in place of a file there, or a file in place of a folder.
 */
export function addUnread(listed: readonly SkippedEntry[], refused: readonly SkippedEntry[]): readonly SkippedEntry[] {
  const isListed = createPathSet(listed)
  const added = refused.filter(({ path, reason }) => reason !== 'not_a_file' && reason !== 'not_a_folder' && !isListed(path))
  const paths = new Set(added.map(({ path }) => path))
  return [...listed, ...added.filter(({ path }) => !foldersAbove(path).some((folder) => paths.has(folder)))]
}

/** What the folder of a turn has contained since the turn began. */
interface HeldFiles {
  /** The scopes that were checked out whole. */
  readonly scopes: ReadonlySet<string>
  /** The files that were checked out, and those that a tool wrote. */
  readonly paths: ReadonlySet<string>
}

/**
 * The files that the folder of the turn has contained: those in the checkout record, and `made`, the files that tools wrote. Undefined when
 * there is no checkout record and tools wrote no file.
 */
export function findHeldFiles(checkedOut: CheckoutRecord | undefined, made: ReadonlySet<string>): HeldFiles | undefined {
  const written = [...made].filter((rel) => !checkedOut?.undone.includes(rel))
  if (!checkedOut && written.length === 0) return undefined
  return { scopes: new Set(checkedOut?.scopes), paths: new Set([...(checkedOut?.held ?? []), ...written]) }
}

export const nothingHeld: HeldFiles = { scopes: new Set(), paths: new Set() }
