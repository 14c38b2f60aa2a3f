import { expect } from 'vitest'
import { replay } from '../../src/agent/replay/replay.ts'
import type { ReplayParts } from '../../src/agent/replay/setup.ts'
import type { ConversationStore } from '../../src/ports/store.ts'

/**
 * Replays every recorded turn of a suite:
 *
 *   const replays = createReplays()
 *   afterEach(replays.expectSame)
 *   … createHarness(replays.note({ store, tools, … }))
 *
 * A store may contain turns of several agents. A turn passes if it can be replayed without a difference with the parts of one of these
 * agents.
 */
export function createReplays() {
  const agents = new Map<ConversationStore, ReplayParts[]>()
  let replayed = 0
  return {
    /** Stores that an agent with these parts runs turns in this store. Returns the parts. */
    note<Parts extends ReplayParts & { readonly store?: ConversationStore }>(parts: Parts): Parts {
      const { store, tools, builtIn, settings, instructions } = parts
      if (store) {
        const used = {
          ...(tools && { tools }),
          ...(builtIn && { builtIn }),
          ...(settings && { settings }),
          ...(instructions && { instructions }),
        }
        agents.set(store, [...(agents.get(store) ?? []), used])
      }
      return parts
    },
    /** Replays all turns that were recorded since the last call. */
    async expectSame(): Promise<void> {
      const different: unknown[] = []
      for (const [store, parts] of agents) {
        const { conversations } = await store.list({ limit: 500 })
        for (const { conversationId } of conversations) {
          const results = await Promise.all(parts.map((each) => replay(store, conversationId, each)))
          const [turns = []] = results
          replayed += turns.length
          turns.forEach(({ turnId }, index) => {
            const divergences = results.map((each) => each[index]?.divergence)
            if (divergences.every((divergence) => divergence)) different.push({ conversationId, turnId, divergences })
          })
        }
      }
      agents.clear()
      expect(different).toEqual([])
    },
    /** How many turns were replayed. */
    get count() {
      return replayed
    },
  }
}
