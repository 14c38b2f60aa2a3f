import { type ConversationView, emptyView, foldEvent, type TurnEvent } from 'daybook/client'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createHarness } from '../../../src/testing/harness.ts'
import { reply } from '../../../src/testing/scripted-model.ts'
import { foldSome } from './fold-some.ts'

/** The events of a turn with a long answer in small pieces. */
async function eventsOfTurn(): Promise<readonly TurnEvent[]> {
  const text = reply.answer(Array.from({ length: 400 }, (_, index) => `word ${index} `).join(''))
  const { agent, conversationId } = createHarness({ replies: [{ text, chunks: 12 }] })
  const events: TurnEvent[] = []
  const left = new AbortController()
  const following = (async () => {
    for await (const event of agent.follow(conversationId, { signal: left.signal })) {
      events.push(event)
      if (event.type === 'entry' && event.change.type === 'turn.closed') return
    }
  })()
  await agent.run(conversationId, 'Write.').result
  await following
  left.abort()
  return events
}

it('events that are folded in several frames give the same view as events that are folded at once', async () => {
  const events = await eventsOfTurn()
  const whole = events.reduce(foldEvent, emptyView)
  expect(whole.turns[0]?.answers[0]?.text).toMatch(/^word 0 .*word 399$/)
  let interrupted = 0
  fc.assert(
    fc.property(fc.infiniteStream(fc.boolean()), fc.array(fc.nat(events.length)), (isOver, arrivals) => {
      let view: ConversationView = emptyView
      let queue: TurnEvent[] = []
      let arrived = 0
      for (const end of [...arrivals.sort((a, b) => a - b), events.length]) {
        queue.push(...events.slice(arrived, Math.max(end, arrived)))
        arrived = Math.max(end, arrived)
        const done = foldSome(queue, view, () => isOver.next().value === true)
        if (done.rest.length > 0) interrupted++
        view = done.view
        queue = done.rest
      }
      while (queue.length > 0) ({ view, rest: queue } = foldSome(queue, view, () => true))
      expect(view).toEqual(whole)
    }),
  )
  expect(interrupted).toBeGreaterThan(20)
})
