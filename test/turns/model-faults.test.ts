import { inspect } from 'node:util'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { modelFrom, type NamedModelOptions } from '../../src/adapters/model/index.ts'
import type { FakeProvider, FakeProviderName, FakeScript } from '../../src/testing/fake-providers/fake-provider.ts'
import { startFakeProvider } from '../../src/testing/fake-providers/fake-provider.ts'
import type { FakeReply } from '../../src/testing/fake-providers/provider-format.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { answers, scriptedModel } from '../../src/testing/scripted-model.ts'
import { everyProvider, modelNames } from '../support/models/provider-models.ts'
import { codesOf } from '../support/watch-turn.ts'

/** Planted where a key belongs; the fakes repeat it in their refusals, and nobody else may. */
const key = 'sk-planted-9f3kQzT71xWmN4bVc8'
const thinking = '<channel:thinking>Let me think'

interface Fault {
  readonly reply: FakeReply
  /** What the user reads when it does not pass. */
  readonly sentence: RegExp
  readonly calls: number
  readonly kind: string
}

/** Every call after the title meets it. */
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
  'a fault of its own': { reply: { error: 'server_error' }, sentence: /could not be reached/, calls: 3, kind: 'unknown' },
  'a refused prompt': { reply: { error: 'content_filter' }, sentence: /safety filter/, calls: 1, kind: 'content_filter' },
  'a filtered reply': { reply: { finish: 'content_filter' }, sentence: /safety filter/, calls: 1, kind: 'content_filter' },
  'a connection torn down before a word': { reply: { fault: 'reset' }, sentence: /could not be reached/, calls: 3, kind: 'connection' },
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
  it.each(Object.keys(faults))('%s: tried as often as it makes sense, then told to the user in a sentence', async (what) => {
    const { reply, sentence, calls, kind } = faults[what] as Fault
    const { said, asked, harness } = await meet(name, Array<FakeReply>(5).fill(reply))
    expect(said.exitReason).toBe('error')
    expect(said.answer).toMatch(sentence)
    expect(asked).toBe(calls)
    expect(said.error?.cause).toMatchObject({ kind, provider: name })
    expect(await codesOf(harness)).toEqual(['service_error'])
  })

  it.each(['too many requests', 'an overloaded provider', 'a connection torn down before a word', 'ten minutes of silence'])(
    '%s that passes is not noticed',
    async (what) => {
      const { said, asked } = await meet(name, [(faults[what] as Fault).reply, answers('Here.')])
      expect(said).toMatchObject({ answer: 'Here.', exitReason: 'complete' })
      expect(asked).toBe(2)
    },
  )

  it.each(['reset', 'cut', 'malformed', 'stall'] as const)('%s in the middle of what is shown: noted, and a new round', async (fault) => {
    const { said, asked, harness } = await meet(name, [{ text: thinking, fault }, answers('Here.')])
    expect(said).toMatchObject({ answer: 'Here.', exitReason: 'complete' })
    expect(asked).toBe(2)
    expect(await codesOf(harness)).toEqual(['service_interrupted'])
  })

  it('a refused connection', async () => {
    const provider = await startFakeProvider(name, [], { key })
    await provider.close()
    const { said } = await meetAt(modelFrom(modelNames[name], { environment: provider.environment }))
    expect(said.answer).toMatch(/could not be reached/)
    expect(said.error?.cause).toMatchObject({ kind: 'connection', retryable: true })
  })
})

/** Ten minutes pass when the provider has nothing more to say, and not before. */
const patience = (provider: Pick<FakeProvider, 'silent'>): NamedModelOptions => ({
  stallMs: 600_000,
  alarm(milliseconds, ring) {
    expect(milliseconds).toBe(600_000)
    let looks = 0
    const watch = setInterval(() => {
      looks = provider.silent ? looks + 1 : 0
      if (looks === 20) ring() // what it did say has arrived by now, and so has the next request
    }, 2)
    return () => clearInterval(watch)
  },
})

async function meet(name: FakeProviderName, script: FakeScript) {
  const provider = await startFakeProvider(name, script, { key })
  try {
    const met = await meetAt(modelFrom(modelNames[name], { environment: provider.environment, ...patience(provider) }))
    return { ...met, asked: provider.requests.length }
  } finally {
    await provider.close()
  }
}

/** One turn of a real agent. Everything that comes out of it, anywhere, is searched for the key. */
async function meetAt(model: ReturnType<typeof modelFrom>) {
  const problems: unknown[] = []
  const gate = scriptedModel([])
  const served = Object.assign({}, model, {
    requests: [],
    left: 0,
    stream: (...[request, signal]: Parameters<typeof model.stream>) => (request.role === 'gate' ? gate : model).stream(request, signal),
  })
  const harness = createHarness({ replies: [], model: served, onProblem: (problem) => problems.push(problem) })
  const said = await harness.say('Do it.')
  await harness.agent.close()
  const everything = [said, said.error, await harness.journal(), await harness.timeline(), problems]
  expect(inspect(everything, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null })).not.toContain(key)
  expect(JSON.stringify(everything)).not.toContain(key)
  return { said, harness }
}
