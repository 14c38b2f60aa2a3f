import type { MemoryIndex, MemoryVectors } from '../../../ports/store/memory-index.ts'
import type { MemoryConversation } from './conversation.ts'
import type { MemoryRecall } from './recall.ts'

/** The memory index of the store in memory. Its code is imported when it is first searched, because many agents never search. */
export function openRecall(conversations: ReadonlyMap<string, MemoryConversation>): MemoryRecall {
  let opened: MemoryRecall | undefined
  const open = async () => {
    const { createMemoryRecall } = await import('./recall.ts')
    opened ??= createMemoryRecall(conversations)
    return opened.index
  }
  const vectors: MemoryVectors = {
    choose: async (model) => (await open()).vectors.choose(model),
    missing: async (model, limit) => (await open()).vectors.missing(model, limit),
    save: async (model, made) => (await open()).vectors.save(model, made),
    progress: async () => (await open()).vectors.progress(),
  }
  const index: MemoryIndex = {
    search: async (question, filter) => (await open()).search(question, filter),
    list: async (filter) => (await open()).list(filter),
    catchUp: async (options) => (await open()).catchUp(options),
    vectors,
  }
  return { index, forget: (conversation) => opened?.forget(conversation), forgetMissing: () => opened?.forgetMissing() }
}
