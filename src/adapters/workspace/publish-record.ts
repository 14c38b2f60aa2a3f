import type { WorkspaceScope } from '../../core/announce/announce.ts'
import type { PublishOutcome, Workspaces } from '../../ports/workspace.ts'
import type { CheckoutRecord } from './checkout.ts'
import { countScopes } from './describe.ts'
import { scopeOf } from './names.ts'

type RecordFields = Readonly<Record<string, unknown>>

/** Makes functions that build the outcome of a publish, with the record for the block. */
export function publishOutcomes(implementation: Workspaces['implementation'], turnId: string) {
  const common = { turn_id: turnId, workspace_implementation: implementation }
  return {
    committed: (fields: RecordFields): PublishOutcome => ({
      status: 'published',
      record: { status: 'published', ...common, committed: true, ...fields },
    }),
    /** The turn changed nothing. Its version is the same as the previous one. */
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

/** The scopes of a version for its record, so that the next turn can announce them without opening the workspace. */
export const recordedScopes = (version: ReadonlyMap<string, unknown>): readonly WorkspaceScope[] =>
  countScopes([...version.keys()]).slice(0, MAX_RECORDED_SCOPES)

/**
 * The files of the conversation after a turn, by path below `files/`. Scopes in which the turn has files, or which it has checked out, have
 * exactly the turn's files. The other scopes stay as they were.
 */
export function nextLineage<T>(
  before: ReadonlyMap<string, T>,
  ofTurn: ReadonlyMap<string, T>,
  checkedOut: CheckoutRecord | undefined,
): ReadonlyMap<string, T> {
  const replaced = new Set([...ofTurn.keys()].map(scopeOf))
  if (checkedOut && checkedOut.scopes !== true) for (const scope of checkedOut.scopes) replaced.add(scope)
  const others = checkedOut?.scopes === true ? [] : [...before].filter(([rel]) => !replaced.has(scopeOf(rel)))
  return new Map([...others, ...ofTurn].sort(([a], [b]) => (a < b ? -1 : 1)))
}
