import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import type { TurnEvent } from '../../core/event.ts'
import { blocksOf, emptyTimeline } from '../../core/timeline/timeline.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { journalOf } from '../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { type AgentParts, createAgentFrom } from '../agent.ts'
import type { Agent } from '../agent-interface.ts'
import type { TurnHandle } from '../events/turn-handle.ts'

/** Two agents with one store. They stand for two processes, because each agent is an owner of its own. */
function twoAgents(first: readonly Reply[], second: readonly Reply[] = [], parts: Partial<AgentParts> = {}) {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const problems: unknown[] = []
  const agentOf = (replies: readonly Reply[]): Agent =>
    createAgentFrom({
      model: scriptedModel(replies),
      store,
      clock,
      onProblem: (problem) => void problems.push(problem),
      ...parts,
    })
  return { store, clock, problems, owner: agentOf(first), other: agentOf(second) }
}

/** A reply that never ends. Only a steer ends its call. */
function endlessReply() {
  const called = Promise.withResolvers<void>()
  const endless: Reply = () => {
    called.resolve()
    return { text: '<channel:thinking>Hm', stall: true }
  }
  return { reply: endless, called: called.promise }
}

/** A reply that waits until `resume` is called. */
function pausedReply(text: string) {
  const called = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  const paused: Reply = {
    text,
    async onChunk() {
      called.resolve()
      await resumed.promise
    },
  }
  return { reply: paused, called: called.promise, resume: resumed.resolve }
}

const eventsOf = async (handle: TurnHandle): Promise<readonly TurnEvent[]> => {
  const events: TurnEvent[] = []
  for await (const event of handle) events.push(event)
  return events
}

const entriesIn = (events: readonly TurnEvent[]) => events.flatMap((event) => (event.type === 'entry' ? [event.seq] : []))

const timelineOf = async (store: ConversationStore) => (await store.loadVisible('c1'))?.timeline ?? emptyTimeline()

/** The texts that users wrote and read, in order. */
const dialogue = async (store: ConversationStore) =>
  blocksOf(await timelineOf(store)).flatMap(({ type, text }) => (type.startsWith('user.') || type === 'assistant.completion' ? [text] : []))

/** Waits for the title, which is asked beside the first answer. Its entries come at any time until then. */
const untilTitled = (store: ConversationStore) => expect.poll(async () => (await store.head('c1'))?.title).toBeTruthy()

/** Waits until this many events were accepted and no offer is left. */
const untilAccepted = async (store: ConversationStore, count = 1) => {
  const accepted = async () => (await journalOf(store, 'c1')).filter(({ change }) => change.type === 'event.accepted').length
  await expect.poll(accepted).toBe(count)
  expect((await store.head('c1'))?.offers).toBe(0)
}

