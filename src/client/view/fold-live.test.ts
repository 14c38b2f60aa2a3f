import fc from 'fast-check'
import { expect, it } from 'vitest'
import { pausedTool } from '../../../test/support/scenario-tools.ts'
import type { TurnEvent } from '../../core/event.ts'
import { endsLiveOutput } from '../../core/timeline/change.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { type ConversationView, emptyView } from './conversation-view.ts'
import { foldEvent } from './fold-event.ts'

const fold = (events: readonly TurnEvent[], from: ConversationView = emptyView) => events.reduce(foldEvent, from)

/** Follows the conversation of a harness. `view` is the view of a page that was opened when the following began. */
function openPage({ agent, conversationId }: Harness, after: ConversationView = emptyView) {
  const left = new AbortController()
  const events: TurnEvent[] = []
  let view = after
  const following = (async () => {
    for await (const event of agent.follow(conversationId, { after: after.lastSeq, signal: left.signal })) {
      events.push(event)
      view = foldEvent(view, event)
    }
  })()
  return {
    events,
    get view() {
      return view
    },
    async close() {
      left.abort()
      await following
    },
  }
}

const answerText = ({ live, turns }: ConversationView) =>
  live?.lanes.find(({ marker }) => marker === 'answer')?.text ?? turns.at(-1)?.answers.at(-1)?.text

/** A reply whose answer pauses after each word, until the test lets it continue. */
function heldReply(words: readonly string[]) {
  const [head = '', tail = ''] = reply.answer('\0').split('\0')
  let at = 0
  let goOn = () => {}
  const held: Reply = {
    text: 'sent in pieces',
    chunks: [head, ...words, tail],
    async onChunk(index) {
      while (index > at)
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
    },
  }
  return {
    held,
    next() {
      at++
      goOn()
    },
  }
}

it('a page that is opened in the middle of an answer shows the answer from its beginning', async () => {
  const words = ['Rome ', 'was ', 'founded ', 'by ', 'brothers.']
  const { held, next } = heldReply(words)
  const harness = createHarness({ replies: [held] })
  await harness.agent.send(harness.conversationId, 'Rome?')
  const first = openPage(harness)
  for (const [index] of words.entries()) {
    next()
    const soFar = words.slice(0, index + 1).join('')
    await expect.poll(() => answerText(first.view)).toBe(soFar)
    const reloaded = openPage(harness)
    await expect.poll(() => answerText(reloaded.view)).toBe(soFar)
    await expect.poll(() => reloaded.view).toEqual(first.view)
    await reloaded.close()
    const reconnected = openPage(harness, first.view)
    await expect.poll(() => reconnected.events.length).toBeGreaterThan(0)
    await expect.poll(() => reconnected.view).toEqual(first.view)
    await reconnected.close()
  }
  next()
  next()
  await expect.poll(() => first.view.turns[0]?.endedAt).toBeDefined()
  expect(first.view.turns).toMatchObject([{ answers: [{ text: words.join(''), stopped: false }] }])
  await first.close()
})

/** The events of a conversation with a waiting message, a withdrawn message, a followup, a stopped answer and a refused call. */
async function eventfulConversation(): Promise<readonly TurnEvent[]> {
  const { tool, finish } = pausedTool()
  const stopped: Reply = { text: reply.answer('Half an answer').replace('</channel:answer>', ''), chunks: 4, stall: true }
  const harness = createHarness({
    replies: [
      reply.call(tool.id, {}, { notes: 'Working.' }),
      reply.answer('Both done.', { followups: ['More?'] }),
      stopped,
      reply.call('none.such', {}),
      reply.answer('Sorry.'),
    ],
    tools: [tool],
  })
  const { agent, conversationId } = harness
  const page = openPage(harness)
  await agent.send(conversationId, 'Work.')
  await expect.poll(() => page.view.live?.running.length).toBe(1)
  await agent.send(conversationId, 'This, too.', { eventId: 'm1' })
  await agent.send(conversationId, 'Not this.', { eventId: 'm2' })
  await agent.withdraw(conversationId, 'm2')
  await expect.poll(() => page.view.waiting.map(({ text }) => text)).toEqual(['This, too.'])
  finish()
  await expect.poll(() => page.view.turns[0]?.endedAt).toBeDefined()
  await agent.send(conversationId, 'And now?')
  await expect.poll(() => answerText(page.view)).toBe('Half an answer')
  await agent.stop(conversationId)
  await expect.poll(() => page.view.turns[1]?.endedAt).toBeDefined()
  await agent.send(conversationId, 'Call something.')
  await expect.poll(() => page.view.turns[2]?.endedAt).toBeDefined()
  await agent.drain(5_000)
  await page.close()
  return page.events
}

