import { type Block, type Draft, publishBlock, readWorkspaceCheckout, readWorkspacePublish } from '../../core/block/index.ts'
import { errorMessage, Failure } from '../../core/failure.ts'
import { publishPath } from '../../core/path/build.ts'
import { parsePath } from '../../core/path/logical.ts'
import { toPhysical } from '../../core/path/physical.ts'
import { stripAbsolutePaths } from '../../core/redact.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { blockAt, blocksOfTurn, type Timeline } from '../../core/timeline/timeline.ts'
import { summarisedTurns } from '../../core/timeline/turns.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { CheckoutSource, PublishOutcome, RecordedFiles, Workspace, Workspaces } from '../../ports/workspace.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import type { Records } from '../../tools/tool.ts'
import type { Progress } from './progress.ts'
import type { Turn } from './turn.ts'

type RecordStore = Pick<ConversationStore, 'findByPath' | 'findByTurn' | 'findByCall' | 'readTurnLog' | 'readJournal'>

export function recordsOf(store: RecordStore, conversationId: string): Records {
  return {
    byPath: (path) => store.findByPath(conversationId, path),
    byTurn: (turnId) => store.findByTurn(conversationId, turnId),
    byCall: (callId) => store.findByCall(conversationId, callId),
    turnLog: (turnId) => store.readTurnLog(conversationId, turnId),
    async response(callId) {
      for await (const { change } of store.readJournal(conversationId, { after: 0 })) {
        if (change.type === 'response.received' && change.call_id === callId) return change
      }
      return undefined
    },
  }
}

/** The files of a conversation, turn after turn. */
export interface WorkspaceHandle {
  /** Opened when somebody first needs it, and begun once for each turn that does; `prepare` comes before anybody sees it. */
  forTurn(turnId: string, prepare?: (workspace: Workspace) => Promise<void>): () => Promise<Workspace>
  /** Whether anybody in the turn has. */
  isOpen(turnId: string): boolean
  /** Undefined when there are none. */
  readonly implementation: Workspaces['implementation'] | undefined
}

export function createWorkspaceHandle(workspaces: Workspaces | undefined, conversationId: string): WorkspaceHandle {
  let opened: Promise<Workspace> | undefined
  const begun = new Map<string, Promise<Workspace>>()

  async function begin(turnId: string, prepare: ((workspace: Workspace) => Promise<void>) | undefined): Promise<Workspace> {
    opened ??= openWorkspace(workspaces, conversationId)
    const workspace = await opened
    await workspace.startTurn(turnId)
    await prepare?.(workspace)
    return workspace
  }

  return {
    implementation: workspaces?.implementation,
    isOpen: (turnId) => begun.has(turnId),
    forTurn: (turnId, prepare) => () => {
      const known = begun.get(turnId)
      if (known) return known
      const fresh = begin(turnId, prepare)
      begun.set(turnId, fresh)
      fresh.catch(() => {
        opened = undefined // whoever asks next may have more luck
        begun.delete(turnId)
      })
      return fresh
    },
  }
}

async function openWorkspace(workspaces: Workspaces | undefined, conversationId: string): Promise<Workspace> {
  if (!workspaces) throw new Failure('workspace.missing', 'this agent was made without a workspace, so it has no files')
  const { scope, name } = parseConversationKey(conversationId)
  return workspaces.open(scope, name)
}

/** How the workspace stands as the round begins. What can not be looked at is not announced: the tools will say what is wrong with it. */
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
 * The files of a turn that another machine began, as far as its journal knows them: what it checked out, and over it what its tools
 * wrote. Where the turn has files already nothing is touched: then this is the machine, and they are newer than the journal.
 */
export async function restoreWorkspace(workspace: Workspace, turnId: string, timeline: Timeline, history: RecordedFiles): Promise<void> {
  const { files } = workspace
  const here = await Promise.all(['files', 'outputs'].map((area) => files.list(`${turnId}/${area}`, { limit: 1, dotEntries: true })))
  if (here.some((listing) => listing.files.length > 0)) return
  const sources = checkoutSources(blocksOfTurn(timeline, turnId))
  if (sources.length > 0) await workspace.checkout(turnId, { mode: 'replace', sources }, history)
  for (const logical of await history.paths(turnId)) {
    const path = parsePath(logical)
    const physical = path?.space === 'fi' && path.kind === 'file' && path.area !== 'attachments' ? toPhysical(logical) : undefined
    const bytes = physical === undefined ? undefined : await history.bytes(logical)
    if (physical !== undefined && bytes) await files.write(physical, bytes)
  }
}

/** By the newest block: it names everything that was checked out so far. */
function checkoutSources(blocks: readonly Block[]): readonly CheckoutSource[] {
  const said = blocks.flatMap((block) => readWorkspaceCheckout(block) ?? []).at(-1)
  return (said?.checked_out_from ?? []).flatMap((logical) => {
    const path = parsePath(logical)
    return path?.space === 'fi' && path.kind !== 'code' ? [{ turnId: path.turn, rel: path.rel }] : []
  })
}

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
  const drafts = [publishBlock(turn.turnId, turn.clock.now(), published)]
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
