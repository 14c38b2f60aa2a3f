import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { slowly, weather } from '../../../test/support/scenario-tools.ts'
import { laneText, seqs, upTo } from '../../../test/support/watch-turn.ts'
import type { EntryEvent, TurnEvent } from '../../core/event.ts'
import { createHarness } from '../../testing/harness.ts'
import { answers, calls } from '../../testing/scripted-model.ts'

const conversation = 'c1'
const story = 'Rome was founded, as legend has it, by two brothers, and one of them named it.'

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

  it('and reads the events afterwards, is told of no earlier turn', async () => {
    const stage = createHarness({ replies: [answers('One.'), answers('Two.')] })
    await stage.say('First.')
    const { length } = await stage.journal()
    const run = stage.agent.run({ conversation, input: 'Second.' })
    await run.result
    const events: TurnEvent[] = []
    for await (const event of run) events.push(event)
    expect(seqs(events)).toEqual(upTo((await stage.journal()).length, length + 1))
    expect(events.flatMap((event) => (event.type === 'entry' ? [event.change] : []))).toEqual((await stage.journal()).slice(length))
  })

  it('may leave while the past is read, and goes on where they stopped', async () => {
    const stage = createHarness({ replies: [answers('Done.')] })
    const run = stage.agent.run({ conversation, input: 'Do it.' })
    await run.result
    const events: TurnEvent[] = []
    for (let before = -1; events.length > before; ) {
      before = events.length
      for await (const event of run) {
        events.push(event)
        if (events.length % 2 === 0) break
      }
    }
    expect(seqs(events)).toEqual(upTo((await stage.journal()).length))
  })

  it('misses no entry and is told none twice, whenever they begin to look', async () => {
    const replies = [
      calls('weather.today', { city: 'Rome' }),
      calls('weather.today', { city: 'Oslo' }),
      answers('Clear.'),
      answers('Still.'),
    ]
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 250 }), async (ticks) => {
        const stage = createHarness({ replies, tools: [weather()] })
        await stage.say('How is it?')
        const { length } = await stage.journal()
        const run = stage.agent.run({ conversation, input: 'And now?' })
        for (let tick = 0; tick < ticks; tick++) await undefined
        const events: TurnEvent[] = []
        for await (const event of run) events.push(event)
        expect(seqs(events)).toEqual(upTo((await stage.journal()).length, length + 1))
      }),
      { numRuns: 200 },
    )
  })
})
