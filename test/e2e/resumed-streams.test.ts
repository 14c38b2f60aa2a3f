import { afterEach, describe, expect, it } from 'vitest'
import { serverSentEvents } from '../../src/client/server-sent-events.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { weather } from '../support/scenario-tools.ts'
import { answered, closeServers, openServer, viewWhen } from '../support/server-fixture.ts'

afterEach(closeServers)

interface Received {
  readonly id: string
  readonly text: string
}

/** The frames of a stream after `ready`, up to the first for which `isLast` is true. Request ids are left out, because they differ. */
async function read(url: string, lastEventId: string | undefined, isLast: (text: string) => boolean): Promise<readonly Received[]> {
  const leave = new AbortController()
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const response = await fetch(url, { headers, signal: leave.signal })
  expect(response.status).toBe(200)
  const frames: Received[] = []
  for await (const { event, id, data } of serverSentEvents(response.body as AsyncIterable<Uint8Array>)) {
    if (event === 'ready') continue
    frames.push({ id: id ?? '', text: data.replace(/"request_id":"[^"]*"/, '') })
    if (isLast(data)) break
  }
  leave.abort()
  return frames
}

const ends = {
  native: '"type":"turn.closed"',
  chat: '"state":"idle"',
  'ag-ui': 'RUN_FINISHED',
}

describe.each(['native', 'chat', 'ag-ui'] as const)('a stream in the format %s', (as) => {
  it('that is cut after any frame goes on with the next frame: none is missing, none is repeated', async (context) => {
    const replies = [
      reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking.' }),
      reply.call('weather.today', { city: 'Oslo' }),
      reply.answer('Clear in Rome.', { followups: ['And tomorrow?'] }),
    ]
    const { client, server } = await openServer({ replies, tools: [weather()] })
    await client.conversations.create({ id: 'c1' })
    await client.send('c1', 'Rome?')
    await viewWhen(client, 'c1', answered)
    const url = `${server.url}/v1/conversations/c1/events?as=${as}`
    const isLast = (text: string) => text.includes(ends[as])
    const whole = await read(url, undefined, isLast)
    expect(whole.length).toBeGreaterThan(9)
    countAttempts(context, whole.length - 1)
    let previous: string | undefined
    for (const [index, { id }] of whole.slice(0, -1).entries()) {
      expect([id !== '', id !== previous]).toEqual([true, true]) // every frame of an entry has an id of its own
      previous = id
      const rest = await read(url, id, isLast)
      const withoutStart = as === 'ag-ui' ? rest.filter(({ text }) => !text.includes('RUN_STARTED')) : rest // AG-UI begins every stream with it
      expect([index, withoutStart]).toEqual([index, whole.slice(index + 1)])
    }
  })
})

it('an id that is not of a stream is answered with 400', async () => {
  const { client, server } = await openServer()
  await client.conversations.create({ id: 'c1', title: 'One' })
  for (const id of ['1.', '.1', '1.1.1', 'x', '-1', '9', '9.1', '1.1234567890']) {
    const response = await fetch(`${server.url}/v1/conversations/c1/events`, { headers: { 'last-event-id': id } })
    expect([id, response.status]).toEqual([id, 400])
  }
})
