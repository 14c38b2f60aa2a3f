import { InMemorySpanExporter, SimpleSpanProcessor, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import type { Telemetry } from '../../ports/telemetry.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import { openTelemetry, type SpanSource } from './opentelemetry.ts'

const fail = () => {
  throw new Error('the exporter is down')
}
const tracerWith = (processor: Partial<SpanProcessor>) =>
  new TracerProvider({
    spanProcessors: [{ onStart() {}, onEnd() {}, forceFlush: async () => {}, shutdown: async () => {}, ...processor }],
  }).getTracer('test')
const working = tracerWith({})

/** Tracers of an application that has an error. */
const tracers: Readonly<Record<string, SpanSource>> = {
  'can not start a span': { startSpan: fail },
  'fails when a span starts': tracerWith({ onStart: fail }),
  'fails when a span ends': tracerWith({ onEnd: fail }),
  'fails when a span gets an attribute': {
    startSpan: (name) => Object.assign(working.startSpan(name), { setAttribute: fail, setAttributes: fail, setStatus: fail }),
  },
}

async function turnWith(telemetry: Telemetry) {
  const problems: string[] = []
  const harness = createHarness({
    replies: [reply.call('weather.today', { city: 'Rome' }), reply.call('weather.today', { city: 1 }), reply.answer('Sunny.')],
    tools: [weather()],
    telemetry,
    onProblem: ({ where, error }) => void problems.push(`${where}: ${error}`),
  })
  const { answer, exitReason } = await harness.say('Rome?')
  return { answer, exitReason, problems }
}

it.each(Object.entries(tracers))('a tracer that %s changes nothing in a turn, and is reported once', async (_, tracer) => {
  expect(await turnWith(openTelemetry({ tracer }))).toEqual({
    answer: 'Sunny.',
    exitReason: 'complete',
    problems: ['telemetry: Error: the exporter is down'],
  })
})

it('telemetry that fails for an entry changes nothing in a turn', async () => {
  const telemetry = openTelemetry({ tracer: working })
  const failing: Telemetry = { observe: (agent) => ({ ...telemetry.observe(agent), onEntry: fail }) }
  expect(await turnWith(failing)).toMatchObject({ answer: 'Sunny.', exitReason: 'complete' })
})

it('the calls of a model that a run chooses have spans, too', async () => {
  const exporter = new InMemorySpanExporter()
  const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer('test')
  const fast = scriptedModel([reply.answer('By name.'), reply.answer('As an object.')], { name: 'fast-1' })
  const harness = createHarness({ replies: [], models: { fast }, telemetry: openTelemetry({ tracer }) })
  await harness.agent.run('c1', 'Hi.', { model: 'fast' }).result
  await harness.agent.run('c1', 'Hi.', { model: fast }).result
  expect(exporter.getFinishedSpans().filter(({ name }) => name === 'chat fast-1')).toHaveLength(2)
})
