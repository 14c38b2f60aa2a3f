import { describe, expect, it } from 'vitest'
import { pausedAnswer, pausedTool } from '../../../test/support/scenario-tools.ts'
import { followToClose, laneText, seqs, upTo } from '../../../test/support/watch-turn.ts'
import type { TurnEvent } from '../../core/event.ts'
import type { ConversationStore, Entry } from '../../ports/store.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { createEventHub } from './event-hub.ts'
import { follow } from './follow.ts'

const conversationId = 'c1'
const never = new AbortController().signal

/** Follows the conversation until `turns` turns are closed. Returns all events. */
async function eventsToClose({ agent }: Harness, after = 0, turns = 1): Promise<readonly TurnEvent[]> {
  const { events, ended } = followToClose(agent, conversationId, { after, turns })
  await ended
  return events
}

const story = 'Rome was founded, as legend has it, by two brothers, and one of them named it.'

describe('a follower', () => {
  it('gets every entry once and in order, from the given entry on', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')] })
    await harness.say('First.')
    await harness.say('Second.')
    const count = (await harness.journal()).length
    expect(seqs(await eventsToClose(harness, 0, 2))).toEqual(upTo(count))
    expect(seqs(await eventsToClose(harness, 4))[0]).toBe(5)
  })

  it('that joins in the middle of an answer gets all of it, and every entry once', async () => {
    const { reply, halfway, resume } = pausedAnswer(story)
    const harness = createHarness({ replies: [reply] })
    const run = harness.agent.run(conversationId, 'Tell me.')
    await halfway
    const late = eventsToClose(harness)
    const later = eventsToClose(harness, 2)
    await new Promise((resolve) => setTimeout(resolve, 5))
    resume()
    await run.result
    const count = (await harness.journal()).length
    expect(laneText(await late, 'answer')).toBe(story)
    expect(laneText(await later, 'answer')).toBe(story)
    const indexes = (await late).flatMap((event) =>
      event.type === 'lane.delta' && event.delta.marker === 'answer' ? [event.delta.index] : [],
    )
    expect(indexes).toEqual(indexes.map((_, index) => index))
    expect(seqs(await late)).toEqual(upTo(count))
    expect(seqs(await later)).toEqual(upTo(count, 3))
  })

  it('that joins in the middle of an answer gets its beginning, even if an event was journaled since', async () => {
    const { reply: modelReply, halfway, resume } = pausedAnswer(story)
    const harness = createHarness({ replies: [modelReply, reply.answer('And that, too.')] })
    const run = harness.agent.run(conversationId, 'Tell me.')
    await halfway
    await harness.agent.send(conversationId, 'And the brothers?')
    const later = eventsToClose(harness, (await harness.journal()).length)
    await new Promise((resolve) => setTimeout(resolve, 5))
    resume()
    await run.result
    expect(laneText(await later, 'answer')).toContain(story)
  })

  it('that joins between an answer and its entry gets the answer once', async () => {
    const [answered, entry] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const onBeforeCompletion = async () => {
      answered.resolve()
      await entry.promise
      return []
    }
    const harness = createHarness({ replies: [reply.answer(story)], hooks: [{ onBeforeCompletion }] })
    const run = harness.agent.run(conversationId, 'Tell me.')
    await answered.promise
    const [late, later] = [eventsToClose(harness), eventsToClose(harness)]
    await new Promise((resolve) => setTimeout(resolve, 5))
    entry.resolve()
    await run.result
    expect(laneText(await late, 'answer')).toBe(story)
    expect(laneText(await later, 'answer')).toBe(story)
  })

  it('that joins during a tool call gets its status, but not the live output of the response that made the call', async () => {
    const work = pausedTool()
    const harness = createHarness({
      tools: [work.tool],
      replies: [reply.call('paused.work', {}, { notes: 'A moment.' }), reply.answer('Done.')],
    })
    const run = harness.agent.run(conversationId, 'Do it.')
    for await (const event of run) if (event.type === 'status' && event.status === 'tool.started') break
    const late = eventsToClose(harness)
    await new Promise((resolve) => setTimeout(resolve, 5))
    work.finish()
    const events = await late
    expect(events.filter(({ type }) => type !== 'entry')[0]).toMatchObject({ status: 'tool.started' })
    expect(laneText(events, 'timeline_text')).toBe('')
    expect(laneText(events, 'answer')).toBe('Done.')
  })

  it('ends when the conversation is deleted', async () => {
    const harness = createHarness({ replies: [reply.answer('One.')] })
    await harness.say('First.')
    const count = (await harness.journal()).length
    const events: TurnEvent[] = []
    const deleted = Promise.withResolvers<void>()
    for await (const event of harness.agent.follow(conversationId)) {
      events.push(event)
      if (events.length === count) setTimeout(() => harness.agent.archive.delete(conversationId).then(deleted.resolve, deleted.reject), 5)
    }
    await deleted.promise
    expect(seqs(events)).toEqual(upTo(count))
  })

  it('gets nothing twice when the journal is ahead of the published events', async () => {
    const hub = createEventHub(() => {})
    const block = { id: 'b_1', type: 'react.thinking', author: 'react', turn_id: 't1', ts: 't', text: 'Hm.' } as const
    const decision = { type: 'blocks.appended', blocks: [block] } as const
    const entry = (seq: number): Entry => ({ seq, change: decision })
    const live = (text: string) => ({ type: 'status' as const, turn_id: 't1', iteration: 0, status: 'deciding' as const, tool_id: text })
    hub.open('c1', 2, 1)
    hub.publish('c1', live('before 3'))
    const store: Pick<ConversationStore, 'readJournal' | 'watch'> = {
      watch: () => () => {},
      async *readJournal(_, { after }) {
        if (after === 0) yield entry(1)
        if (after === 0) return yield entry(2)
        hub.publish('c1', live('still before 3'))
        yield entry(3) // in the journal, but not published yet
      },
    }
    const stop = new AbortController()
    const received: unknown[] = []
    const following = (async () => {
      for await (const event of follow('c1', { signal: stop.signal }, hub, store, never))
        received.push(event.type === 'entry' ? event.seq : event)
    })()
    await new Promise((resolve) => setTimeout(resolve, 5))
    hub.publish('c1', { type: 'entry', ...entry(3) })
    hub.publish('c1', live('after 3'))
    hub.publish('c1', { type: 'entry', ...entry(4) })
    await new Promise((resolve) => setTimeout(resolve, 5))
    stop.abort()
    await following
    expect(received).toEqual([1, 2, 3, live('after 3'), 4])
  })

  it('gets the entries that another agent has appended, between those of its own', async () => {
    const mine = createHarness({ replies: [reply.answer('One.'), reply.answer('Three.')] })
    const theirs = createHarness({ store: mine.store, replies: [reply.answer('Two.')] })
    const following = eventsToClose(mine, 0, 3)
    await mine.say('First.')
    await theirs.say('Second.')
    await mine.say('Third.')
    expect(seqs(await following)).toEqual(upTo((await mine.journal()).length))
  })

  it('reads a left out entry from the journal, and goes on if a retention policy has removed it', async () => {
    const hub = createEventHub(() => {})
    const entry = (seq: number): Entry => ({ seq, change: { type: 'title.set', ts: 't', title: `${seq}` } })
    const journal = [9].map(entry)
    const store: Pick<ConversationStore, 'readJournal' | 'watch'> = {
      watch: () => () => {},
      async *readJournal(_, { after, limit = 100 }) {
        yield* journal.filter(({ seq }) => seq > after).slice(0, limit)
      },
    }
    const stop = new AbortController()
    const received: unknown[] = []
    const following = (async () => {
      for await (const event of follow('c1', { signal: stop.signal, after: 9 }, hub, store, never))
        received.push(event.type === 'entry' && event.seq)
    })()
    await expect.poll(() => hub.size).toBe(1)
    journal.push(entry(10), entry(13), entry(14))
    hub.publish('c1', { type: 'entry', ...entry(14) })
    hub.publish('c1', { type: 'entry', ...entry(15) })
    await expect.poll(() => received).toEqual([10, 13, 14, 15])
    stop.abort()
    await following
  })

  it('throws when the store can no longer tell whether there are new entries', async () => {
    const hub = createEventHub(() => {})
    const store: Pick<ConversationStore, 'readJournal' | 'watch'> = {
      watch(_, { onError }) {
        setTimeout(onError, 1, new Error('disk failure'))
        return () => {}
      },
      async *readJournal() {},
    }
    await expect(follow('c1', {}, hub, store, never).next()).rejects.toThrow('disk failure')
    expect(hub.size).toBe(0)
  })

  it('can stop at any time, and the hub then keeps nothing for it', async () => {
    const hub = createEventHub(() => {})
    const empty: Pick<ConversationStore, 'readJournal' | 'watch'> = { watch: () => () => {}, async *readJournal() {} }
    const stop = new AbortController()
    const waiting = follow('c1', { signal: stop.signal }, hub, empty, never).next()
    await expect.poll(() => hub.size).toBe(1)
    stop.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await follow('c1', { signal: stop.signal }, hub, empty, never).next()).toEqual({ done: true, value: undefined })
    expect(hub.size).toBe(0)
  })

  it('gets everything before it ends because the agent closes', async () => {
    const harness = createHarness({ replies: [reply.answer('One.')] })
    const following = (async () => {
      const events: TurnEvent[] = []
      for await (const event of harness.agent.follow(conversationId)) events.push(event)
      return events
    })()
    await harness.agent.run(conversationId, 'First.').result
    await harness.agent.close()
    expect(seqs(await following)).toEqual(upTo((await harness.journal()).length))
  })

  it('gets feedback that comes while the conversation is not running', async () => {
    const harness = createHarness({ replies: [reply.answer('One.')] })
    const { turnId } = await harness.say('First.')
    const { length } = await harness.journal()
    const next = harness.agent.follow(conversationId, { after: length })[Symbol.asyncIterator]().next()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await harness.agent.feedback(conversationId, '', { turnId, reaction: 'ok' })
    expect(await next).toMatchObject({ value: { type: 'entry', seq: length + 1, change: { type: 'event.accepted' } } })
  })
})