describe('a conversation that another agent runs', () => {
  it('a message that waits there is changed and withdrawn there, and a message that was read is not', async () => {
    const one = pausedReply(reply.answer('One.'))
    const { store, owner, other } = twoAgents([one.reply, reply.answer('Both.')])
    const first = owner.send('c1', 'First.', { eventId: 'm0' })
    await one.called
    await first
    await owner.send('c1', 'Second.', { eventId: 'm1' })
    await other.send('c1', 'Third.', { eventId: 'm2' })
    await untilAccepted(store, 3)
    expect(await other.withdraw('c1', 'm2')).toBe('done')
    expect(await other.changeMessage('c1', 'm1', 'Better.', { eventId: 'm3' })).toEqual({ state: 'done', eventId: 'm3' })
    expect((await timelineOf(store)).inbox).toMatchObject([{ event_id: 'm3', text: 'Better.' }])
    await expect(other.withdraw('c1', 'm0')).rejects.toMatchObject({ code: 'message.read' })
    await expect(other.withdraw('c1', 'm7')).rejects.toMatchObject({ code: 'message.missing' })
    one.resume()
    await owner.drain(5_000)
    expect(await dialogue(store)).toEqual(['First.', 'Better.', 'One.', 'Both.'])
  })

  it('run offers the message: the running turn answers it, and the handle has every entry from then on once', async () => {
    const one = pausedReply(reply.answer('One.'))
    const { store, owner, other } = twoAgents([one.reply, reply.answer('Both.')])
    const first = owner.run('c1', 'First.')
    await one.called
    await untilTitled(store)
    const before = (await store.head('c1'))?.lastSeq ?? 0
    const second = other.run('c1', 'Second.')
    const events = eventsOf(second)
    await untilAccepted(store)
    one.resume()
    expect(await second.result).toMatchObject({ ok: true, exitReason: 'complete', answer: 'Both.' })
    expect(await first.result).toMatchObject({ answer: 'Both.', turnId: (await second.result).turnId })
    const last = (await store.head('c1'))?.lastSeq ?? 0
    expect(entriesIn(await events)).toEqual(Array.from({ length: last - before }, (_, n) => before + 1 + n))
    expect(await dialogue(store)).toEqual(['First.', 'Second.', 'One.', 'Both.'])
  })

  it('run gives its events also to a reader that begins when the turn has ended', async () => {
    const one = pausedReply(reply.answer('One.'))
    const { store, owner, other } = twoAgents([one.reply, reply.answer('Both.')])
    owner.run('c1', 'First.')
    await one.called
    await untilTitled(store)
    const before = (await store.head('c1'))?.lastSeq ?? 0
    const second = other.run('c1', 'Second.')
    await untilAccepted(store)
    one.resume()
    await second.result
    const last = (await store.head('c1'))?.lastSeq ?? 0
    expect(entriesIn(await eventsOf(second))).toEqual(Array.from({ length: last - before }, (_, n) => before + 1 + n))
  })

  it('send, notify and feedback store their events in order, once for each id', async () => {
    const one = pausedReply(reply.answer('One.'))
    const { store, owner, other } = twoAgents([one.reply, reply.answer('Two.'), reply.answer('Three.')])
    const { turnId } = await owner.send('c1', 'First.', { eventId: 'first' })
    await one.called
    expect(await other.send('c1', 'Second.', { eventId: 'second' })).toEqual({ how: 'followup', turnId, eventId: 'second' })
    expect(await other.send('c1', 'Second again.', { eventId: 'second' })).toEqual({ how: 'known', turnId: undefined, eventId: 'second' })
    expect(await other.send('c1', 'First again.', { eventId: 'first' })).toEqual({ how: 'known', turnId: undefined, eventId: 'first' })
    await other.notify('c1', 'An alert.', { eventId: 'third' })
    await other.feedback('c1', 'Good.', { turnId: turnId ?? '', eventId: 'fourth' })
    await untilAccepted(store, 4)
    one.resume()
    await owner.drain(5_000)
    const accepted = (await journalOf(store, 'c1')).flatMap(({ change }) => (change.type === 'event.accepted' ? [change.event] : []))
    expect(accepted.map(({ event_id, kind, sequence }) => [event_id, kind, sequence])).toEqual([
      ['first', 'followup', 1],
      ['second', 'followup', 2],
      ['third', 'external', 3],
      ['fourth', 'feedback', 4],
    ])
    expect((await store.head('c1'))?.openTurn).toBe(null)
  })

  it('stop and steer reach the running turn, and resolve with false when no turn is running', async () => {
    const [one, two] = [endlessReply(), endlessReply()]
    const { owner, other } = twoAgents([one.reply, two.reply, reply.answer('Three.')])
    const first = owner.run('c1', 'First.')
    await one.called
    expect(await other.steer('c1', 'Other way.', { eventId: 'steer-1' })).toBe(true)
    expect(await other.steer('c1', 'Other way.', { eventId: 'steer-1' })).toBe('known')
    await two.called
    expect(await other.stop('c1')).toBe(true)
    expect(await first.result).toMatchObject({ exitReason: 'steer' })
    expect(await other.stop('c1')).toBe(false)
    expect(await other.steer('c1', 'Too late.')).toBe(false)
  })

  it('a steer for another turn than the running one has no effect', async () => {
    const one = pausedReply(reply.answer('One.'))
    const { owner, other } = twoAgents([one.reply])
    const first = owner.run('c1', 'First.')
    await one.called
    expect(await other.steer('c1', 'Stop that one.', { turnId: 'turn_of_yesterday' })).toBe(false)
    one.resume()
    expect(await first.result).toMatchObject({ answer: 'One.' })
  })

  it('aborting the signal of run withdraws the message, and the turn of the other agent goes on', async () => {
    const one = pausedReply(reply.answer('One.'))
    const { store, owner, other } = twoAgents([one.reply])
    const first = owner.run('c1', 'First.')
    await one.called
    const abort = new AbortController()
    const second = other.run('c1', 'Second.', { signal: abort.signal })
    await untilAccepted(store)
    abort.abort()
    await expect(second.result).rejects.toMatchObject({ name: 'AbortError' })
    one.resume()
    expect(await first.result).toMatchObject({ answer: 'One.' })
    expect(await dialogue(store)).toEqual(['First.', 'One.'])
  })

  it('aborting the signal of run stops the turn that the message started', async () => {
    const [one, two] = [endlessReply(), endlessReply()]
    const { store, owner, other } = twoAgents([one.reply, two.reply], [])
    const abort = new AbortController()
    owner.run('c1', 'First.')
    await one.called
    expect(await owner.stop('c1')).toBe(true) // a followup after a stop starts the next turn
    const second = other.run('c1', 'Second.', { signal: abort.signal })
    await two.called
    abort.abort()
    expect(await second.result).toMatchObject({ exitReason: 'steer' })
    expect((await store.head('c1'))?.openTurn).toBe(null)
  })

  it('takes over when the other agent is closed, even if it has not taken the message', async () => {
    const one = endlessReply()
    const { store, owner, other } = twoAgents([one.reply], [reply.answer('Both.')])
    owner.run('c1', 'First.').result.catch(() => {})
    await one.called
    const second = other.run('c1', 'Second.')
    await owner.close()
    expect(await second.result).toMatchObject({ ok: true, answer: 'Both.' })
    expect((await store.head('c1'))?.openTurn).toBe(null)
    expect(await dialogue(store)).toEqual(['First.', 'Second.', 'Both.'])
  })

  it('a message that is offered while the other agent ends its last turn is answered', async () => {
    for (let steps = 0; steps < 12; steps++) {
      const { store, owner, other } = twoAgents([reply.answer('One.'), reply.answer('Two.')], [reply.answer('Two.')])
      const first = owner.run('c1', 'First.').result
      for (let n = 0; n < steps * 3; n++) await Promise.resolve()
      const second = await other.run('c1', 'Second.').result.catch((error: unknown) => error)
      await first
      expect(second).toMatchObject({ ok: true })
      expect(await store.head('c1')).toMatchObject({ offers: 0, waiting: [], openTurn: null })
      expect((await dialogue(store)).filter((text) => text === 'Second.')).toEqual(['Second.'])
    }
  })

  it('recover takes the offers of an owner that has died', async () => {
    const { store, clock, other } = twoAgents([], [reply.answer('Answered.')])
    const claim = await store.claim('c1', { id: 'dead', host: 'elsewhere', pid: 1 })
    await store.append(claim, [{ type: 'title.set', ts: clock.now(), title: 'T' }])
    await store.offer('c1', { event_id: 'e1', kind: 'followup', ts: clock.now(), text: 'Anybody?' })
    await store.offer('c1', { event_id: 'e2', kind: 'steer', ts: clock.now(), text: '' })
    await store.release(claim)
    const { results } = await other.recover()
    expect(results).toMatchObject([{ answer: 'Answered.' }])
    expect([await store.findOffer('c1', 'e1'), await store.findOffer('c1', 'e2')]).toEqual(['accepted', 'refused'])
  })

  it('an agent that works answers a message for which no process runs, until it ends this', async () => {
    const { store, clock, owner, other } = twoAgents([reply.answer('One.')], [reply.answer('Two.')])
    await owner.run('c1', 'First.').result
    const end = other.work()
    await store.offer('c1', { event_id: 'e1', kind: 'followup', ts: clock.now(), text: 'Second.' })
    await expect.poll(() => dialogue(store)).toEqual(['First.', 'One.', 'Second.', 'Two.'])
    await other.drain(5_000)
    end()
    await store.offer('c1', { event_id: 'e2', kind: 'followup', ts: clock.now(), text: 'Third.' })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await store.head('c1')).toMatchObject({ offers: 1 })
  })

  it('a message that was offered, and is sent again to the process that takes the offer, is answered once', async () => {
    const { store, clock, other } = twoAgents([], [reply.answer('Answered.')])
    const claim = await store.claim('c1', { id: 'dead', host: 'elsewhere', pid: 1 })
    await store.append(claim, [{ type: 'title.set', ts: clock.now(), title: 'T' }])
    await store.offer('c1', { event_id: 'e1', kind: 'followup', ts: clock.now(), text: 'Anybody?' })
    await store.release(claim)
    await other.send('c1', 'Anybody?', { eventId: 'e1' })
    await other.drain(5_000)
    expect(await other.send('c1', 'Anybody?', { eventId: 'e1' })).toMatchObject({ how: 'known' })
    expect(await dialogue(store)).toEqual(['Anybody?', 'Answered.'])
  })

  it('a message with a file keeps its bytes until it is answered', async () => {
    const one = pausedReply(reply.answer('One.'))
    const { store, owner, other } = twoAgents([one.reply, reply.answer('Both.')])
    owner.run('c1', 'First.')
    await one.called
    const second = other.run('c1', 'See this.', { attachments: [{ name: 'a.txt', content: 'the words' }] })
    await untilAccepted(store)
    one.resume()
    expect(await second.result).toMatchObject({ answer: 'Both.' })
    const file = blocksOf(await timelineOf(store)).find(({ type }) => type === 'user.attachment.meta')
    const bytes = await store.blobs.get(file?.meta?.keeps?.[0]?.sha256 ?? '')
    expect(Buffer.from(bytes).toString()).toBe('the words')
  })

  it('run rejects when the conversation is deleted, and is cancelled when its agent is closed', async () => {
    const one = endlessReply()
    const { store, owner, other } = twoAgents([one.reply])
    owner.run('c1', 'First.').result.catch(() => {})
    await one.called
    const waiting = other.run('c1', 'Second.').result
    await untilAccepted(store)
    const deleted = expect(waiting).rejects.toMatchObject({ code: 'conversation.missing' })
    await owner.archive.delete('c1')
    await deleted

    const again = pausedReply(reply.answer('One.'))
    const next = twoAgents([again.reply])
    next.owner.run('c1', 'First.')
    await again.called
    const cancelled = next.other.run('c1', 'Second.').result
    await untilAccepted(next.store)
    await next.other.close()
    expect(await cancelled).toMatchObject({ exitReason: 'cancelled', ok: false })
  })
})
