import type { ConversationStore } from '../../ports/store.ts'
import { isBusy, isSuperseded } from '../conversation/conversation.ts'
import type { RunningConversations } from '../conversation/running.ts'
import type { TurnResult } from '../turn/finish.ts'

/** Turns that are taken up side by side: one that waits must not hold up the others. */
const maxConcurrent = 32

/** Goes on with everything that was left behind. What somebody else is at is left to them. */
export async function recoverAll(
  store: ConversationStore,
  conversations: Pick<RunningConversations, 'start'>,
): Promise<readonly TurnResult[]> {
  const left: string[] = []
  for await (const conversation of listUnfinished(store)) left.push(conversation) // first: taking one up moves it in the list
  const results: TurnResult[] = []
  const failures: unknown[] = []
  const takeUpNext = async (): Promise<void> => {
    for (let conversation = left.shift(); conversation !== undefined; conversation = left.shift()) {
      try {
        const running = await conversations.start(conversation, { kind: 'left-behind' })
        const result = await running?.firstResult
        if (result) results.push(result)
      } catch (error) {
        if (!isBusy(error) && !isSuperseded(error)) failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: maxConcurrent }, takeUpNext))
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} turns could not be taken up`)
  return results
}

/** Those whose last turn has no end, or where something that was said waits to become one: somebody is at it, or it was left behind. */
export async function* listUnfinished(store: ConversationStore): AsyncGenerator<string> {
  let cursor: string | undefined
  do {
    const page = await store.list({ open: true, limit: 100, ...(cursor !== undefined && { cursor }) })
    for (const { conversationId } of page.conversations) yield conversationId
    cursor = page.next
  } while (cursor !== undefined)
}
