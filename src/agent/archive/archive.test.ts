import { expect, it } from 'vitest'
import type { TurnEvent } from '../../core/event.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'

const createTestHarness = () => createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')] })

it('creates a conversation with a title, and refuses to create it again', async () => {
  const { agent } = createTestHarness()
  expect(await agent.archive.create('new', 'A name')).toMatchObject({ conversationId: 'new', title: 'A name', openTurn: null })
  await expect(agent.archive.create('new')).rejects.toMatchObject({ code: 'conversation.exists' })
  await expect(agent.archive.head('nobody')).rejects.toMatchObject({ code: 'conversation.missing' })
})

it('renames a conversation that is not running, and its followers get the entry', async () => {
  const { agent, say } = createTestHarness()
  await say('first')
  const events: TurnEvent[] = []
  const stop = new AbortController()
  const following = (async () => {
    for await (const event of agent.follow('c1', { signal: stop.signal })) {
      events.push(event)
      if (event.type === 'entry' && event.change.type === 'title.set' && event.change.title === 'Renamed') stop.abort()
    }
  })()
  await agent.archive.rename('c1', 'Renamed')
  await following
  expect((await agent.archive.head('c1')).title).toBe('Renamed')
})

it('renames a conversation during a turn without disturbing the turn', async () => {
  const { agent } = createTestHarness()
  const turn = agent.run('c1', 'go')
  let renamed = false
  for await (const event of turn) {
    if (renamed || event.type !== 'status') continue
    renamed = true
    await agent.archive.rename('c1', 'Renamed')
  }
  expect(await turn.result).toMatchObject({ ok: true, answer: 'One.' })
  expect((await agent.archive.head('c1')).title).toBe('Renamed')
})

it('deletes a conversation', async () => {
  const { agent, say } = createTestHarness()
  await say('first')
  await agent.archive.delete('c1')
  await expect(agent.archive.timeline('c1')).rejects.toMatchObject({ code: 'conversation.missing' })
  await expect(agent.archive.delete('c1')).rejects.toMatchObject({ code: 'conversation.missing' })
})

it('loads no timeline to read a head, to rename, to delete or to find out whether a conversation exists', async () => {
  const { store, say } = createTestHarness()
  await say('first')
  const loadVisible = () => Promise.reject(new Error('a timeline was loaded'))
  const { archive } = createHarness({ replies: [], store: { ...store, loadVisible } }).agent
  expect(await archive.head('c1')).toEqual((await store.list({})).conversations[0])
  expect(await archive.rename('c1', 'Renamed')).toMatchObject({ title: 'Renamed' })
  expect((await archive.exportBundle('c1')).timeline.conversation_title).toBe('Renamed')
  await expect(archive.turnLog('c1', 'other')).rejects.toMatchObject({ code: 'turn.missing' })
  await expect(archive.create('c1')).rejects.toMatchObject({ code: 'conversation.exists' })
  await archive.delete('c1')
  await expect(archive.usage('c1')).rejects.toMatchObject({ code: 'conversation.missing' })
})

it('accepts a message once it is in the journal, and recognises it when it is sent again', async () => {
  const { agent, store } = createTestHarness()
  const accepted = await agent.send('c1', 'hello', { eventId: 'e1' })
  expect(accepted).toMatchObject({ how: 'turn', eventId: 'e1' })
  expect((await store.loadVisible('c1'))?.timeline.size).toBeGreaterThan(0)
  for await (const event of agent.follow('c1')) if (event.type === 'entry' && event.change.type === 'turn.closed') break
  await agent.stop('c1')
  expect(await agent.send('c1', 'hello', { eventId: 'e1' })).toEqual({ how: 'known', turnId: undefined, eventId: 'e1' })
})
