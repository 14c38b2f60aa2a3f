import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { contextWithRoom } from '../../../test/support/context-size.ts'
import { library } from '../../../test/support/scenario-tools.ts'
import type { Change } from '../../core/timeline/change.ts'
import { createHarness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { createChargeOf } from '../model/prices.ts'
import { cacheRulesOf } from '../model/provider-rules.ts'
import { openTelemetry } from './opentelemetry.ts'

// the manager lets `context.active()` follow asynchronous code, as the SDK of an application does
beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())

function createTraced(replies: readonly Reply[], options: Partial<HarnessOptions> = {}) {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const tracer = provider.getTracer('test')
  const harness = createHarness({
    replies,
    model: scriptedModel(replies, { name: 'anthropic/claude-sonnet-5-5' }),
    bookkeeping: { chargeOf: createChargeOf(), rulesOf: cacheRulesOf },
    telemetry: openTelemetry({ tracer, agentName: 'clerk' }),
    ...options,
  })
  const spans = () => exporter.getFinishedSpans()
  return { harness, spans, tracer }
}

/** The spans as a tree: each with its parent's name, in the order in which they began. */
function treeOf(spans: readonly ReadableSpan[]): readonly string[] {
  const nameOf = (id: string | undefined) => spans.find((span) => span.spanContext().spanId === id)?.name ?? '-'
  return spans
    .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
    .map((span) => `${nameOf(span.parentSpanContext?.spanId)} > ${span.name}`)
}

const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name)

const dice = defineTool({
  id: 'game.dice',
  description: 'Throws dice.',
  params: z.object({ fail: z.boolean().optional() }),
  run: ({ fail }) => {
    trace.getActiveSpan()?.setAttribute('in.tool', true)
    return fail ? { ok: false, error: { code: 'no_dice', message: 'secret words' } } : { ok: true, ret: 4 }
  },
})

it('makes spans for a turn, its rounds, its model calls and its tools, with tokens and costs', async () => {
  const { harness, spans } = createTraced(
    [
      { text: reply.call('game.dice', {}), usage: { uncached: 100, cacheWrite: 5_000, output: 20, reasoning: 5 } },
      { text: reply.call('game.dice', { fail: true }), usage: { uncached: 50, cacheRead: 5_000, cacheWrite: 200, output: 10 } },
      { text: reply.answer('A four, secret words.'), usage: { uncached: 60, cacheRead: 5_200, cacheWrite: 100, output: 10 } },
    ],
    { tools: [dice] },
  )
  await harness.say('secret words')
  await expect.poll(() => spans().length).toBe(10)
  expect(treeOf(spans()).toSorted()).toEqual(
    [
      '- > invoke_agent clerk',
      'invoke_agent clerk > chat claude-sonnet-5-5', // the title
      'invoke_agent clerk > round',
      'invoke_agent clerk > round',
      'invoke_agent clerk > round',
      'round > chat claude-sonnet-5-5',
      'round > chat claude-sonnet-5-5',
      'round > chat claude-sonnet-5-5',
      'round > execute_tool game.dice',
      'round > execute_tool game.dice',
    ].toSorted(),
  )
  const [turn] = named(spans(), 'invoke_agent clerk')
  expect(turn?.kind).toBe(SpanKind.INTERNAL)
  expect(turn?.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'clerk',
    'gen_ai.conversation.id': 'c1',
    'gen_ai.usage.input_tokens': 15_710,
    'gen_ai.usage.cache_read.input_tokens': 10_200,
    'gen_ai.usage.cache_creation.input_tokens': 5_300,
    'daybook.turn.exit_reason': 'complete',
    'daybook.turn.rounds': 3,
    'daybook.turn.resumed': false,
  })
  expect(turn?.attributes['daybook.cost.usd']).toBeGreaterThan(0)
  const calls = spans().filter(({ attributes }) => attributes['daybook.model.role'] === 'decision')
  expect(calls[0]?.kind).toBe(SpanKind.CLIENT)
  expect(calls[0]?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5-5',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.input_tokens': 5_100,
    'gen_ai.usage.cache_creation.input_tokens': 5_000,
    'gen_ai.usage.output_tokens': 20,
    'gen_ai.usage.reasoning.output_tokens': 5,
    'daybook.round': 0,
  })
  const [done, failed] = named(spans(), 'execute_tool game.dice')
  expect(done?.attributes).toMatchObject({ 'gen_ai.tool.name': 'game.dice', 'gen_ai.tool.type': 'function', 'in.tool': true })
  expect(done?.status.code).toBe(SpanStatusCode.UNSET)
  expect([failed?.status.code, failed?.attributes['error.type']]).toEqual([SpanStatusCode.ERROR, 'no_dice'])
  expect(JSON.stringify(spans().map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain('secret')
})

it('a call that missed the cache says why', async () => {
  const { harness, spans } = createTraced(
    [
      { text: reply.call('game.dice', {}), usage: { cacheWrite: 9_000, output: 20 } },
      { text: reply.answer('A four.'), usage: { uncached: 9_000, output: 10 } },
    ],
    { tools: [dice] },
  )
  await harness.say('Throw.')
  await expect.poll(() => spans().filter(({ attributes }) => attributes['daybook.model.role'] === 'decision').length).toBe(2)
  const missed = spans().filter(({ attributes }) => attributes['daybook.cache.miss.cause'] !== undefined)
  expect(missed.map(({ attributes }) => attributes['daybook.cache.miss.cause'])).toEqual([expect.stringMatching(/./)])
  expect(missed[0]?.attributes['daybook.cache.miss.tokens']).toBeGreaterThan(1_000)
})

