import { describe, expect, it } from 'vitest'
import { paused } from '../../test/support/cast.ts'
import { laneText } from '../../test/support/told.ts'
import type { EntryEvent, TurnEvent } from '../core/event.ts'
import type { ConversationStore, Entry } from '../ports/store.ts'
import { createHarness, type Harness } from '../testing/harness.ts'
import { answers, calls, type Reply } from '../testing/scripted-model.ts'
import { follow } from './follow.ts'
import { createHub } from './hub.ts'

const conversation = 'c1'
const never = new AbortController().signal
const seqs = (events: readonly TurnEvent[]) => events.flatMap((event) => (event.type === 'entry' ? [event.seq] : []))
const upTo = (count: number, from = 1) => Array.from({ length: count - from + 1 }, (_, n) => from + n)

/** Follows until the turn is closed. */
async function followed({ agent }: Harness, after = 0, turns = 1): Promise<readonly TurnEvent[]> {
  const events: TurnEvent[] = []
  const stop = new AbortController()
  let left = turns
  for await (const event of agent.follow(conversation, { after, signal: stop.signal })) {
    events.push(event)
    if (event.type === 'entry' && event.change.type === 'turn.closed' && --left === 0) stop.abort()
  }
  return events
}

/** An answer in small pieces that waits in the middle until told to go on. */
function slowly(text: string): { readonly reply: Reply; readonly halfway: Promise<void>; goOn(): void } {
  const halfway = Promise.withResolvers<void>()
  const rest = Promise.withResolvers<void>()
  const whole = answers(text)
  const onChunk = async (index: number) => {
    if (index !== Math.floor(whole.length / 4) - 6) return
    halfway.resolve()
    await rest.promise
  }
  return { reply: { text: whole, chunks: 4, onChunk }, halfway: halfway.promise, goOn: rest.resolve }
}

const story = 'Rome was founded, as legend has it, by two brothers, and one of them named it.'

