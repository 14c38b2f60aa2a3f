import { type Block, type Draft, publishBlock, readWorkspaceCheckout, readWorkspacePublish } from '../../core/block/index.ts'
import { errorMessage, Failure } from '../../core/failure.ts'
import { publishPath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { stripAbsolutePaths } from '../../core/secrets.ts'
import { blockAt, blocksOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { summarisedTurns } from '../../core/timeline/turns.ts'
import type { CheckoutSource, PublishOutcome, RecordedFiles, Workspace, Workspaces } from '../../ports/workspace.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import type { Progress } from './progress.ts'
import type { Turn } from './turn.ts'

/** The workspace of a conversation, opened at its first use: turns without files never open it. */
export interface WorkspaceHandle {
  /** Returns a function that opens the workspace and starts the turn in it, once; `prepare` runs before the caller gets it. */
  forTurn(turnId: string, prepare?: (workspace: Workspace) => Promise<void>): () => Promise<Workspace>
  /** Whether the turn has opened it. */
  isOpen(turnId: string): boolean
  /** Undefined when the agent has no workspaces. */
  readonly implementation: Workspaces['implementation'] | undefined
}

export function createWorkspaceHandle(workspaces: Workspaces | undefined, conversationId: string): WorkspaceHandle {
  let opened: Promise<Workspace> | undefined
  const openByTurn = new Map<string, Promise<Workspace>>()

  async function openForTurn(turnId: string, prepare: ((workspace: Workspace) => Promise<void>) | undefined): Promise<Workspace> {
    opened ??= openWorkspace(workspaces, conversationId)
    const workspace = await opened
    await workspace.startTurn(turnId)
    await prepare?.(workspace)
    return workspace
  }

  return {
    implementation: workspaces?.implementation,
    isOpen: (turnId) => openByTurn.has(turnId),
    forTurn: (turnId, prepare) => () => {
      const open = openByTurn.get(turnId)
      if (open) return open
      const opening = openForTurn(turnId, prepare)
      openByTurn.set(turnId, opening)
      opening.catch(() => {
        opened = undefined // the next call tries again
        openByTurn.delete(turnId)
      })
      return opening
    },
  }
}

async function openWorkspace(workspaces: Workspaces | undefined, conversationId: string): Promise<Workspace> {
  if (!workspaces) throw new Failure('workspace.missing', 'this agent was made without a workspace, so it has no files')
  const { scope, name } = parseConversationKey(conversationId)
  return workspaces.open(scope, name)
}

/** The state of the workspace, to be announced in this round. On a Failure the last known state stays: the tools report what is wrong. */
export async function refreshWorkspaceFacts(turn: Turn, progress: Progress): Promise<Progress> {
  try {
    const facts = await (await turn.workspace()).describe(turn.turnId)
    return { ...progress, workspace: facts }
  } catch (error) {
    if (error instanceof Failure) return progress
    throw error
  }
}

/**
 * Restores the files of a turn that began on another machine from the journal: first what the turn checked out, then what its tools
 * wrote. Does nothing when the turn has files here: then it began on this machine, and they are newer than the journal.
 */
export async function restoreWorkspace(workspace: Workspace, turnId: string, timeline: Timeline, history: RecordedFiles): Promise<void> {
  const { files } = workspace
  const listings = await Promise.all(['files', 'outputs'].map((area) => files.list(`${turnId}/${area}`, { limit: 1, dotEntries: true })))
  if (listings.some((listing) => listing.files.length > 0)) return
  const sources = checkoutSources(blocksOfTurn(timeline, turnId))
  if (sources.length > 0) await workspace.checkout(turnId, { mode: 'replace', sources }, history)
  for (const logical of await history.paths(turnId)) {
    const path = parsePath(logical)
    const physical = path?.space === 'fi' && path.kind === 'file' && path.area !== 'attachments' ? toPhysical(logical) : undefined
    const bytes = physical === undefined ? undefined : await history.bytes(logical)
    if (physical !== undefined && bytes) await files.write(physical, bytes)
  }
}

/** Read from the newest checkout block: it names everything that was checked out so far. */
function checkoutSources(blocks: readonly Block[]): readonly CheckoutSource[] {
  const checkout = blocks.flatMap((block) => readWorkspaceCheckout(block) ?? []).at(-1)
  return (checkout?.checked_out_from ?? []).flatMap((logical) => {
    const path = parsePath(logical)
    return path?.space === 'fi' && path.kind !== 'code' ? [{ turnId: path.turn, rel: path.rel }] : []
  })
}

/** The block that records the publish; with the error when it failed. No block when there was nothing to publish. */
interface PublishResult {
  readonly drafts: readonly Draft[]
  readonly error?: Failure
}

export const nothingPublished: PublishResult = { drafts: [] }

/**
 * Publishes the files of a turn just before it is closed: the block is committed together with the close. When the publish fails the
 * turn ends with an error, but keeps its answer.
 */
export async function publishWorkspace(turn: Turn): Promise<PublishResult> {
  if (!turn.workspaceHandle.isOpen(turn.turnId) && !(turn.resumed && hasFiles(turn.ledger.timeline, turn.turnId))) return nothingPublished
  const published = await tryPublish(turn)
  if (published.record.reason === 'workspace_not_materialized') return nothingPublished
  const drafts = [publishBlock(turn.turnId, turn.clock.now(), published)]
  if (published.status !== 'failed') return { drafts }
  const message = `workspace_publish_failed: ${published.record.message ?? 'no reason was given'}`
  return { drafts, error: new Failure('workspace.failed', message, { details: { code: 'workspace_publish_failed' } }) }
}

/** Turns every error into a failed outcome: the answer must not be lost because of it. */
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

/** Whether a resumed turn has used its workspace, by its blocks: the process that opened it is gone. */
function hasFiles(timeline: Timeline, turnId: string): boolean {
  const prefix = `fi:${turnId}.files/`
  return blocksOfTurn(timeline, turnId).some(({ type, path }) => type === 'react.workspace.checkout' || path?.startsWith(prefix))
}

/** The newest turn that published a version: first among the visible turns, then among the summarised ones. */
async function previousPublishedTurn({ ledger: { timeline }, records, turnId }: Turn): Promise<string | undefined> {
  for (let position = timeline.size - 1; position >= 0; position--) {
    const block = blockAt(timeline, position)
    const published = block && block.turn_id !== turnId ? readWorkspacePublish(block) : undefined
    if (published?.status === 'published') return block?.turn_id
  }
  for (const summarised of summarisedTurns(timeline).toReversed()) {
    const block = (await records.byPath(publishPath(summarised))).at(-1)
    if (block && readWorkspacePublish(block)?.status === 'published') return summarised
  }
  return undefined
}
