import type { AnnouncedWorkspace } from '../../core/announce/workspace-section.ts'
import { Failure } from '../../core/failure.ts'
import { omitUndefined } from '../../core/json.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { hasKind, type Timeline } from '../../core/timeline/timeline.ts'
import { summarisedTurns } from '../../core/timeline/turns.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { Claim } from '../../ports/store.ts'
import type { Workspace, Workspaces } from '../../ports/workspace.ts'
import { historyOf } from '../../tools/artifacts/history.ts'
import { type CallRecord, createCallLog, flushContext, hasContext } from '../../tools/context-files.ts'
import type { Records, Tool } from '../../tools/tool.ts'
import type { Problem } from '../agent-context.ts'
import type { Ledger } from '../conversation/ledger.ts'
import { createAttachmentPlacer } from '../turn/attachments.ts'
import type { Progress } from '../turn/progress.ts'
import type { Turn } from '../turn/turn.ts'
import { previousPublish } from './publish.ts'
import { isFolderCurrent, removeAbandoned, removeEpochFile, renewEpochFile, restoreWorkspace, writeEpochFile } from './restore.ts'

/**
 * The workspace of a conversation for one turn. It is opened when a tool first uses it, so a turn that uses no files opens no workspace.
 */
export interface TurnWorkspace {
  /**
   * Opens the workspace, prepares the folder of the turn and writes the turn's attachments into it. If this fails, the next call tries
   * again.
   */
  open(): Promise<Workspace>
  readonly isOpen: boolean
  /** True when another process began this turn. That process may have written files. */
  readonly resumed: boolean
  /** How the workspace stores versions. Undefined when the agent has no workspaces. */
  readonly implementation: Workspaces['implementation'] | undefined
  /** If the workspace is open, tells it that a program may have changed the files of the turn. */
  programRan(): Promise<void>
  /** True when an earlier process, which is dead now, used the workspace for this turn on this machine. Set by `resume`. */
  readonly wasUsedHere: boolean
  /** Finds out whether a resumed turn has files on this machine. The promise never rejects. */
  resume(): Promise<void>
  /** Records a tool call, which `writeContext` then writes to the context files. */
  addCall(call: CallRecord): void
  /**
   * Removes the folders of closed turns that have a version. Does nothing if the workspace is not open. The promise never rejects, because
   * a folder that is not removed does no harm.
   */
  removeFinished(): Promise<void>
  /**
   * Writes the context files, such as `timeline.json`. Before a program runs they are always written. At the end of the turn they are
   * written if the turn has opened the workspace, or if older context files exist. The promise never rejects, because the journal has the
   * same data.
   */
  writeContext(when: 'before program' | 'turn end'): Promise<void>
}

/** Makes a `TurnWorkspace` for each turn of a conversation. All turns share one opened workspace. */
export interface WorkspaceHandle {
  /** From now on no workspace can be opened. A tool that did not stop when its turn ended gets an error. */
  close(): void
  forTurn(turnId: string, options: { readonly resumed: boolean }): TurnWorkspace
}

interface WorkspaceParts {
  readonly workspaces: Workspaces | undefined
  readonly claim: Pick<Claim, 'conversationId' | 'epoch'>
  readonly ledger: Pick<Ledger, 'timeline'>
  readonly records: Records
  readonly blobs: BlobStore
  onProblem(problem: Problem): void
}

export function createWorkspaceHandle({ workspaces, claim, ledger, records, blobs, onProblem }: WorkspaceParts): WorkspaceHandle {
  const { conversationId, epoch } = claim
  const placeAttachments = createAttachmentPlacer(blobs)
  const reportProblem = (error: unknown) => onProblem({ where: 'workspace', error })
  let opened: Promise<Workspace> | undefined
  let closed = false

  async function openShared(): Promise<Workspace> {
    if (closed) throw new Failure('workspace.failed', 'the turn has ended, so its files can not be changed any more')
    opened ??= openWorkspace(workspaces, conversationId)
    return opened
  }

  async function startTurn(turnId: string, resumed: boolean): Promise<Workspace> {
    const workspace = await openShared()
    const history = historyOf({ records, blobs })
    await removeAbandoned(workspace, turnId, history)
    await workspace.adoptVersion(() => previousPublish(ledger.timeline, records, turnId), history)
    await workspace.startTurn(turnId)
    const isCurrent = !resumed || (await isFolderCurrent(workspace, turnId, epoch))
    if (!isCurrent) await restoreWorkspace(workspace, turnId, await records.byTurn(turnId), history)
    // A failure is only reported, because the epoch file is needed only if another process resumes the turn.
    await writeEpochFile(workspace.runtime, turnId, epoch).catch(reportProblem)
    return workspace
  }

  return {
    close() {
      closed = true
    },
    forTurn(turnId, { resumed }) {
      const callLog = workspaces && createCallLog()
      let started: Promise<Workspace> | undefined

      function start(): Promise<Workspace> {
        const starting = startTurn(turnId, resumed)
        self.isOpen = true
        starting.catch(() => {
          opened = undefined
          started = undefined
          self.isOpen = false
        })
        return starting
      }

      async function open(): Promise<Workspace> {
        started ??= start()
        const workspace = await started
        // A failure does not end the turn. The next call tries again, and the attachments can also be read from the journal.
        await placeAttachments(workspace, ledger.timeline, turnId).catch((error: unknown) => onProblem({ where: 'attachments', error }))
        return workspace
      }

      const self: { -readonly [Field in keyof TurnWorkspace]: TurnWorkspace[Field] } = {
        open,
        isOpen: false,
        resumed,
        wasUsedHere: false,
        implementation: workspaces?.implementation,
        async programRan() {
          const workspace = await started?.catch(() => undefined) // if the workspace could not be opened, there is nothing to tell
          workspace?.programRan()
        },
        async resume() {
          if (!workspaces) return
          try {
            self.wasUsedHere = await renewEpochFile((await openShared()).runtime, turnId, epoch)
          } catch (error) {
            reportProblem(error)
          }
        },
        addCall: (call) => callLog?.add(call),
        async removeFinished() {
          const removed = started?.then(async (workspace) => {
            await removeEpochFile(workspace.runtime, turnId)
            await workspace.removeFinished(historyOf({ records, blobs }))
          })
          await removed?.catch(reportProblem)
        },
        async writeContext(when) {
          if (!callLog || !hasCalls(ledger.timeline)) return // the agent has no workspaces, or no tool was called in this conversation
          if (when === 'turn end' && !started && !mayHaveFiles(workspaces, conversationId)) return // no context files exist
          try {
            const workspace = await openShared()
            const isNeeded = when === 'before program' || started !== undefined || (await hasContext(workspace))
            if (isNeeded) await flushContext(workspace, ledger.timeline, callLog.drain())
          } catch (error) {
            reportProblem(error)
          }
        },
      }
      return self
    },
  }
}

