import { Failure } from '../core/failure.ts'
import { parseConversationKey } from '../core/scope.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { ConversationStore, DeleteOptions, Owner, RetentionPolicy, RetentionReport } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import type { AgentContext } from './agent-context.ts'
import type { RunningConversations } from './conversation/running.ts'

/** Deletes conversations with their workspaces and hosted files. */
export interface Deletion {
  /** Stops the conversation if it runs in this process, then deletes it. Returns false when there is no such conversation. */
  delete(key: string): Promise<boolean>
  retain(policy: RetentionPolicy): Promise<RetentionReport>
  /** Finishes deletions that a failure or a dead process left unfinished: of one conversation, or all. */
  finish(key?: string): Promise<void>
}

interface DeletionParts extends FileOwners {
  readonly store: ConversationStore
  readonly owner: Owner
  readonly exclude: RunningConversations['exclude']
  /** Ends every `follow` of the conversation. */
  announceDeleted(key: string): void
}

/** The ports that have files of conversations. */
interface FileOwners {
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
}

export function createDeletion({ store, owner, exclude, announceDeleted, ...files }: DeletionParts): Deletion {
  const options: DeleteOptions = {
    owner,
    async removeFiles(key) {
      announceDeleted(key) // the conversation is marked as deleted, and no reader finds it any more
      await removeFilesOf(key, files)
    },
  }

  return {
    delete: (key) =>
      exclude(key, async (putBlobs) => {
        const existed = await store.delete(key, options)
        if (putBlobs.length > 0) await store.releaseBlobs(putBlobs)
        return existed
      }),
    retain: (policy) => store.retain(policy, options),
    async finish(key) {
      await store.finishDeletions({ ...options, ...(key !== undefined && { conversationId: key }) })
    },
  }
}

/** Removes the workspace and the hosted files of a conversation. May be repeated. */
export async function removeFilesOf(key: string, { hosting, workspaces }: FileOwners): Promise<void> {
  const { scope, name } = parseConversationKey(key)
  await workspaces?.remove(scope, name)
  await hosting?.remove(scope, name)
}

/** Removes the files that a turn has written although another process had deleted the conversation. */
export async function removeFilesOfDeleted(
  agent: Pick<AgentContext, 'store' | 'hosting' | 'workspaces' | 'onProblem'>,
  key: string,
): Promise<void> {
  try {
    if (!(await agent.store.head(key))) await removeFilesOf(key, agent)
  } catch (error) {
    agent.onProblem({ where: 'deletion', error })
  }
}

/** Whether an error means that the conversation does not exist, for example because another process has deleted it. */
export const isMissing = (error: unknown): boolean => error instanceof Failure && error.code === 'conversation.missing'