it('shows followups, keeps finished and stopped answers, and is the same after a reconnect at any point', async () => {
  const events = await eventfulConversation()
  const whole = fold(events)
  expect(whole).toMatchObject({ waiting: [], live: undefined })
  expect(whole.turns).toMatchObject([
    { prompt: 'Work.', answers: [{ text: 'Both done.', stopped: false }], followups: ['More?'] },
    { prompt: 'And now?', answers: [{ text: 'Half an answer', stopped: true }], failed: false },
    { prompt: 'Call something.', answers: [{ text: 'Sorry.' }] },
  ])
  expect(whole.turns[0]?.steps).toMatchObject([
    { kind: 'thinking' },
    { kind: 'notes', text: 'Working.' },
    { kind: 'tool', toolId: 'paused.work', status: 'done', startedAt: expect.any(String), endedAt: expect.any(String) },
    { kind: 'message', from: 'followup', text: 'This, too.' },
    { kind: 'thinking' },
  ])
  const entries = events.filter(({ type }) => type === 'entry')
  expect(fold(entries)).toEqual(whole)
  fc.assert(
    fc.property(fc.nat(events.length), fc.nat(events.length), (a, b) => {
      const [lost, joined] = [Math.min(a, b), Math.max(a, b)]
      const seen = fold(events.slice(0, lost))
      const stored = events.slice(0, joined)
      const missed = stored.filter((event) => event.type === 'entry' && event.seq > seen.lastSeq)
      const reconnected = fold([...missed, ...inFlight(stored)], seen)
      expect(reconnected).toEqual(fold(stored))
      expect(fold(events.slice(joined), reconnected)).toEqual(whole)
    }),
    { numRuns: 300 },
  )
})

it('a text that turned out to be notes is not shown twice when it is sent again after a reconnect', () => {
  const deltas = ['I look ', 'at it.', ''].map((text, index): TurnEvent => {
    const last = index === 2
    const delta = {
      marker: 'answer' as const,
      format: 'markdown' as const,
      index,
      text,
      completed: last,
      ...(last && { as: 'notes' as const }),
    }
    return { type: 'lane.delta', turn_id: 't1', iteration: 0, attempt: 0, delta }
  })
  const seen = fold(deltas)
  expect(seen.live?.lanes).toMatchObject([{ marker: 'timeline_text', text: 'I look at it.' }])
  expect(fold(deltas, seen)).toEqual(seen)
})

/** No answer that a person has seen whole is ever replaced by another text or removed. */
it('a finished answer never changes', async () => {
  let view = emptyView
  for (const event of await eventfulConversation()) {
    const before = view.turns.flatMap(({ id, endedAt, answers }) => (endedAt === undefined ? [] : [[id, answers.at(-1)?.text]]))
    view = foldEvent(view, event)
    for (const [id, text] of before) expect(view.turns.find((turn) => turn.id === id)?.answers.at(-1)?.text).toBe(text)
  }
})

/** The live events of the current round. A server sends them again to a client that connects. */
function inFlight(events: readonly TurnEvent[]): readonly TurnEvent[] {
  const last = events.findLastIndex((event) => event.type === 'entry' && endsLiveOutput(event.change))
  return events.slice(last + 1).filter(({ type }) => type !== 'entry')
}