/**
 * Whether a tool may have been called in this conversation. If there is a summary, returns true, because the blocks that it replaced may
 * contain a call.
 */
const hasCalls = (timeline: Timeline): boolean => hasKind(timeline, 'call') || summarisedTurns(timeline).length > 0

async function openWorkspace(workspaces: Workspaces | undefined, conversationId: string): Promise<Workspace> {
  if (!workspaces) throw new Failure('workspace.missing', 'this agent was made without a workspace, so it has no files')
  const { scope, name } = parseConversationKey(conversationId)
  return workspaces.open(scope, name)
}

function mayHaveFiles(workspaces: Workspaces | undefined, conversationId: string): boolean {
  if (!workspaces?.mayHaveFiles) return true
  const { scope, name } = parseConversationKey(conversationId)
  return workspaces.mayHaveFiles(scope, name)
}

/**
 * Whether `refreshAnnouncedFacts` has to be called in this round: the state of the workspace is not known or may have changed, or the
 * application adds sections to the announce.
 */
export const needsFacts = ({ agent, workspace }: Turn, progress: Progress): boolean =>
  workspace.isOpen || agent.announce !== undefined || (progress.workspace === undefined && workspace.implementation !== undefined)

/** Reads the parts of the announce that come from outside the timeline: the state of the workspace, and the sections of the application. */
export async function refreshAnnouncedFacts(turn: Turn, progress: Progress): Promise<Progress> {
  const { turnId, agent, conversation, workspace } = turn
  const known = progress.workspace ? progress : { ...progress, workspace: await recordedWorkspaceFacts(turn) }
  const current = workspace.isOpen ? await readWorkspaceFacts(turn, known) : known
  if (!agent.announce) return current
  const round = { conversationId: conversation.conversationId, turnId, iteration: progress.iteration }
  return { ...current, sections: await agent.announce(round) }
}

/** How many turns that a summary has replaced are searched for a published version. The newest are searched first. */
const MAX_SEARCHED_TURNS = 50

/**
 * The state of the workspace as far as the journal shows it. The workspace is not opened for this. The state names the newest published
 * version, because the model can check out its files. A new turn has no files of its own yet.
 */
async function recordedWorkspaceFacts({ turnId, conversation, workspace }: Turn): Promise<AnnouncedWorkspace | undefined> {
  const { implementation, resumed } = workspace
  if (!implementation) return undefined
  const { timeline } = conversation.ledger
  const summarised = summarisedTurns(timeline)
  const published = await previousPublish(timeline, conversation.records, turnId, MAX_SEARCHED_TURNS)
  const lineage = published ? published.scopes : summarised.length <= MAX_SEARCHED_TURNS ? [] : undefined
  return {
    implementation,
    currentTurnRoot: `${turnId}/`,
    ...(!resumed && { editable: [] }),
    ...(lineage && { lineage }),
    ...(published && { lastPublishedTurn: published.turn_id }),
  }
}

/**
 * Reads the state of an open workspace. If the workspace throws a Failure, the last known state is kept. The model is told about the
 * failure when a tool uses the workspace.
 */
async function readWorkspaceFacts({ turnId, workspace }: Turn, progress: Progress): Promise<Progress> {
  const { lineage, lastPublishedTurn } = progress.workspace ?? {}
  try {
    const facts = await (await workspace.open()).describe(turnId)
    return { ...progress, workspace: { ...omitUndefined({ lineage, lastPublishedTurn }), ...facts } }
  } catch (error) {
    if (error instanceof Failure) return progress
    throw error
  }
}

/** The exec tool, changed so that it writes the context files before it runs its program. These files then include the call itself. */
export const withContext = (workspace: TurnWorkspace, tool: Tool): Tool => ({
  ...tool,
  async run(params, call) {
    await workspace.writeContext('before program')
    return tool.run(params, call)
  },
})
