import { type Draft, type Notice, publishBlock, publishNotice, readWorkspacePublish } from '../../core/block/index.ts'
import { errorMessage, Failure } from '../../core/failure.ts'
import { publishPath } from '../../core/path/build.ts'
import { redact } from '../../core/secrets.ts'
import { blocksOfTurn, newestOfKind, type Timeline } from '../../core/timeline/timeline.ts'
import { summarisedTurns } from '../../core/timeline/turns.ts'
import type { PublishedVersion, PublishOutcome } from '../../ports/workspace.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import type { Records } from '../../tools/tool.ts'
import type { Turn } from '../turn/turn.ts'

/** The block that records a publish, and the error if the publish failed. If the turn had no files to publish, there is no block. */
interface PublishResult {
  readonly drafts: readonly Draft[]
  /**
   * Tells the model about the publish, if the turn continues because an event arrived during the publish. Later turns read the block
   * instead.
   */
  readonly notice?: Notice | undefined
  readonly error?: Failure
}

export const nothingPublished: PublishResult = { drafts: [] }

/**
 * Publishes the files of a turn just before the turn is closed. The block is committed together with `turn.closed`. If the publish fails,
 * the turn ends with an error, but its answer is stored.
 */
export async function publishWorkspace(turn: Turn): Promise<PublishResult> {
  const { turnId, agent } = turn
  if (!mayHaveFiles(turn)) return nothingPublished
  const published = await tryPublish(turn)
  if (published.record.reason === 'workspace_not_materialized') return nothingPublished
  const drafts = [publishBlock(turnId, agent.clock.now(), published)]
  const notice = publishNotice(published.record)
  if (published.status !== 'failed') return { drafts, notice }
  const message = `workspace_publish_failed: ${published.record.message ?? 'no reason was given'}`
  return { drafts, notice, error: new Failure('workspace.failed', message, { details: { code: 'workspace_publish_failed' } }) }
}

/** Whether the turn may have files to publish. */
export const mayHaveFiles = ({ turnId, conversation, workspace }: Turn): boolean =>
  workspace.isOpen || workspace.wasUsedHere || (workspace.resumed && hasFiles(conversation.ledger.timeline, turnId))

/**
 * Publishes the files. Any error becomes an outcome with the status `failed`. The error is not thrown, because a thrown error would end the
 * turn without its answer.
 */
async function tryPublish({ turnId, agent, conversation: { ledger, records }, workspace }: Turn): Promise<PublishOutcome> {
  try {
    const opened = await workspace.open()
    const previous = (await previousPublish(ledger.timeline, records, turnId))?.turn_id
    return await opened.publish(turnId, { at: agent.clock.now(), previous }, historyOf({ records, blobs: agent.store.blobs }))
  } catch (error) {
    const message = redact(errorMessage(error))
    const failed = { status: 'failed' as const, turn_id: turnId, workspace_implementation: workspace.implementation ?? 'custom' }
    return { status: 'failed', record: { ...failed, committed: false, message, error: { code: 'workspace_publish_failed', message } } }
  }
}

/** Whether a resumed turn has used its workspace, as far as its blocks show. Files that only programs wrote leave no block. */
function hasFiles(timeline: Timeline, turnId: string): boolean {
  const prefix = `fi:${turnId}.files/`
  return blocksOfTurn(timeline, turnId).some(({ type, path }) => type === 'react.workspace.checkout' || path?.startsWith(prefix))
}

type PublishRecord = NonNullable<ReturnType<typeof readWorkspacePublish>>

/** The newest published version of an earlier turn. First the visible blocks are searched, then the turns that a summary has replaced. */
export async function previousPublish(
  timeline: Timeline,
  records: Records,
  turnId: string,
  maxSummarised = Number.POSITIVE_INFINITY,
): Promise<(PublishRecord & PublishedVersion) | undefined> {
  for (const block of newestOfKind(timeline, 'publish')) {
    const published = block.turn_id === turnId ? undefined : readWorkspacePublish(block)
    if (published?.status === 'published') return { ...published, turn_id: block.turn_id, ts: block.ts }
  }
  for (const summarised of summarisedTurns(timeline).toReversed().slice(0, maxSummarised)) {
    const block = (await records.byPath(publishPath(summarised))).at(-1)
    const published = block && readWorkspacePublish(block)
    if (block && published?.status === 'published') return { ...published, turn_id: summarised, ts: block.ts }
  }
  return undefined
}
