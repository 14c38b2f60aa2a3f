import { Failure } from '../../core/failure.ts'
import { isObject } from '../../core/json.ts'
import { isChildKey } from '../../core/scope.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ListQuery } from '../../ports/store/list.ts'
import { type ConversationStore, LEASE_MS, type Owner } from '../../ports/store.ts'
import { isBusy, isNewer, isSuperseded } from '../conversation/claim.ts'
import type { RunningConversations } from '../conversation/running.ts'
import type { TurnResult } from '../turn/result.ts'
import { deletedChildren, isAwaited, wakeCallers } from '../waits/child-waits.ts'
import { isMissingTool } from './missing-tools.ts'

/** The result of `recover`. */
export interface Recovery {
  /** The results of the turns that were resumed or started. */
  readonly results: readonly TurnResult[]
  /** Conversations with unfinished work that were skipped, because another agent has their claim or has to resume them. */
  readonly skipped: readonly SkippedConversation[]
}

/**
 * A conversation that `recover` skipped. There are three possible reasons: another agent has its claim, a newer version of Daybook has
 * written to it and has to resume it, or this agent does not have the tool of an approved call.
 */
export interface SkippedConversation {
  readonly conversationId: string
  /**
   * When the lease of the other agent ends, as ISO 8601. If the process of that agent is dead, `recover` succeeds after this time. If that
   * agent is alive, it renews its lease, and the conversation is skipped again.
   */
  readonly until: string
  /**
   * The process of the other agent. It is undefined when that agent took the claim while this process was resuming the conversation. It is
   * also undefined for a conversation of a newer version, and when tools are missing.
   */
  readonly owner?: Pick<Owner, 'host' | 'pid'>
  /**
   * The tools that this agent does not have, although an approved call needs them. The agent that has them can resume the turn. If no agent
   * has these tools any more, the turn continues when the user sends a message, and the model is told that the calls did not run.
   */
  readonly missingTools?: readonly string[]
}

/** Options of `recover`. */
export interface RecoverOptions {
  /** Called as soon as a conversation is skipped. `recover` itself resolves only when the resumed turns have ended. */
  readonly onSkipped?: (skipped: SkippedConversation) => void
}

/** How many conversations are resumed at the same time. With more than one, a slow model call does not delay all other conversations. */
const maxConcurrent = 32

/** Finishes deletions, then resumes all unfinished turns in the store. Skips a conversation while another agent has its claim. */
export async function recoverAll(
  store: ConversationStore,
  conversations: Pick<RunningConversations, 'start'>,
  clock: Clock,
  { onSkipped }: RecoverOptions,
  finishDeletions: () => Promise<void>,
): Promise<Recovery> {
  const failures: unknown[] = []
  await finishDeletions().catch((error: unknown) => failures.push(error))
  const unfinished: string[] = []
  // All conversations are listed before the first is resumed, because a resumed conversation moves to the start of the list.
  for await (const conversationId of listUnfinished(store, clock)) unfinished.push(conversationId)
  const results: TurnResult[] = []
  const skipped: SkippedConversation[] = []
  const resumeNext = async (): Promise<void> => {
    for (let conversationId = unfinished.shift(); conversationId !== undefined; conversationId = unfinished.shift()) {
      try {
        const running = await conversations.start(conversationId, { kind: 'unfinished' })
        const result = await running?.firstResult
        if (result) results.push(result)
      } catch (error) {
        if (!isBusy(error) && !isSuperseded(error) && !isNewer(error) && !isMissingTool(error)) failures.push(error)
        else {
          const left = skippedConversation(conversationId, error, clock)
          skipped.push(left)
          onSkipped?.(left)
        }
      }
    }
  }
  await Promise.all(Array.from({ length: maxConcurrent }, resumeNext))
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} turns or deletions could not be finished`)
  return { results, skipped }
}

/**
 * Does the work that is not in the work list. It finishes deletions. It also wakes the callers of sub-agents for which an event is stored,
 * because the process that stored the event may have died before it woke them. A worker that starts also wakes the callers of deleted
 * sub-agents. This is not repeated later, because the search for deleted sub-agents reads all turns that wait.
 */
export async function keepUp(
  store: ConversationStore,
  clock: Clock,
  finishDeletions: () => Promise<void>,
  { isStart }: { readonly isStart: boolean },
): Promise<void> {
  await finishDeletions()
  if (isStart) for await (const child of deletedChildren(store, clock.now())) await wakeCallers(store, child, clock.now())
  for await (const conversationId of listOpen(store, { children: true }))
    if (await isAwaited(store, conversationId)) await wakeCallers(store, conversationId, clock.now())
}

function skippedConversation(conversationId: string, error: unknown, clock: Clock): SkippedConversation {
  const { expiresAt, owner } = error instanceof Failure ? error.details : {}
  const known = isObject(owner) && typeof owner.host === 'string' && typeof owner.pid === 'number'
  return {
    conversationId,
    until: typeof expiresAt === 'string' ? expiresAt : new Date(Date.parse(clock.now()) + LEASE_MS).toISOString(),
    // the casts are safe, because `known` checks both types
    ...(isMissingTool(error) && { missingTools: error.details.tools as readonly string[] }), // `tool.missing` has these details
    ...(known && { owner: { host: owner.host as string, pid: owner.pid as number } }),
  }
}

/**
 * Yields the conversations with an open turn or a waiting followup, including those that are running now. The conversation of a sub-agent
 * is left out, because it is resumed when the call that opened it is repeated. If this call waits, the function wakes the calling
 * conversation. The process that stored an event for the sub-agent should have done this, but it may have died before.
 */
async function* listUnfinished(store: ConversationStore, clock: Clock): AsyncGenerator<string> {
  const found = new Set<string>()
  for await (const conversationId of listOpen(store)) {
    if (!isChildKey(conversationId)) found.add(conversationId)
    else if (await isAwaited(store, conversationId)) found.add(await wakeCallers(store, conversationId, clock.now()))
  }
  for await (const child of deletedChildren(store, clock.now())) found.add(await wakeCallers(store, child, clock.now()))
  yield* found
}

async function* listOpen(store: ConversationStore, filter: Pick<ListQuery, 'children'> = {}): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const page = await store.list({ open: true, limit: 100, ...filter, ...(cursor !== undefined && { cursor }) })
    for (const { conversationId } of page.conversations) yield conversationId
    cursor = page.next
  } while (cursor !== undefined)
}
