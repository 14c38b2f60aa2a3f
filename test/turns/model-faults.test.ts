import { inspect } from 'node:util'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { modelFrom, type NamedModelOptions } from '../../src/adapters/model/index.ts'
import type { FakeProvider, FakeProviderName, FakeScript } from '../../src/testing/fake-providers/fake-provider.ts'
import { startFakeProvider } from '../../src/testing/fake-providers/fake-provider.ts'
import type { FakeReply } from '../../src/testing/fake-providers/provider-format.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { everyProvider, modelNames } from '../support/models/provider-models.ts'
import { codesOf } from '../support/watch-turn.ts'

/** A fake API key. The fake providers put it into their errors, and no output of the agent may contain it. */
const key = 'sk-planted-9f3kQzT71xWmN4bVc8'
const thinking = '<channel:thinking>Let me think'

interface Fault {
  readonly reply: FakeReply
  /** The sentence that the user reads if the fault does not go away. */
  readonly sentence: RegExp
  readonly calls: number
  readonly kind: string
}

/** Faults of the provider. Every call after the one for the title has this fault. */
const faults: Readonly<Record<string, Fault>> = {
  'a key that is not accepted': {
    reply: { error: 'authentication' },
    sentence: /did not accept our key/,
    calls: 1,
    kind: 'authentication',
  },
  'a prompt that is too long': { reply: { error: 'overflow' }, sentence: /no longer fits/, calls: 1, kind: 'context_overflow' },
  'too many requests': {
    reply: { error: 'rate_limited', retryAfterMs: 10 },
    sentence: /takes no more requests from us for now/,
    calls: 3,
    kind: 'rate_limited',
  },
  'too many requests for a long time': {
    reply: { error: 'rate_limited', retryAfterMs: 3_600_000 },
    sentence: /takes no more requests from us for now/,
    calls: 1,
    kind: 'rate_limited',
  },
  'an overloaded provider': { reply: { error: 'overloaded' }, sentence: /is overloaded at the moment/, calls: 3, kind: 'overloaded' },
  'a server error': { reply: { error: 'server_error' }, sentence: /could not be reached/, calls: 3, kind: 'unknown' },
  'a refused prompt': { reply: { error: 'content_filter' }, sentence: /safety filter/, calls: 1, kind: 'content_filter' },
  'a filtered reply': { reply: { finish: 'content_filter' }, sentence: /safety filter/, calls: 1, kind: 'content_filter' },
  'a connection reset before any output': { reply: { fault: 'reset' }, sentence: /could not be reached/, calls: 3, kind: 'connection' },
  'a stream that is not in its format': {
    reply: { fault: 'malformed' },
    sentence: /could not be read/,
    calls: 3,
    kind: 'malformed_response',
  },
  'ten minutes of silence': { reply: { fault: 'stall' }, sentence: /fell silent/, calls: 3, kind: 'timeout' },
}

const logged: unknown[] = []
for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
  vi.spyOn(console, method).mockImplementation((...words) => void logged.push(words))
}
afterAll(() => vi.restoreAllMocks())
afterEach(() => {
  expect(inspect(logged, { depth: Number.POSITIVE_INFINITY })).not.toContain(key)
})

describe.each(everyProvider)('%s', (name) => {
  it.each(Object.keys(faults))('%s: the call is retried where that can help, then the user reads a sentence', async (fault) => {
    const { reply, sentence, calls, kind } = faults[fault] as Fault
    const { turn, requests, harness } = await runTurn(name, Array<FakeReply>(5).fill(reply))
    expect(turn.exitReason).toBe('error')
    expect(turn.answer).toMatch(sentence)
    expect(requests).toBe(calls)
    expect(turn.error?.cause).toMatchObject({ kind, provider: name })
    expect(await codesOf(harness)).toEqual(['service_error'])
  })

  it.each(['too many requests', 'an overloaded provider', 'a connection reset before any output', 'ten minutes of silence'])(
    '%s that ends after one call is not visible to the user',
    async (fault) => {
      const { turn, requests } = await runTurn(name, [(faults[fault] as Fault).reply, reply.answer('Here.')])
      expect(turn).toMatchObject({ answer: 'Here.', exitReason: 'complete' })
      expect(requests).toBe(2)
    },
  )

  it.each(['reset', 'cut', 'malformed', 'stall'] as const)(
    '%s after the user saw output: a notice is recorded and a new round starts',
    async (fault) => {
      const { turn, requests, harness } = await runTurn(name, [{ text: thinking, fault }, reply.answer('Here.')])
      expect(turn).toMatchObject({ answer: 'Here.', exitReason: 'complete' })
      expect(requests).toBe(2)
      expect(await codesOf(harness)).toEqual(['service_interrupted'])
    },
  )

  it('a refused connection is reported as a retryable connection error', async () => {
    const provider = await startFakeProvider(name, [], { key })
    await provider.close()
    const { turn } = await runTurnOn(modelFrom(modelNames[name], { environment: provider.environment }))
    expect(turn.answer).toMatch(/could not be reached/)
    expect(turn.error?.cause).toMatchObject({ kind: 'connection', retryable: true })
  })
})

/** Options with a timeout of ten minutes. The test's own timer fires when the provider was silent in twenty checks in a row. */
const stallOptions = (provider: Pick<FakeProvider, 'silent'>): NamedModelOptions => ({
  stallMs: 600_000,
  startTimer(milliseconds, ring) {
    expect(milliseconds).toBe(600_000)
    let looks = 0
    const watch = setInterval(() => {
      looks = provider.silent ? looks + 1 : 0
      if (looks === 20) ring() // by then all output from before the silence has arrived
    }, 2)
    return () => clearInterval(watch)
  },
})

async function runTurn(name: FakeProviderName, script: FakeScript) {
  const provider = await startFakeProvider(name, script, { key })
  try {
    const outcome = await runTurnOn(modelFrom(modelNames[name], { environment: provider.environment, ...stallOptions(provider) }))
    return { ...outcome, requests: provider.requests.length }
  } finally {
    await provider.close()
  }
}

/** Runs one turn of a real agent, and searches all of its output for the key. */
async function runTurnOn(model: ReturnType<typeof modelFrom>) {
  const problems: unknown[] = []
  const gate = scriptedModel([])
  const modelWithTitle = Object.assign({}, model, {
    requests: [],
    left: 0,
    stream: (...[request, signal]: Parameters<typeof model.stream>) => (request.role === 'gate' ? gate : model).stream(request, signal),
  })
  const settings = { providerWaitSeconds: 0 } // otherwise the turn waits for a provider that says when to ask again
  const harness = createHarness({ replies: [], model: modelWithTitle, settings, onProblem: (problem) => problems.push(problem) })
  const turn = await harness.say('Do it.')
  await harness.agent.close()
  const everything = [turn, turn.error, await harness.journal(), await harness.timeline(), problems]
  expect(inspect(everything, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null })).not.toContain(key)
  expect(JSON.stringify(everything)).not.toContain(key)
  return { turn, harness }
}
