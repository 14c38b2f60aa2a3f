import { expect, it } from 'vitest'
import { openTestStore } from '../../../test/support/stores.ts'
import { createSystemClock } from '../../adapters/clock/system.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'

/** An agent whose conversation `c1` is deleted by another process at the moment at which the agent claims it. */
async function openDeleting() {
  const inner = await openTestStore({ clock: createSystemClock() })
  let isDeleting = false
  const store: ConversationStore = {
    ...inner,
    async claim(id, ...rest) {
      if (isDeleting) await inner.delete(id)
      return inner.claim(id, ...rest)
    },
  }
  const { agent } = createHarness({ replies: [], store, model: scriptedModel([reply.answer('Yes.')]) })
  const { turnId } = await agent.run('c1', 'Hello.').result
  isDeleting = true
  return { agent, turnId, head: () => inner.head('c1') }
}

it('feedback on a conversation that is deleted at this moment does not create it again', async () => {
  const { agent, turnId, head } = await openDeleting()
  await expect(agent.feedback('c1', 'Good.', { turnId })).rejects.toMatchObject({ code: 'conversation.missing' })
  expect(await head()).toBeUndefined()
})

it('a title for a conversation that is deleted at this moment does not create it again', async () => {
  const { agent, head } = await openDeleting()
  await expect(agent.archive.rename('c1', 'Greetings')).rejects.toMatchObject({ code: 'conversation.missing' })
  expect(await head()).toBeUndefined()
})
