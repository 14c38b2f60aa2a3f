import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import type { TurnEvent } from '../../src/core/event.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { createMemoryRelays } from '../support/memory-relay.ts'
import { pausedAnswer } from '../support/scenario-tools.ts'
import { deltasOf, followToClose, laneText, seqs, upTo } from '../support/watch-turn.ts'

const conversationId = 'c1'
const story = 'Rome was founded, as legend has it, by two brothers, and one of them named it. '.repeat(3)
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

type Relays = ReturnType<typeof createMemoryRelays>

/** A store that several agents share, each with a relay of its own. */
function sharedStore(relays: Relays): () => ConversationStore {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() })
  return () => ({ ...store, relay: relays.open() })
}

const openAgent = (store: ConversationStore, replies: readonly Reply[] = []): Agent =>
  createAgentFrom({ model: scriptedModel(replies), store, clock: createSystemClock() })

/** The text that a follower has seen is a beginning of the answer, without a gap and without a piece that came twice. */
function expectBeginning(events: readonly TurnEvent[], answer: string): void {
  const indexes = deltasOf(events, 'answer').map(({ delta }) => delta.index)
  expect(indexes).toEqual(indexes.map((_, index) => index))
  expect(answer.startsWith(laneText(events, 'answer'))).toBe(true)
}

it('whatever messages of the relay are lost, a follower sees a beginning of the answer without gaps, and every entry once', async () => {
  let shown = 0
  let repaired = 0
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 6 }), fc.nat(3), async (lost, pause) => {
      const relays = createMemoryRelays((number) => lost.includes(number), 600)
      const open = sharedStore(relays)
      const onChunk = async (index: number) => {
        if (index % 12 === pause) await wait(8)
      }
      const owner = openAgent(open(), [{ text: reply.answer(story), chunks: 4, onChunk }])
      const other = openAgent(open())
      const early = followToClose(other, conversationId)
      const run = owner.run(conversationId, 'Tell me.')
      await wait(20)
      const late = followToClose(other, conversationId, { after: 1 })
      await run.result
      await Promise.all([early.ended, late.ended])
      for (const { events } of [early, late]) {
        expectBeginning(events, story)
        if (laneText(events, 'answer') !== '') shown++
        if (laneText(events, 'answer') !== '' && lost.some((number) => number < relays.sent.length)) repaired++
      }
      expect(seqs(early.events)).toEqual(upTo(seqs(early.events).length))
      expect(seqs(late.events)).toEqual(upTo(seqs(early.events).length, 2))
      await Promise.all([owner.close(), other.close()])
    }),
    { numRuns: 25 },
  )
  expect(shown).toBeGreaterThan(10)
  expect(repaired).toBeGreaterThan(5)
})

it('a long answer that is joined in its middle arrives from its beginning', async () => {
  const relays = createMemoryRelays()
  const open = sharedStore(relays)
  const long = story.repeat(200)
  const { reply, halfway, resume } = pausedAnswer(long)
  const [owner, other] = [openAgent(open(), [reply]), openAgent(open())]
  const run = owner.run(conversationId, 'Tell me.')
  await halfway
  const follower = followToClose(other, conversationId)
  await expect.poll(() => laneText(follower.events, 'answer').length).toBeGreaterThan(long.length - 100)
  expectBeginning(follower.events, long)
  resume()
  await run.result
  await follower.ended
  await Promise.all([owner.close(), other.close()])
})

it('nothing is sent while only followers in the same process follow, and no longer than there are others', async () => {
  const relays = createMemoryRelays()
  const open = sharedStore(relays)
  const second = pausedAnswer(story)
  const third = pausedAnswer(story)
  const owner = openAgent(open(), [reply.answer(story), second.reply, third.reply])
  const other = openAgent(open())
  const here = followToClose(owner, conversationId)
  await owner.run(conversationId, 'Tell me.').result
  await here.ended
  expect(relays.sent.filter(({ text }) => !text.includes('"connected"'))).toEqual([])

  const stop = new AbortController()
  const elsewhere: TurnEvent[] = []
  const following = (async () => {
    for await (const event of other.follow(conversationId, { signal: stop.signal })) elsewhere.push(event)
  })()
  const run = owner.run(conversationId, 'Tell me again.')
  await second.halfway
  await expect.poll(() => laneText(elsewhere, 'answer')).not.toBe('')
  stop.abort()
  await following
  await expect.poll(() => relays.sent.some(({ text }) => text.includes('"ends":["c1"]'))).toBe(true)
  await wait(100) // a batch may have been on its way
  const count = relays.sent.length
  second.resume()
  await run.result
  const last = owner.run(conversationId, 'And again.')
  await third.halfway
  third.resume()
  await last.result
  expect(relays.sent.length).toBe(count)
  await Promise.all([owner.close(), other.close()])
})

it('a replica takes no harm from messages that it can not read', async () => {
  const relays = createMemoryRelays()
  const open = sharedStore(relays)
  const { reply, halfway, resume } = pausedAnswer(story)
  const [owner, other] = [openAgent(open(), [reply]), openAgent(open())]
  const run = owner.run(conversationId, 'Tell me.')
  await halfway
  const follower = followToClose(other, conversationId)
  await expect.poll(() => laneText(follower.events, 'answer')).not.toBe('')
  const entry = { number: 1, seq: 1, event: { type: 'entry', seq: 9, change: { type: 'title.set', ts: 't', title: 'Forged' } } }
  const forged = { type: 'batches', batches: [{ conversation_id: conversationId, epoch: 99, after: 0, last: 1, events: [entry] }] }
  const hostile = [
    '',
    '\n',
    'x',
    '{}',
    'ab 1 0 1\n',
    'ab 1 0 1\n{"type":"requests"}',
    `ab 1 0 1\n${JSON.stringify(forged)}`,
    'ab 1 0 1e9\n[',
  ]
  const requests = { type: 'requests', requests: [{ conversation_id: 'missing', epoch: 0, number: 0 }], ends: [conversationId] }
  for (const address of ['all', ...relays.addresses()]) {
    for (const text of hostile) relays.inject(address, text)
    relays.inject(address, `stranger 1 0 1\n${JSON.stringify(requests)}`)
  }
  resume()
  await run.result
  await follower.ended
  expectBeginning(follower.events, story)
  expect(seqs(follower.events)).toEqual(upTo(seqs(follower.events).length))
  await Promise.all([owner.close(), other.close()])
})
