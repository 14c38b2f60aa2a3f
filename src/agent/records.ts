import { Failure } from '../core/failure.ts'
import { readConversationKey } from '../core/scope.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Workspace, Workspaces } from '../ports/workspace.ts'
import type { Records } from '../tools/tool.ts'

export function recordsOf(store: ConversationStore, conversationId: string): Records {
  return {
    byPath: (path) => store.findByPath(conversationId, path),
    byTurn: (turnId) => store.findByTurn(conversationId, turnId),
    byCall: (callId) => store.findByCall(conversationId, callId),
    turnLog: (turnId) => store.readTurnLog(conversationId, turnId),
  }
}

/** Opened once, when somebody needs it. */
export function workspaceOf(workspaces: Workspaces | undefined, conversationId: string): () => Promise<Workspace> {
  let opened: Promise<Workspace> | undefined
  return () => {
    opened ??= open(workspaces, conversationId)
    return opened
  }
}

async function open(workspaces: Workspaces | undefined, conversationId: string): Promise<Workspace> {
  if (!workspaces) throw new Failure('workspace.missing', 'this agent was made without a workspace, so it has no files')
  const { scope, name } = readConversationKey(conversationId)
  return workspaces.open(scope, name)
}
