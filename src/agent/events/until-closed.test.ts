import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createSystemClock } from '../../adapters/clock/system.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import { createAgentFrom } from '../agent.ts'

/** An agent that only accepts messages, and one that runs them. */
function open(...replies: readonly string[]) {
  const clock = createSystemClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const web = createAgentFrom({ model: scriptedModel([]), store, clock, acceptOnly: true })
  const worker = createAgentFrom({ model: scriptedModel(replies), store, clock })
  return { clock, store, web, worker }
}

it('waits for a message that another process runs later, and gives the same result again', async () => {
  const { web, worker } = open(reply.answer('One.'), reply.answer('Two.'))
  expect(await web.send('c1', 'First.', { eventId: 'e1' })).toEqual({ how: 'followup', turnId: undefined, eventId: 'e1' })
  expect(await web.send('c1', 'First.', { eventId: 'e1' })).toMatchObject({ how: 'known' })
  const result = web.untilClosed('c1', 'e1')
  const end = worker.work()
  expect(await result).toMatchObject({ answer: 'One.', exitReason: 'complete' })
  await web.send('c1', 'Second.', { eventId: 'e2' })
  expect(await web.untilClosed('c1', 'e2')).toMatchObject({ answer: 'Two.' })
  expect(await worker.untilClosed('c1', 'e1')).toEqual(await result)
  end()
  await worker.close()
})

it('ends when the event is refused, when its signal aborts, and when the conversation is deleted', async () => {
  const { clock, store, web, worker } = open()
  await web.send('c1', 'First.', { eventId: 'e1' })
  const aborted = web.untilClosed('c1', 'e1', { signal: AbortSignal.timeout(20) })
  await expect(aborted).rejects.toMatchObject({ name: 'TimeoutError' })
  await expect(web.untilClosed('c1', 'e2')).rejects.toMatchObject({ code: 'message.missing' })
  await expect(web.untilClosed('c2', 'e1')).rejects.toMatchObject({ code: 'conversation.missing' })
  const refused = expect(web.untilClosed('c1', 'e1')).rejects.toMatchObject({ code: 'message.withdrawn' })
  const claim = await store.claim('c1', { id: 'other', host: 'elsewhere', pid: 1 })
  await store.append(claim, [], { takes: [{ eventId: 'e1', outcome: 'refused' }] })
  await refused
  await store.offer('c1', { event_id: 'e3', kind: 'followup', ts: clock.now(), text: 'x' })
  const deleted = expect(web.untilClosed('c1', 'e3')).rejects.toMatchObject({ code: 'conversation.missing' })
  await store.release(claim)
  await web.archive.delete('c1')
  await deleted
  await worker.close()
})

it('rejects when its agent is closed', async () => {
  const { web } = open()
  await web.send('c1', 'First.', { eventId: 'e1' })
  const waiting = expect(web.untilClosed('c1', 'e1')).rejects.toMatchObject({ name: 'AbortError' })
  await new Promise((resolve) => setTimeout(resolve, 20))
  await web.close()
  await waiting
})
