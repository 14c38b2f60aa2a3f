import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpAgent } from '@ag-ui/client'
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import { afterEach, describe, expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import { answering, runTurnWith, stopTurn } from '../../../test/support/watch-turn.ts'
import type { TurnEvent } from '../../core/event.ts'
import { createHarness } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'
import { createAgUiFormat } from './ag-ui.ts'
import type { Format } from './format.ts'
import { sseResponse } from './sse.ts'
import { createUiMessageFormat } from './ui-message.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const start = { conversationId: 'c1', lastSeq: 0, ts: '2026-01-01T00:00:00.000Z' }
const context = { conversationId: 'c1', sources: [], resourceUrl: (rn: string) => `/v1/resources/${rn}` }

const good: readonly Reply[] = [reply.call('weather.today', { city: 'Rome' }), reply.answer('It is **clear** in Rome.')]
const hopeless: readonly Reply[] = Array.from({ length: 3 }, () => '<channel:answer>of no use')

const unfinished: Reply = { text: reply.answer('It is clear').replace('</channel:answer>', ''), stall: true }

async function stoppedEvents(): Promise<readonly TurnEvent[]> {
  return (await runTurnWith(createHarness({ replies: [unfinished] }), 'Rome?', { when: answering, act: stopTurn })).events
}

async function eventsOf(replies: readonly Reply[]): Promise<readonly TurnEvent[]> {
  return (await createHarness({ replies, tools: [weather()] }).say('Rome?')).events
}

/** Sends these events over a real connection, and returns the text that the client gets. */
async function serve(events: readonly TurnEvent[], format: () => Format): Promise<string> {
  const server = createServer(async (_request, reply) => {
    async function* replay() {
      yield* events
    }
    const response = sseResponse(replay(), { start, format: format(), onEnd: () => {} })
    reply.writeHead(200, Object.fromEntries(response.headers))
    for await (const chunk of response.body ?? []) reply.write(chunk)
    reply.end()
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

describe('the AG-UI client', () => {
  async function run(events: readonly TurnEvent[]) {
    const agent = new HttpAgent({ url: await serve(events, () => createAgUiFormat(context)), threadId: 'c1' })
    const seen: string[] = []
    const failed: string[] = []
    const finished: unknown[] = []
    const outcome = await agent
      .runAgent(
        {},
        {
          onEvent: ({ event }) => void seen.push(event.type),
          onRunFinishedEvent: ({ event }) => void finished.push(event.outcome),
          onRunErrorEvent: ({ event }) => void failed.push(event.message),
        },
      )
      .catch((error: unknown) => ({ error }))
    return { seen, failed, finished, messages: agent.messages, outcome }
  }

  it('reads a turn: thinking, a tool call and its result, the answer, the end', async () => {
    const { seen, messages } = await run(await eventsOf(good))
    expect(seen.at(0)).toBe('RUN_STARTED')
    expect(seen.at(-1)).toBe('RUN_FINISHED')
    expect(messages).toContainEqual(expect.objectContaining({ role: 'assistant', content: 'It is **clear** in Rome.' }))
    expect(messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))).toMatchObject([
      { function: { name: 'weather.today', arguments: '{"city":"Rome"}' } },
    ])
    expect(messages.find(({ role }) => role === 'tool')?.content).toContain('"sky":"clear"')
  })

  it('reads the same answer from the entries when it joins after the turn', async () => {
    const entries = (await eventsOf(good)).filter(({ type }) => type === 'entry')
    const { messages } = await run(entries)
    expect(messages).toContainEqual(expect.objectContaining({ role: 'assistant', content: 'It is **clear** in Rome.' }))
  })

  it('is told that the run was cancelled when the user stops it, and keeps the text', async () => {
    const events = await stoppedEvents()
    for (const stream of [events, events.filter(({ type }) => type === 'entry')]) {
      const { messages, finished, failed } = await run(stream)
      expect(messages).toContainEqual(expect.objectContaining({ role: 'assistant', content: 'It is clear' }))
      expect([finished, failed]).toEqual([[{ type: 'cancelled' }], []])
    }
    expect((await run(await eventsOf(good))).finished).toEqual([undefined])
  })

  it('gets the text of a repeated call as a message of its own when another process resumes the turn', async () => {
    const events = await eventsOf([reply.answer('It is clear.')])
    const isAnswer = (event: TurnEvent) => event.type === 'lane.delta' && event.delta.marker === 'answer' && event.delta.text !== ''
    const first = events.findIndex(isAnswer)
    const before = events[first]
    if (before?.type !== 'lane.delta') throw new Error('there is no live text')
    const cut: TurnEvent = { ...before, delta: { ...before.delta, text: 'It is cl', completed: false } }
    const { messages } = await run(events.toSpliced(first, 0, cut))
    expect(messages.flatMap(({ role, content }) => (role === 'assistant' && content !== undefined ? [content] : []))).toEqual([
      'It is cl',
      'It is clear.',
    ])
  })

  it('is sent an error when the turn fails', async () => {
    const { failed } = await run(await eventsOf(hopeless))
    expect(failed).toEqual(['The turn could not be finished.'])
  })
})

describe('the AI SDK', () => {
  async function read(
    events: readonly TurnEvent[],
  ): Promise<{ readonly message: UIMessage | undefined; readonly errors: readonly unknown[] }> {
    const transport = new DefaultChatTransport({ api: await serve(events, () => createUiMessageFormat(context)) })
    const stream = await transport.sendMessages({
      trigger: 'submit-message',
      chatId: 'c1',
      messageId: undefined,
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Rome?' }] }],
      abortSignal: undefined,
    })
    const errors: unknown[] = []
    let message: UIMessage | undefined
    for await (const state of readUIMessageStream({ stream, onError: (error) => void errors.push(error) })) message = state
    return { message, errors }
  }

  it('builds the message from the stream: reasoning, tool call, text', async () => {
    const { message, errors } = await read(await eventsOf(good))
    expect(errors).toEqual([])
    const parts = message?.parts ?? []
    expect(parts.filter(({ type }) => type === 'text')).toMatchObject([{ text: 'It is **clear** in Rome.', state: 'done' }])
    expect(parts.filter(({ type }) => type === 'dynamic-tool')).toMatchObject([
      { toolName: 'weather.today', input: { city: 'Rome' }, output: { sky: 'clear' }, state: 'output-available' },
    ])
    expect(parts.some(({ type }) => type === 'reasoning')).toBe(true)
  })

  it('keeps the text of a turn that the user stops, and its metadata says so', async () => {
    const events = await stoppedEvents()
    for (const stream of [events, events.filter(({ type }) => type === 'entry')]) {
      const { message, errors } = await read(stream)
      expect(errors).toEqual([])
      expect(message?.parts.filter(({ type }) => type === 'text')).toMatchObject([{ text: 'It is clear', state: 'done' }])
      expect(message?.metadata).toEqual({ stopped: true })
    }
  })

  it('is sent an error when the turn fails', async () => {
    const { errors } = await read(await eventsOf(hopeless))
    expect(String(errors[0])).toContain('The turn could not be finished.')
  })
})
