import type { Published, Workspaces } from '../../ports/workspace.ts'

type Facts = Readonly<Record<string, unknown>>

/** The ways a publish can end, in the words that the block uses. */
export function publishedRecord(implementation: Workspaces['implementation'], turnId: string) {
  const common = { turn_id: turnId, workspace_implementation: implementation }
  return {
    committed: (facts: Facts): Published => ({
      status: 'published',
      record: { status: 'published', ...common, committed: true, ...facts },
    }),
    /** The version is that of the turn before: it can be read under this turn's name, too. */
    unchanged: (facts: Facts): Published => ({
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
    skipped: (reason: 'workspace_not_materialized' | 'empty_workspace'): Published => ({
      status: 'skipped',
      record: { status: 'skipped', ...common, committed: false, skipped: true, reason },
    }),
    failed: (message: string): Published => ({
      status: 'failed',
      record: { status: 'failed', ...common, committed: false, message, error: { code: 'workspace_publish_failed', message } },
    }),
  }
}