it('a turn belongs to the span that was current when it was started', async () => {
  const { harness, spans, tracer } = createTraced([reply.answer('Yes.')])
  await tracer.startActiveSpan('request', async (span) => {
    await harness.say('Hello?')
    span.end()
  })
  await expect.poll(() => treeOf(spans())).toContain('request > invoke_agent clerk')
})

it('a compaction has a span with its model call', async () => {
  const page = (number: number) => reply.call('library.fetch', { page: number })
  const summary = '## Goal\nThe doors.\n\n## Done\nPages were read: the doors are red.'
  const { harness, spans } = createTraced([page(1), page(2), reply.answer('One and two.'), summary, reply.answer('Red.')], {
    tools: [library()],
    settings: { contextTokens: contextWithRoom(3_900), keepRecentTurns: 1 },
  })
  await harness.say('Read one and two.')
  await harness.say(`Which colour? ${'Tell me exactly. '.repeat(200)}`)
  await expect
    .poll(() => treeOf(spans()))
    .toEqual(expect.arrayContaining(['invoke_agent clerk > compaction', 'compaction > chat claude-sonnet-5-5']))
  expect(named(spans(), 'compaction')[0]?.attributes['daybook.compaction.completed']).toBe(true)
})

it('failed attempts, failed turns and interrupted turns end as failed', async () => {
  const failing = { error: { retryable: true, error_type: 'Overloaded' } } as const
  const first = createTraced([failing, reply.answer('At last.'), { error: { retryable: false, error_type: 'Refused' } }])
  await first.harness.say('Hello?')
  await first.harness.say('Hello?')
  await expect.poll(() => named(first.spans(), 'invoke_agent clerk').length).toBe(2)
  const attempts = first.spans().filter(({ attributes }) => attributes['daybook.model.role'] === 'decision')
  await expect.poll(() => attempts.map(({ attributes }) => attributes['error.type'])).toEqual(['Overloaded', undefined, 'Refused'])
  expect(named(first.spans(), 'round')).toHaveLength(2) // a retry is in the round of the failed attempt
  expect(named(first.spans(), 'invoke_agent clerk').map(({ attributes }) => attributes['error.type'])).toEqual([undefined, 'error'])

  const second = createTraced([{ text: reply.answer('Never ending.'), stall: true }])
  const turn = second.harness.agent.run('c1', 'Hello?')
  await expect.poll(() => second.harness.model.requests.length).toBe(2)
  await second.harness.agent.close()
  await turn.result
  expect(named(second.spans(), 'invoke_agent clerk').map(({ attributes }) => attributes['error.type'])).toEqual(['interrupted'])
})

it('a tool that throws has a failed span, and the model is told as without telemetry', async () => {
  const broken = defineTool({
    id: 'game.broken',
    description: 'Breaks.',
    params: z.object({}),
    run: () => {
      throw new TypeError('secret words')
    },
  })
  const { harness, spans } = createTraced([reply.call('game.broken', {}), reply.answer('It broke.')], { tools: [broken] })
  await harness.say('Break it.')
  expect(JSON.stringify(await harness.timeline())).toContain('secret words')
  expect(named(spans(), 'execute_tool game.broken')[0]?.attributes['error.type']).toBe('TypeError')
})

it('a turn that waits ends its span, and goes on in another one with a span for the wait', async () => {
  const exporter = new InMemorySpanExporter()
  const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('test')
  const at = (hour: number) => `2026-03-01T${String(hour).padStart(2, '0')}:00:00.000Z`
  const changes: readonly Change[] = [
    { type: 'turn.opened', turn_id: 't1', ts: at(1) },
    { type: 'turn.waiting', turn_id: 't1', ts: at(2), waits: [{ wait_id: 'w1', kind: 'approval' }] },
    { type: 'turn.resumed', turn_id: 't1', ts: at(5), wait_ids: ['w1'] },
    { type: 'turn.closed', turn_id: 't1', ts: at(6), exit_reason: 'complete' },
  ]
  const journal = changes.map((change, index) => ({ seq: index + 1, change }))
  const observed = openTelemetry({ tracer }).observe({
    rulesOf: () => undefined,
    chargeOf: () => undefined,
    count: () => 0,
    async *readJournal() {
      yield* journal
    },
    onProblem: () => {},
  })
  for (const entry of journal) observed.onEntry('c1', { type: 'entry', ...entry })
  await expect.poll(() => treeOf(exporter.getFinishedSpans())).toContain('invoke_agent daybook > wait')
  const turns = named(exporter.getFinishedSpans(), 'invoke_agent daybook')
  expect(turns.map(({ attributes }) => [attributes['daybook.turn.exit_reason'], attributes['daybook.turn.resumed']])).toEqual([
    ['waiting', false],
    ['complete', true],
  ])
  const [wait] = named(exporter.getFinishedSpans(), 'wait')
  expect(wait?.attributes).toMatchObject({ 'daybook.wait.id': 'w1', 'daybook.wait.kind': 'approval' })
  expect((wait?.endTime[0] ?? 0) - (wait?.startTime[0] ?? 0)).toBe(3 * 60 * 60)
})
