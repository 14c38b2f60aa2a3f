import type { WorkspaceScope } from '../../core/announce/workspace-section.ts'
import { unsafeReason } from '../../core/path/safety.ts'
import type { PublishOutcome, Workspaces } from '../../ports/workspace.ts'
import type { CheckoutRecord } from './checkout.ts'
import { countScopes } from './describe.ts'
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
    /** The turn changed no file. Its version is the same as the version before. */
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
    skipped: (reason: 'workspace_not_materialized' | 'empty_workspace'): PublishOutcome => ({
      status: 'skipped',
      record: { status: 'skipped', ...common, committed: false, skipped: true, reason },
    }),
    failed: (message: string): PublishOutcome => ({
      status: 'failed',
      record: { status: 'failed', ...common, committed: false, message, error: { code: 'workspace_publish_failed', message } },
    }),
  }
}

const MAX_RECORDED_SCOPES = 40

/** The scopes of a version for its publish record. With them the next turn can announce its files without opening the workspace. */
export const recordedScopes = (version: ReadonlyMap<string, unknown>): readonly WorkspaceScope[] =>
  countScopes([...version.keys()]).slice(0, MAX_RECORDED_SCOPES)

const MAX_LEFT_OUT = 12

/**
 * The field `left_out` of the publish record. It is about files of the turn that its version lacks. It lists folders, such as
 * `app/node_modules`, with the number of such files in each. The folder of a file is the one with an excluded name, or else the outermost
 * folder of which the version has no file. The model sees the names.
 */
export function leftOutField(leftOut: readonly string[], published: Iterable<string>): { readonly left_out?: readonly WorkspaceScope[] } {
  if (leftOut.length === 0) return {}
  const folders = new Set([...published].flatMap(foldersAbove))
  const nameOf = (rel: string) => excludedPart(rel) ?? foldersAbove(rel).find((folder) => !folders.has(folder)) ?? rel
  const counts = new Map<string, number>()
  for (const name of leftOut.map((rel) => safePart(nameOf(rel)))) counts.set(name, (counts.get(name) ?? 0) + 1)
  return { left_out: [...counts].slice(0, MAX_LEFT_OUT).map(([name, files]) => ({ name, files })) }
}

/** The path, or the innermost folder above it whose name is safe. A program can put lines of text into the name of a file. */
function safePart(rel: string): string {
  if (unsafeReason(rel) === undefined) return rel
  return foldersAbove(rel).findLast((folder) => unsafeReason(folder) === undefined) ?? 'files'
}

/**
 * The files of the new version, by path below `files/`. A scope that the turn has checked out whole contains exactly the turn's files. In
 * the other scopes, the turn's files are laid over those of the version before. A file is deleted only if the folder of the turn has
 * contained it.
 */
export function nextLineage<T>(before: ReadonlyMap<string, T>, ofTurn: ReadonlyMap<string, T>, held: HeldFiles): ReadonlyMap<string, T> {
  const folders = new Set([...ofTurn.keys()].flatMap(foldersAbove))
  const isReplaced = (rel: string) => ofTurn.has(rel) || folders.has(rel) || foldersAbove(rel).some((folder) => ofTurn.has(folder))
  const isKept = (rel: string) => !held.scopes.has(scopeOf(rel)) && !held.paths.has(rel) && !isReplaced(rel)
  const others = [...before].filter(([rel]) => isKept(rel))
  return new Map([...others, ...ofTurn].sort(([a], [b]) => (a < b ? -1 : 1)))
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
