import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pausedAnswer, weather } from '../../../test/support/scenario-tools.ts'
import { laneText, seqs, upTo } from '../../../test/support/watch-turn.ts'
import type { EntryEvent, TurnEvent } from '../../core/event.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'

const conversationId = 'c1'
const story = 'Rome was founded, as legend has it, by two brothers, and one of them named it.'

describe('a turn handle', () => {
  it('does not stop the turn when its iteration ends early', async () => {
    const harness = createHarness({ replies: [reply.answer('Done.')] })
    const run = harness.agent.run(conversationId, 'Do it.')
    for await (const _ of run) break
    expect(await run.result).toMatchObject({ answer: 'Done.', exitReason: 'complete' })
  })

  it('yields all entries when it is iterated after the result', async () => {
    const harness = createHarness({ replies: [reply.answer('Done.')] })
    const run = harness.agent.run(conversationId, 'Do it.')
    await run.result
    const events: TurnEvent[] = []
    for await (const event of run) events.push(event)
    expect(seqs(events)).toEqual(upTo((await harness.journal()).length))
  })

  it('yields the whole answer when it is first iterated in the middle of it', async () => {
    const { reply, halfway, resume } = pausedAnswer(story)
    const harness = createHarness({ replies: [reply] })
    const run = harness.agent.run(conversationId, 'Tell me.')
    await halfway
    const reader = run[Symbol.asyncIterator]()
    resume()
    const events: TurnEvent[] = []
    for (let next = await reader.next(); !next.done; next = await reader.next()) events.push(next.value)
    expect(laneText(events, 'answer')).toBe(story)
    expect(seqs(events)).toEqual(upTo((await harness.journal()).length))
  })

  it('stops the turn when its signal aborts; an aborted signal starts none', async () => {
    const harness = createHarness({ replies: [{ text: '<channel:thinking>Let me', stall: true }, reply.answer('never asked for')] })
    const stop = new AbortController()
    const run = harness.agent.run(conversationId, 'Do it.', { signal: stop.signal })
    for await (const event of run) if (event.type === 'lane.delta') stop.abort()
    expect(await run.result).toMatchObject({ exitReason: 'steer' })
    const { length } = await harness.journal()
    await expect(harness.agent.run(conversationId, 'Again.', { signal: stop.signal }).result).rejects.toThrow('aborted')
    expect([harness.model.left, (await harness.journal()).length]).toEqual([1, length])
  })

  it('stops the turn or withdraws the message when its signal aborts while the followup is about to become a turn', async () => {
    const outcomes = new Set<unknown>()
    for (let delay = 0; delay < 12; delay++) {
      const stop = new AbortController()
      const abortAfter = (steps: number): void => (steps === 0 ? stop.abort() : queueMicrotask(() => abortAfter(steps - 1)))
      const said: Promise<unknown>[] = []
      const onEntry = (_: string, { change }: EntryEvent) => {
        if (change.type === 'turn.closed' && said.length === 0) {
          const { result } = harness.agent.run(conversationId, 'Second.', { signal: stop.signal })
          said.push(
            result.then(
              ({ exitReason }) => exitReason,
              (error: Error) => error.name,
            ),
          )
        } else if (change.type === 'event.accepted') abortAfter(delay)
      }
      const harness = createHarness({ replies: [reply.answer('One.'), { text: '<channel:thinking>Let me', stall: true }], onEntry })
      expect(await harness.say('First.')).toMatchObject({ answer: 'One.' })
      outcomes.add(await said[0])
    }
    expect(outcomes).toEqual(new Set(['AbortError', 'steer']))
  })

  it('throws the error of a turn that could not start, both from the iteration and from the result', async () => {
    const harness = createHarness({ replies: [] })
    await harness.agent.close()
    const run = harness.agent.run(conversationId, 'Do it.')
    const watching = (async () => {
      for await (const _ of run);
    })()
    await expect(watching).rejects.toMatchObject({ code: 'store.closed' })
    await expect(run.result).rejects.toMatchObject({ code: 'store.closed' })
  })

  it('yields no entries of earlier turns', async () => {
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')] })
    await harness.say('First.')
    const { length } = await harness.journal()
    const run = harness.agent.run(conversationId, 'Second.')
    await run.result
    const events: TurnEvent[] = []
    for await (const event of run) events.push(event)
    expect(seqs(events)).toEqual(upTo((await harness.journal()).length, length + 1))
    expect(events.flatMap((event) => (event.type === 'entry' ? [event.change] : []))).toEqual((await harness.journal()).slice(length))
  })

  it('continues where the last iteration stopped, also among entries read from the journal', async () => {
    const harness = createHarness({ replies: [reply.answer('Done.')] })
    const run = harness.agent.run(conversationId, 'Do it.')
    await run.result
    const events: TurnEvent[] = []
    for (let before = -1; events.length > before; ) {
      before = events.length
      for await (const event of run) {
        events.push(event)
        if (events.length % 2 === 0) break
      }
    }
    expect(seqs(events)).toEqual(upTo((await harness.journal()).length))
  })

  it('yields every entry exactly once, whenever it is first iterated', async () => {
    const replies = [
      reply.call('weather.today', { city: 'Rome' }),
      reply.call('weather.today', { city: 'Oslo' }),
      reply.answer('Clear.'),
      reply.answer('Still.'),
    ]
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 250 }), async (ticks) => {
        const harness = createHarness({ replies, tools: [weather()] })
        await harness.say('How is it?')
        const { length } = await harness.journal()
        const run = harness.agent.run(conversationId, 'And now?')
        for (let tick = 0; tick < ticks; tick++) await undefined
        const events: TurnEvent[] = []
        for await (const event of run) events.push(event)
        expect(seqs(events)).toEqual(upTo((await harness.journal()).length, length + 1))
      }),
      { numRuns: 200 },
    )
  })
})
