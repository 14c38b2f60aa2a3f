import type { ConversationStore } from '../../ports/store.ts'
import { isBusy, isSuperseded } from '../conversation/conversation.ts'
import type { RunningConversations } from '../conversation/running.ts'
import type { TurnResult } from '../turn/finish.ts'

/** The number of conversations that are resumed at the same time. One that waits for its model does not hold up the others. */
const maxConcurrent = 32

/** Resumes all unfinished work in the store, and returns the results. Conversations that another process runs are skipped. */
export async function recoverAll(
  store: ConversationStore,
  conversations: Pick<RunningConversations, 'start'>,
): Promise<readonly TurnResult[]> {
  const unfinished: string[] = []
  // All are listed first, because resuming a conversation reorders the list.
  for await (const conversationId of listUnfinished(store)) unfinished.push(conversationId)
  const results: TurnResult[] = []
  const failures: unknown[] = []
  const resumeNext = async (): Promise<void> => {
    for (let conversationId = unfinished.shift(); conversationId !== undefined; conversationId = unfinished.shift()) {
      try {
        const running = await conversations.start(conversationId, { kind: 'unfinished' })
        const result = await running?.firstResult
        if (result) results.push(result)
      } catch (error) {
        if (!isBusy(error) && !isSuperseded(error)) failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: maxConcurrent }, resumeNext))
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} turns could not be resumed`)
  return results
}

/** Conversations with an open turn or a waiting followup, including those that are running now. */
async function* listUnfinished(store: ConversationStore): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const page = await store.list({ open: true, limit: 100, ...(cursor !== undefined && { cursor }) })
    for (const { conversationId } of page.conversations) yield conversationId
    cursor = page.next
  } while (cursor !== undefined)
}
