import { afterEach, expect, it } from 'vitest'
import type { ConversationView } from '../../src/client/view/conversation-view.ts'
import { parseJson } from '../../src/core/json.ts'
import type { ChatEnvelope } from '../../src/server/events/chat-events.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { answered, closeServers, openServer, type ServerFixture, viewWhen } from '../support/server-fixture.ts'

afterEach(closeServers)

const rome = 'Rome was founded by two brothers'
const unfinished: Reply = { text: reply.answer(rome).replace('</channel:answer>', ''), chunks: 7, stall: true }
const liveAnswer = ({ live }: ConversationView) => live?.lanes.find(({ marker }) => marker === 'answer')?.text

/** A conversation whose answer was stopped, after a follower had seen `rome` of it. */
async function stopAnswer(options: Parameters<typeof openServer>[0] = {}): Promise<ServerFixture> {
  const fixture = await openServer({ replies: [unfinished], ...options })
  await fixture.client.conversations.create({ id: 'c1' })
  await fixture.client.send('c1', 'Rome?')
  await viewWhen(fixture.client, 'c1', (view) => liveAnswer(view) === rome)
  expect(await fixture.client.stop('c1')).toEqual({ stopped: true })
  return fixture
}

/** The data of the events that a client gets that opens the conversation now. */
async function eventsAs(url: string, as: string): Promise<readonly unknown[]> {
  const abort = new AbortController()
  const response = await fetch(`${url}/v1/conversations/c1/events?as=${as}&after=0`, { signal: abort.signal })
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (/"turn\.closed"|conv\.status.*"idle"|RUN_FINISHED|\[DONE\]/s.test(text)) break
  }
  abort.abort()
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [parseJson(line.slice(6))] : []))
}

const expected = [{ answers: [{ text: rome, stopped: true, truncated: false }], exitReason: 'steer', failed: false }]

it('a stopped answer stays on the screen of a follower, and is there after a reload, in every format', async () => {
  const { client, server } = await stopAnswer()
  expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject(expected)
  const blocks = (await client.timeline('c1')).blocks.filter(({ type }) => type === 'assistant.completion')
  expect(blocks).toMatchObject([{ text: rome, meta: { stopped: true } }])

  const chat = (await eventsAs(server.url, 'chat')) as readonly ChatEnvelope[]
  expect(chat.find(({ type }) => type === 'chat.complete')?.data).toMatchObject({ final_answer: rome, stopped: true })
  expect(chat.find(({ data, type }) => type === 'conv.status' && data.state === 'idle')?.data).toMatchObject({ completion: 'interrupted' })
  const agUi = await eventsAs(server.url, 'ag-ui')
  expect(agUi).toContainEqual(expect.objectContaining({ type: 'TEXT_MESSAGE_CONTENT', delta: rome }))
  expect(agUi.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' }, result: { exit_reason: 'steer' } })
  const parts = await eventsAs(server.url, 'ui-message')
  expect(parts).toContainEqual(expect.objectContaining({ type: 'text-delta', delta: rome }))
  expect(parts.slice(-3, -1)).toEqual([{ type: 'abort' }, { type: 'finish', messageMetadata: { stopped: true } }])
})

it('a stopped answer does not leave the screen while the turn ends slowly', async () => {
  const released = Promise.withResolvers<void>()
  const waiting = Promise.withResolvers<void>()
  const onBeforeCompletion = async () => {
    waiting.resolve()
    await released.promise
    return []
  }
  const { client } = await stopAnswer({ hooks: [{ onBeforeCompletion }] })
  await waiting.promise
  const steerWasRead = ({ turns }: ConversationView) => turns[0]?.steps.some((step) => step.kind === 'message') === true
  expect(liveAnswer(await viewWhen(client, 'c1', (view) => steerWasRead(view) && liveAnswer(view) !== undefined))).toBe(rome)
  released.resolve()
  expect((await viewWhen(client, 'c1', answered)).turns).toMatchObject(expected)
})

it('a stopped answer is part of an export, an import and a fork', async () => {
  const { client } = await stopAnswer()
  await viewWhen(client, 'c1', answered)
  await expect.poll(async () => (await client.conversations.get('c1')).open_turn).toBe(null)
  await client.conversations.import(await client.conversations.export('c1'), 'copy')
  await client.conversations.fork('c1', { id: 'fork' })
  for (const id of ['copy', 'fork']) {
    const view = await viewWhen(client, id, ({ turns }) => turns[0]?.answers.length === 1)
    expect(view.turns).toMatchObject([{ answers: [{ text: rome, stopped: true }] }])
  }
})

it('answers that were shown before the last one are there after a reload, too', async () => {
  const { client, server } = await openServer({
    replies: [unfinished, { text: '', stall: true }],
    settings: { maxSeconds: 0.1, wrapUpSeconds: 0.05 },
  })
  await client.conversations.create({ id: 'c1' })
  await client.send('c1', 'Rome?')
  expect((await viewWhen(client, 'c1', answered)).turns[0]?.answers).toMatchObject([
    { text: rome, truncated: true },
    { text: expect.stringContaining('time limit') },
  ])
  const chat = (await eventsAs(server.url, 'chat')) as readonly ChatEnvelope[]
  expect(chat.find(({ type }) => type === 'chat.complete')?.data).toMatchObject({ earlier_answers: [rome] })
})
