import { type Draft, readWorkspacePublish, workspacePublish } from '../core/block/index.ts'
import { errorMessage, Failure } from '../core/failure.ts'
import { publishPath } from '../core/path/build.ts'
import { stripAbsolutePaths } from '../core/path/places.ts'
import { blockAt, blocksOfTurn, type Timeline } from '../core/timeline/timeline.ts'
import { summarisedTurns } from '../core/timeline/turns.ts'
import type { PublishOutcome } from '../ports/workspace.ts'
import { historyOf } from '../tools/artifacts/history.ts'
import type { Turn } from './turn/turn.ts'

/** What a turn leaves of its files, and what went wrong with that. */
export interface PublishResult {
  readonly drafts: readonly Draft[]
  readonly error?: Failure
}

export const nothingPublished: PublishResult = { drafts: [] }

/**
 * Keeps what a good turn made of its workspace, before the turn is closed: the block goes into the same entry as the close. A turn that
 * never had files pays nothing. When it fails the turn has failed, but what was said to the user stays said.
 */
export async function publishWorkspace(turn: Turn): Promise<PublishResult> {
  if (!turn.workspaceHandle.isOpen(turn.turnId) && !(turn.resumed && hasFiles(turn.ledger.timeline, turn.turnId))) return nothingPublished
  const published = await tryPublish(turn)
  if (published.record.reason === 'workspace_not_materialized') return nothingPublished
  const drafts = [workspacePublish(turn.turnId, turn.clock.now(), published)]
  if (published.status !== 'failed') return { drafts }
  const message = `workspace_publish_failed: ${published.record.message ?? 'no reason was given'}`
  return { drafts, error: new Failure('workspace.failed', message, { details: { code: 'workspace_publish_failed' } }) }
}

/** Whatever it does: an answer must not be lost for it. */
async function tryPublish(turn: Turn): Promise<PublishOutcome> {
  const { turnId } = turn
  try {
    const workspace = await turn.workspace()
    return await workspace.publish(turnId, { previous: await previousPublishedTurn(turn) }, historyOf(turn))
  } catch (error) {
    const message = stripAbsolutePaths(errorMessage(error))
    const failed = { status: 'failed' as const, turn_id: turnId, workspace_implementation: turn.workspaceHandle.implementation ?? 'custom' }
    return { status: 'failed', record: { ...failed, committed: false, message, error: { code: 'workspace_publish_failed', message } } }
  }
}

/** The process that began the turn is gone, and with it the knowledge that it had opened its workspace: its blocks tell. */
function hasFiles(timeline: Timeline, turnId: string): boolean {
  const own = `fi:${turnId}.files/`
  return blocksOfTurn(timeline, turnId).some(({ type, path }) => type === 'react.workspace.checkout' || path?.startsWith(own))
}

/** The newest turn that left a version: in sight, else among those that a summary stands for. */
async function previousPublishedTurn({ ledger: { timeline }, records, turnId }: Turn): Promise<string | undefined> {
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    const published = block && block.turn_id !== turnId ? readWorkspacePublish(block) : undefined
    if (published?.status === 'published') return block?.turn_id
  }
  for (const covered of summarisedTurns(timeline).toReversed()) {
    const found = (await records.byPath(publishPath(covered))).at(-1)
    if (found && readWorkspacePublish(found)?.status === 'published') return covered
  }
  return undefined
}
