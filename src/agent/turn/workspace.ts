import { Failure } from '../../core/failure.ts'
import { parseConversationKey } from '../../core/scope.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { Workspace, Workspaces } from '../../ports/workspace.ts'
import type { Records } from '../../tools/tool.ts'

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
