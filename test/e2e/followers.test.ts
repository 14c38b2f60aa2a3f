import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { serverSentEvents } from '../../src/client/server-sent-events.ts'
import { emptyView } from '../../src/client/view/conversation-view.ts'
import { foldEvent } from '../../src/client/view/fold-event.ts'
import type { NativeFrame } from '../../src/core/event.ts'
import { publicEntry } from '../../src/server/events/public-change.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { weather } from '../support/scenario-tools.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

afterEach(closeServers)

const turns = 50
const followerCount = 100

/** Every third turn calls a tool. Every answer is streamed in small pieces. */
const script: readonly Reply[] = Array.from({ length: turns }, (_, turn): readonly Reply[] => {
  const answer = { text: reply.answer(`Answer ${turn}: ${'word '.repeat(20)}`), chunks: 40 }
  return turn % 3 === 0 ? [reply.call('weather.today', { city: `City ${turn}` }, { notes: 'Looking.' }), answer] : [answer]
}).flat()

/** Follows the conversation until its last turn is closed. It reconnects each time after the given number of events. */
async function followToEnd(url: string, framesPerConnection: readonly number[]) {
  let view = emptyView
  let closed = 0
  let connections = 0
  const seqs: number[] = []
  while (closed < turns) {
    const leave = new AbortController()
    const last = seqs.at(-1)
    const response = await fetch(url, { headers: last === undefined ? {} : { 'last-event-id': String(last) }, signal: leave.signal })
    let frames = framesPerConnection[connections++ % framesPerConnection.length] as number
    try {
      for await (const { id, data } of serverSentEvents(response.body as AsyncIterable<Uint8Array>)) {
        const frame = JSON.parse(data) as NativeFrame
        if (frame.type === 'ready') continue
        if (frame.type === 'resync' || frame.type === 'server_shutdown') break
        view = foldEvent(view, frame)
        if (frame.type === 'entry') {
          expect(id).toBe(String(frame.seq))
          seqs.push(frame.seq)
          if (frame.change.type === 'turn.closed') closed++
        }
        if (closed === turns || --frames <= 0) break
      }
    } finally {
      leave.abort()
    }
  }
  return { seqs, view, connections }
}

it('a hundred followers that reconnect often get every entry once and end with the same view', async () => {
  const framesPerConnection = fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 3, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(fc.array(framesPerConnection, { minLength: followerCount, maxLength: followerCount }), async (plans) => {
      const { agent, client, server, store } = await openServer({ replies: script, tools: [weather()], server: { requestsPerMinute: 1e6 } })
      await client.conversations.create({ id: 'c1', title: 'A followerCount' })
      const url = `${server.url}/v1/conversations/c1/events?as=native`
      const following = plans.map((plan) => followToEnd(url, plan))
      for (let turn = 0; turn < turns; turn++) {
        await client.send('c1', `Question ${turn}`)
        await expect.poll(() => [...agent.running], { interval: 2 }).toEqual([])
      }
      const followed = await Promise.all(following)
      let expected = emptyView
      const durable: number[] = []
      for await (const entry of store.readJournal('c1', { after: 0 })) {
        durable.push(entry.seq)
        expected = foldEvent(expected, publicEntry({ type: 'entry', ...entry }))
      }
      expect(expected.turns).toHaveLength(turns)
      for (const { seqs, view } of followed) {
        expect(seqs).toEqual(durable)
        expect(view).toEqual(expected)
      }
      expect(Math.max(...followed.map(({ connections }) => connections))).toBeGreaterThan(5)
      await closeServers()
    }),
    { numRuns: 1 },
  )
}, 60_000)
