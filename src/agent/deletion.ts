import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../core/failure.ts'
import { childPrefix, parseConversationKey } from '../core/scope.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { Counts } from '../ports/store/receipts.ts'
import type { DeleteOptions, RetentionPolicy, RetentionReport } from '../ports/store/retention.ts'
import type { ConversationStore, Owner } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import type { AgentContext } from './agent-context.ts'
import type { RunningConversations } from './conversation/running.ts'

/** Deletes conversations with their workspaces and hosted files. */
export interface Deletion {
  /** Stops the conversation if it runs in this process, then deletes it. Returns false when there is no such conversation. */
  delete(key: string, options?: Pick<DeleteOptions, 'receipt'>): Promise<boolean>
  retain(policy: RetentionPolicy): Promise<RetentionReport>
  /**
   * Finishes deletions that a failure or a dead process left unfinished. With `key`, only the deletion of this conversation is finished.
   */
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
    countFiles: (key) => countFilesOf(key, files),
  }

  return {
    delete: (key, more) =>
      exclude(key, async (putBlobs) => {
        const all = { ...options, ...more }
        for (const child of await childrenOf(store, key)) await whenFree(() => store.delete(child, all))
        const existed = await store.delete(key, all)
        if (putBlobs.length > 0) await store.releaseBlobs(putBlobs)
        return existed
      }),
    retain: (policy) => store.retain(policy, options),
    async finish(key) {
      await store.finishDeletions({ ...options, ...(key !== undefined && { conversationId: key }) })
    },
  }
}

/** The conversations of sub-agents that calls of this conversation have opened. */
async function childrenOf(store: Pick<ConversationStore, 'list'>, key: string): Promise<readonly string[]> {
  const children: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ prefix: childPrefix(key), limit: 100, ...(cursor !== undefined && { cursor }) })
    children.push(...page.conversations.map(({ conversationId }) => conversationId))
    cursor = page.next
  } while (cursor !== undefined)
  return children
}

const PAUSE_MS = 100
const MAX_PAUSES = 50

/**
 * Repeats the deletion while the conversation is busy. The call that opened this conversation was just stopped, and its sub-agent needs
 * some time to end.
 */
async function whenFree(deleteIt: () => Promise<unknown>): Promise<void> {
  for (let pauses = 0; ; pauses++) {
    try {
      await deleteIt()
      return
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'conversation.busy') || pauses === MAX_PAUSES) throw error
      await sleep(PAUSE_MS)
    }
  }
}

/** Removes the workspace and the hosted files of a conversation. It may be called several times. */
export async function removeFilesOf(key: string, { hosting, workspaces }: FileOwners): Promise<void> {
  const { scope, name } = parseConversationKey(key)
  await workspaces?.remove(scope, name)
  await hosting?.remove(scope, name)
}

/** Counts the files of a conversation that are not in the store, for a receipt. */
async function countFilesOf(key: string, { hosting, workspaces }: FileOwners): Promise<Counts> {
  const { scope, name } = parseConversationKey(key)
  const [hosted, working] = [await hosting?.count?.(scope, name), await workspaces?.count?.(scope, name)]
  return { [HOSTED_FILES]: hosted ?? 0, [WORKING_FILES]: working ?? 0 }
}

/** The names of the counts of files in a receipt. */
export const HOSTED_FILES = 'files.hosted'
export const WORKING_FILES = 'files.working'

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
