import { expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import { clarificationBlock, completionBlock, suggestedFollowupsBlock } from '../../core/block/index.ts'
import type { TurnEvent } from '../../core/event.ts'
import { localScope } from '../../core/scope.ts'
import { withIds } from '../../testing/blocks.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { createChatFormat } from './chat.ts'
import type { ChatEnvelope } from './chat-events.ts'
import { type Format, type Frame, frameBytes, frameText } from './format.ts'
import { createSharedChat } from './shared-chat.ts'

const now = () => '2026-01-01T00:00:00.000Z'
const context = { requestId: 'r1', conversationId: 'c1', scope: localScope }
const format = (more: Partial<Parameters<typeof createChatFormat>[0]> = {}) => createChatFormat({ context, sources: [], now, ...more })

async function turnEvents(): Promise<readonly TurnEvent[]> {
  const replies = [
    reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking.' }),
    reply.answer('Clear in Rome.', { followups: ['And tomorrow?'] }),
  ]
  return (await createHarness({ replies, tools: [weather()] }).say('Rome?')).events
}

const framesOf = (events: readonly TurnEvent[], as: Format) => events.flatMap((event) => as.framesOf(event))
const envelopes = (events: readonly TurnEvent[], as = format()) =>
  framesOf(events, as).map(({ data, own }) => ({ ...own, ...(data as object) }) as ChatEnvelope)

it('sends a turn with the event types and routes that chat clients know', async () => {
  const durable = (await turnEvents()).filter(({ type }) => type === 'entry')
  expect(envelopes(durable).map(({ route, type, event }) => `${route} ${type} ${event.status}`)).toMatchInlineSnapshot(`
    [
      "conv_status conv.status update",
      "chat_start chat.start started",
      "chat_service accounting.usage completed",
      "chat_step chat.conversation.title completed",
      "chat_step solver.react.decision completed",
      "chat_service accounting.usage completed",
      "chat_service react.tool.call started",
      "chat_service react.tool.result completed",
      "chat_step solver.react.decision completed",
      "chat_service accounting.usage completed",
      "chat_complete chat.complete completed",
      "chat_step chat.followups completed",
      "chat_step chat.conversation.turn.completed completed",
      "conv_status conv.status update",
    ]
  `)
})

it('sends the answer, the suggested followups and the text while it streams', async () => {
  const all = envelopes(await turnEvents())
  expect(all.find(({ type }) => type === 'chat.start')?.data).toEqual({ message: 'Rome?' })
  expect(all.find(({ type }) => type === 'chat.complete')).toMatchObject({
    route: 'chat_complete',
    conversation: { conversation_id: 'c1' },
    service: { user: 'local' },
    data: { final_answer: 'Clear in Rome.', followups: ['And tomorrow?'] },
  })
  const streamed = all.filter(({ type, delta }) => type === 'chat.delta' && delta?.marker === 'answer')
  expect(streamed.map(({ delta }) => delta?.text).join('')).toBe('Clear in Rome.')
  expect(streamed.at(-1)?.delta?.completed).toBe(true)
})

it('numbers the frames of an entry, and the id of the last frame says that the entry is complete', async () => {
  for (const event of await turnEvents()) {
    const frames = format().framesOf(event)
    if (event.type !== 'entry') expect(frames.every(({ id }) => id === undefined)).toBe(true)
    if (event.type !== 'entry') continue
    const expected = frames.map((_, index) => (index < frames.length - 1 ? [event.seq, index + 1] : [event.seq, undefined]))
    expect(frames.map(({ id, part }) => [id, part])).toEqual(expected)
  }
})

it('replaces citation marks in the answer by links', async () => {
  const harness = createHarness({ replies: [reply.answer('It opens at nine [[S:1]], or ten [[S:7]].')] })
  const { events } = await harness.say('When?')
  const sources = [{ sid: 1, title: 'Guide', url: 'https://guide.example/', source_type: 'web' as const }]
  const answer = envelopes(events, format({ sources })).find(({ type }) => type === 'chat.complete')?.data.final_answer
  expect(answer).toContain('https://guide.example/')
  expect(answer).not.toContain('[[S:')
})

it('lists the cited web pages without their content, and leaves out files and unknown sources', () => {
  const sources = [
    { sid: 1, title: 'Guide', url: 'https://guide.example/', content: 'long', source_type: 'web' as const },
    { sid: 2, title: 'a.png', source_type: 'attachment' as const, physical_path: 'turn_1/attachments/a.png' },
  ]
  const [citations] = envelopes(
    [{ type: 'entry', seq: 1, change: { type: 'sources.used', ts: now(), sids: [1, 2, 9] } }],
    format({ sources }),
  )
  expect(citations?.data).toEqual({
    count: 1,
    items: [{ sid: 1, title: 'Guide', url: 'https://guide.example/', source_type: 'web', used: true }],
  })
})

it('counts the cited web pages at the end of a turn, and not the files', () => {
  const sources = [
    { sid: 1, title: 'Guide', url: 'https://guide.example/' },
    { sid: 2, title: 'a.png', source_type: 'attachment' as const, physical_path: 'turn_1/attachments/a.png' },
  ]
  const change = { type: 'turn.closed' as const, turn_id: 't1', ts: now(), exit_reason: 'complete', sources_used: [1, 2] }
  const [ended] = envelopes([{ type: 'entry', seq: 1, change }], format({ sources }))
  expect(ended?.data).toMatchObject({ citation_count: 1 })
})

it('sends the envelopes that the filter allows, and only answers when the filter throws', async () => {
  const events = await turnEvents()
  const some = envelopes(events, format({ allow: ({ route }) => route === 'chat_complete' }))
  expect(some.map(({ type }) => type)).toEqual(['chat.complete'])
  const broken = envelopes(
    events,
    format({
      allow: () => {
        throw new Error('broken filter')
      },
    }),
  )
  expect(new Set(broken.map(({ type, delta }) => delta?.marker ?? type))).toEqual(new Set(['answer', 'chat.complete']))
})

it('loop 17.100: every envelope has all its fields, and the deltas of a lane are numbered without a gap', async () => {
  const replies = [
    { text: reply.call('weather.today', { city: 'Rome' }, { notes: 'Looking.' }), chunks: 7 },
    { text: reply.answer('Clear in Rome.'), chunks: 3 },
  ]
  const all = envelopes((await createHarness({ replies, tools: [weather()] }).say('Rome?')).events)
  for (const envelope of all)
    expect(Object.keys(envelope)).toEqual(expect.arrayContaining(['type', 'timestamp', 'ts', 'service', 'conversation', 'event']))
  const lanes = Map.groupBy(
    all.filter(({ delta }) => delta),
    ({ conversation, event, delta, extra }) =>
      JSON.stringify([conversation.turn_id, event.agent, delta?.marker, extra?.format, extra?.artifact_name]),
  )
  expect(lanes.size).toBeGreaterThan(2)
  for (const deltas of lanes.values()) {
    const indexes = deltas.map(({ delta }) => delta?.index ?? -1)
    expect(indexes.every((index, at) => index === 0 || index === (indexes[at - 1] ?? -1) + 1)).toBe(true) // 0 starts the lane again
  }
})

it('loop 17.103: the error of a failed turn reveals nothing about its cause', async () => {
  const { events } = await createHarness({ replies: Array.from({ length: 3 }, () => '<channel:answer>of no use') }).say('Rome?')
  const errors = envelopes(events).filter(({ type }) => type === 'chat.error')
  expect(errors).toMatchObject([{ route: 'chat_error', event: { status: 'error' }, data: { error_type: 'protocol_violation' } }])
  expect(JSON.stringify(errors)).not.toMatch(/\bat .*:\d+|Error:|\.ts/)
})

it('replaces citation marks in followups and questions by links, like those in the answer', () => {
  const sources = [{ sid: 1, title: 'Guide', url: 'https://guide.example/', source_type: 'web' as const }]
  const blocks = withIds([
    completionBlock('t1', now(), { text: 'A!', sourcesUsed: [], iteration: 0, index: 1, count: 1 }),
    clarificationBlock('t1', now(), ['Which[[S:9]] part of [[S:1]]?', '[[S:9]]']),
    suggestedFollowupsBlock('t1', now(), ['Show [[S:1]][[S:9]]', '[[S:9]]']),
  ])
  const sent = envelopes([{ type: 'entry', seq: 1, change: { type: 'blocks.appended', blocks } }], format({ sources }))
  const dataOf = (type: string) => sent.find((envelope) => envelope.type === type)?.data
  expect(dataOf('chat.complete')?.followups).toEqual(['Show [Guide](https://guide.example/)'])
  expect(dataOf('chat.followups')).toEqual({ items: ['Show [Guide](https://guide.example/)'] })
  expect(dataOf('chat.clarification_questions')).toEqual({ items: ['Which part of [Guide](https://guide.example/)?'] })
})

it('sends the usage that the model reported with the end of the turn, and never as a part of the answer', async () => {
  const usage = { tokens: 12, sids: [1] }
  const replies = [`${reply.answer('Clear.')}<channel:usage>${JSON.stringify(usage)}</channel:usage>`]
  const turn = await createHarness({ replies }).say('Rome?')
  expect(turn.writtenUsage).toEqual(usage)
  const sent = envelopes(turn.events)
  expect(sent.find(({ type }) => type === 'chat.complete')?.data).toEqual({ final_answer: 'Clear.', sources_used: [], usage })
  expect(sent.flatMap(({ delta }) => (delta?.text.includes('tokens') ? [delta] : []))).toEqual([])
})

it('streams of one conversation share what they send: an event is converted and encoded once', async () => {
  const shared = createSharedChat()
  const events = await turnEvents()
  const [one, two] = ['r1', 'r2'].map((requestId) => format({ context: { ...context, requestId }, shared }))
  for (const event of events) {
    const [first, second] = [one, two].map((as) => as?.framesOf(event) ?? [])
    expect(second?.map(({ data }) => data)).toEqual(first?.map(({ data }) => data))
    for (const [index, frame] of (first ?? []).entries()) {
      const other = second?.[index] as Frame
      expect(other.data).toBe(frame.data)
      expect(frameBytes(other).at(-1)).toBe(frameBytes(frame).at(-1))
      expect(JSON.parse(frameText(other).split('data: ')[1] ?? '')).toMatchObject({
        service: { request_id: 'r2' },
        ...(frame.data as object),
      })
    }
  }
})