describe('whoever follows', () => {
  it('from the end is told everything, once and in order', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')] })
    await stage.say('First.')
    await stage.say('Second.')
    const count = (await stage.journal()).length
    expect(seqs(await followed(stage, 0, 2))).toEqual(upTo(count))
    expect(seqs(await followed(stage, 4))[0]).toBe(5)
  })

  it('in the middle of an answer is told its beginning and its end, and every entry once', async () => {
    const { reply, halfway, goOn } = slowly(story)
    const stage = createHarness({ replies: [reply] })
    const run = stage.agent.run({ conversation, input: 'Tell me.' })
    await halfway
    const late = followed(stage)
    const later = followed(stage, 2)
    await new Promise((resolve) => setTimeout(resolve, 5))
    goOn()
    await run.result
    const count = (await stage.journal()).length
    expect(laneText(await late, 'answer')).toBe(story)
    expect(laneText(await later, 'answer')).toBe(story)
    const indexes = (await late).flatMap((event) =>
      event.type === 'lane.delta' && event.delta.marker === 'answer' ? [event.delta.index] : [],
    )
    expect(indexes).toEqual(indexes.map((_, index) => index))
    expect(seqs(await late)).toEqual(upTo(count))
    expect(seqs(await later)).toEqual(upTo(count, 3))
  })

  it('in the middle of an answer is told its beginning, even if something was entered since', async () => {
    const { reply, halfway, goOn } = slowly(story)
    const stage = createHarness({ replies: [reply, answers('And that, too.')] })
    const run = stage.agent.run({ conversation, input: 'Tell me.' })
    await halfway
    await stage.agent.followUp(conversation, 'And the brothers?')
    const later = followed(stage, (await stage.journal()).length)
    await new Promise((resolve) => setTimeout(resolve, 5))
    goOn()
    await run.result
    expect(laneText(await later, 'answer')).toContain(story)
  })

  it('between an answer and its entry is told the whole of it, once', async () => {
    const [answered, entry] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const onBeforeCompletion = async () => {
      answered.resolve()
      await entry.promise
      return []
    }
    const stage = createHarness({ replies: [answers(story)], hooks: [{ onBeforeCompletion }] })
    const run = stage.agent.run({ conversation, input: 'Tell me.' })
    await answered.promise
    const [late, later] = [followed(stage), followed(stage)]
    await new Promise((resolve) => setTimeout(resolve, 5))
    entry.resolve()
    await run.result
    expect(laneText(await late, 'answer')).toBe(story)
    expect(laneText(await later, 'answer')).toBe(story)
  })

  it('during a tool is told that it is running, and nothing of the answer that led there', async () => {
    const work = paused()
    const stage = createHarness({ tools: [work.tool], replies: [calls('paused.work', {}, { notes: 'A moment.' }), answers('Done.')] })
    const run = stage.agent.run({ conversation, input: 'Do it.' })
    for await (const event of run) if (event.type === 'status' && event.status === 'tool.started') break
    const late = followed(stage)
    await new Promise((resolve) => setTimeout(resolve, 5))
    work.finish()
    const events = await late
    expect(events.filter(({ type }) => type !== 'entry')[0]).toMatchObject({ status: 'tool.started' })
    expect(laneText(events, 'timeline_text')).toBe('')
    expect(laneText(events, 'answer')).toBe('Done.')
  })

  it('is let go when the conversation is deleted', async () => {
    const stage = createHarness({ replies: [answers('One.')] })
    await stage.say('First.')
    const count = (await stage.journal()).length
    const told: TurnEvent[] = []
    const deleted = Promise.withResolvers<void>()
    for await (const event of stage.agent.follow(conversation)) {
      told.push(event)
      if (told.length === count) setTimeout(() => stage.agent.archive.delete(conversation).then(deleted.resolve, deleted.reject), 5)
    }
    await deleted.promise
    expect(seqs(told)).toEqual(upTo(count))
  })

  it('is told nothing twice when the journal is ahead of the news', async () => {
    const hub = createHub(() => {})
    const heard = { type: 'response.received', turn_id: 't1', ts: 't', iteration: 0, call_id: 'a', raw: '', finish_reason: 'stop' } as const
    const entry = (seq: number): Entry => ({ seq, change: heard })
    const live = (text: string) => ({ type: 'status' as const, turn_id: 't1', iteration: 0, status: 'deciding' as const, tool_id: text })
    hub.open('c1', 2)
    hub.publish('c1', live('before 3'))
    const store: Pick<ConversationStore, 'readJournal'> = {
      async *readJournal(_, { after }) {
        if (after === 0) yield entry(1)
        if (after === 0) return yield entry(2)
        hub.publish('c1', live('still before 3'))
        yield entry(3) // entered, but not announced yet
      },
    }
    const stop = new AbortController()
    const told: unknown[] = []
    const following = (async () => {
      for await (const event of follow('c1', { signal: stop.signal }, hub, store, never))
        told.push(event.type === 'entry' ? event.seq : event)
    })()
    await new Promise((resolve) => setTimeout(resolve, 5))
    hub.publish('c1', { type: 'entry', ...entry(3) })
    hub.publish('c1', live('after 3'))
    hub.publish('c1', { type: 'entry', ...entry(4) })
    await new Promise((resolve) => setTimeout(resolve, 5))
    stop.abort()
    await following
    expect(told).toEqual([1, 2, 3, live('after 3'), 4])
  })

  it('can stop at any time, and then nothing is kept for them', async () => {
    const hub = createHub(() => {})
    const empty: Pick<ConversationStore, 'readJournal'> = { async *readJournal() {} }
    const stop = new AbortController()
    const waiting = follow('c1', { signal: stop.signal }, hub, empty, never).next()
    await expect.poll(() => hub.size).toBe(1)
    stop.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await follow('c1', { signal: stop.signal }, hub, empty, never).next()).toEqual({ done: true, value: undefined })
    expect(hub.size).toBe(0)
  })

  it('is let go when the agent closes, and is told everything before', async () => {
    const stage = createHarness({ replies: [answers('One.')] })
    const following = (async () => {
      const events: TurnEvent[] = []
      for await (const event of stage.agent.follow(conversation)) events.push(event)
      return events
    })()
    await stage.agent.run({ conversation, input: 'First.' }).result
    await stage.agent.close()
    expect(seqs(await following)).toEqual(upTo((await stage.journal()).length))
  })

  it('hears of feedback that is left while nothing runs', async () => {
    const stage = createHarness({ replies: [answers('One.')] })
    const { turnId } = await stage.say('First.')
    const { length } = await stage.journal()
    const news = stage.agent.follow(conversation, { after: length })[Symbol.asyncIterator]().next()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await stage.agent.feedback(conversation, { turnId, reaction: 'ok' })
    expect(await news).toMatchObject({ value: { type: 'entry', seq: length + 1, change: { type: 'event.accepted' } } })
  })
})

