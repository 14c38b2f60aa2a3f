import { expect, it, vi } from 'vitest'
import { openTestStore } from '../../test/support/stores.ts'
import { createSystemClock } from '../adapters/clock/system.ts'
import { startFakeEmbeddings } from '../testing/fake-providers/fake-embeddings.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { createAgent } from './agent.ts'

it('an agent with an embedding model finds what was said in other words', async () => {
  const fake = await startFakeEmbeddings([['vessel', 'schooner']])
  const store = await openTestStore({ clock: createSystemClock() })
  const model = scriptedModel([
    reply.answer('Noted.'),
    reply.call('react.memsearch', { query: 'vessel', scope: 'user' }),
    reply.answer('It was a schooner.'),
  ])
  const agent = createAgent({ model, store, embedding: `compatible/fake@${fake.address}` })
  try {
    await agent.run('c1', 'The schooner left at dawn').result
    await vi.waitFor(async () => expect(await store.memory?.vectors.progress()).toMatchObject({ done: 2, all: 2 }), { timeout: 30_000 })
    await agent.run('c2', 'What left?').result
    const texts: string[] = []
    for await (const { change } of store.readJournal('c2', { after: 0 })) texts.push(JSON.stringify(change))
    expect(texts.join('\n')).toContain('The schooner left at dawn')
  } finally {
    await agent.close()
    await fake.close()
  }
})

it('a wrong embedding model is refused when the agent is created', () => {
  const model = scriptedModel([])
  expect(() => createAgent({ model, embedding: 'anthropic/x' })).toThrow(/anthropic/)
  expect(() => createAgent({ model, embedding: 7 as never })).toThrow(/embedding/)
})
