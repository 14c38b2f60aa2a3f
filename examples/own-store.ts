import { type ConversationStore, createAgent } from 'daybook'
import { createMemoryBlobs } from 'daybook/adapters/blobs'
import { createSystemClock } from 'daybook/adapters/clock'
import { createMemoryStore } from 'daybook/adapters/store/memory'
import { reply, scriptedModel } from 'daybook/testing'

/**
 * A store of your own implements `ConversationStore`. This one passes all calls to another store, and tells an auditor about every change
 * that was stored. The suite `describeStore` of daybook/testing checks any store: see own-store.test.ts.
 */
export function auditedStore(store: ConversationStore, audit: (line: string) => void): ConversationStore {
  return {
    ...store,
    async append(claim, changes, options) {
      const appended = await store.append(claim, changes, options) // if the append fails, nothing was stored, and the auditor gets no line
      for (const { type } of changes) audit(`${claim.conversationId} ${type}`)
      return appended
    },
  }
}

if (import.meta.main) {
  const store = auditedStore(createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() }), console.log)
  const agent = createAgent({ model: scriptedModel([reply.answer('Hello.')]), store })
  await agent.run('first', 'Hi').result
  await agent.close()
}
