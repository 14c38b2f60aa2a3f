import type { PublishOutcome, Workspaces } from '../../ports/workspace.ts'
import { type CheckoutRecord, isCheckedOutScope } from './checkout.ts'
import { scopeOf } from './names.ts'

type RecordFields = Readonly<Record<string, unknown>>

/** The ways a publish can end, in the words that the block uses. */
export function publishOutcomes(implementation: Workspaces['implementation'], turnId: string) {
  const common = { turn_id: turnId, workspace_implementation: implementation }
  return {
    committed: (facts: RecordFields): PublishOutcome => ({
      status: 'published',
      record: { status: 'published', ...common, committed: true, ...facts },
    }),
    /** The version is that of the turn before: it can be read under this turn's name, too. */
    unchanged: (facts: RecordFields): PublishOutcome => ({
      status: 'published',
      record: {
        status: 'published',
        ...common,
        committed: false,
        reason: 'workspace_unchanged',
        version_aliased: true,
        ...facts,
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

/** The lineage after a turn: every scope that the turn has files in, or has checked out, is what the turn made of it; the others stay. */
export function nextLineage<T>(
  before: ReadonlyMap<string, T>,
  made: ReadonlyMap<string, T>,
  checkedOut: CheckoutRecord | undefined,
): ReadonlyMap<string, T> {
  const touched = new Set([...made.keys()].map(scopeOf))
  const untouched = [...before].filter(([rel]) => !touched.has(scopeOf(rel)) && !isCheckedOutScope(checkedOut, rel))
  return new Map([...untouched, ...made].sort(([a], [b]) => (a < b ? -1 : 1)))
}