describe('whoever runs a turn', () => {
  it('may look away: the turn goes on', async () => {
    const stage = createHarness({ replies: [answers('Done.')] })
    const run = stage.agent.run({ conversation, input: 'Do it.' })
    for await (const _ of run) break
    expect(await run.result).toMatchObject({ answer: 'Done.', exitReason: 'complete' })
  })

  it('may look only at the result, or read the events afterwards', async () => {
    const stage = createHarness({ replies: [answers('Done.')] })
    const run = stage.agent.run({ conversation, input: 'Do it.' })
    await run.result
    const events: TurnEvent[] = []
    for await (const event of run) events.push(event)
    expect(seqs(events)).toEqual(upTo((await stage.journal()).length))
  })

  it('may begin to look in the middle of an answer, and is told its beginning', async () => {
    const { reply, halfway, goOn } = slowly(story)
    const stage = createHarness({ replies: [reply] })
    const run = stage.agent.run({ conversation, input: 'Tell me.' })
    await halfway
    const reader = run[Symbol.asyncIterator]()
    goOn()
    const events: TurnEvent[] = []
    for (let next = await reader.next(); !next.done; next = await reader.next()) events.push(next.value)
    expect(laneText(events, 'answer')).toBe(story)
    expect(seqs(events)).toEqual(upTo((await stage.journal()).length))
  })

  it('can stop it with a signal; one that was aborted before begins nothing', async () => {
    const stage = createHarness({ replies: [{ text: '<channel:thinking>Let me', stall: true }, answers('never asked for')] })
    const stop = new AbortController()
    const run = stage.agent.run({ conversation, input: 'Do it.', signal: stop.signal })
    for await (const event of run) if (event.type === 'lane.delta') stop.abort()
    expect(await run.result).toMatchObject({ exitReason: 'steer' })
    const { length } = await stage.journal()
    await expect(stage.agent.run({ conversation, input: 'Again.', signal: stop.signal }).result).rejects.toThrow('aborted')
    expect([stage.model.left, (await stage.journal()).length]).toEqual([1, length])
  })

  it('can stop it in the moment in which it is about to become the next turn', async () => {
    const stop = new AbortController()
    const said: Promise<unknown>[] = []
    const onEntry = (_: string, { change }: EntryEvent) => {
      if (change.type === 'turn.closed' && said.length === 0) {
        said.push(stage.agent.run({ conversation, input: 'Second.', signal: stop.signal }).result)
      } else if (change.type === 'event.accepted') queueMicrotask(() => queueMicrotask(() => stop.abort()))
    }
    const stage = createHarness({ replies: [answers('One.'), { text: '<channel:thinking>Let me', stall: true }], onEntry })
    expect(await stage.say('First.')).toMatchObject({ answer: 'One.' })
    expect(await said[0]).toMatchObject({ exitReason: 'steer' })
  })

  it('is told when it could not be run, whether they watch or wait', async () => {
    const stage = createHarness({ replies: [] })
    await stage.agent.close()
    const run = stage.agent.run({ conversation, input: 'Do it.' })
    const watching = (async () => {
      for await (const _ of run);
    })()
    await expect(watching).rejects.toMatchObject({ code: 'store.closed' })
    await expect(run.result).rejects.toMatchObject({ code: 'store.closed' })
  })
})
