import { afterEach, describe, expect, it, vi } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { embedderFrom } from '../../adapters/model/embedding.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { prompt } from '../../testing/blocks.ts'
import { appended, closed, opened, writeConversation } from '../../testing/conformance/store/fixture.ts'
import { inConversation, memoryOf } from '../../testing/conformance/store/memory.ts'
import { type FakeEmbeddings, startFakeEmbeddings } from '../../testing/fake-providers/fake-embeddings.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createMemorySearch } from './memory-search.ts'
import { startVectors, type VectorMaker } from './vectors.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const fast = { idleMs: 5, waitMs: 5 }

async function startFake(groups: readonly (readonly string[])[], dimensions?: number): Promise<FakeEmbeddings> {
  const fake = await startFakeEmbeddings(groups, dimensions)
  closers.push(fake.close)
  return fake
}

function start(vectors: Parameters<typeof startVectors>[0], fake: FakeEmbeddings, model = 'one', problems: unknown[] = []): VectorMaker {
  const embedder = embedderFrom(`compatible/${model}@${fake.address}`, { environment: {} })
  const maker = startVectors(vectors, embedder, (error) => problems.push(error), fast)
  closers.push(maker.close)
  return maker
}

async function storeTexts(...texts: readonly string[]) {
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
  const turns = texts.map((text, n) => [opened(`t${n}`, n), appended([prompt(text, `t${n}`, n)], n + 1), closed(`t${n}`, n)])
  await writeConversation(store, 'c1', ...turns)
  return memoryOf(store)
}

const done = (memory: ReturnType<typeof memoryOf>, count: number, name = 'compatible/one') =>
  vi.waitFor(async () => expect(await memory.vectors.progress()).toMatchObject({ name, done: count, all: count }), { timeout: 30_000 })

const call = { conversationId: 'c1', scope: { tenant: 'local', project: 'default', user: 'local' }, origin: { turnId: 'now' } }

describe('the vectors of the memory index', () => {
  it('find texts that share no word with the question', async () => {
    const fake = await startFake([['vessel', 'schooner']])
    const memory = await storeTexts('the schooner left', 'a loaf of bread', 'rain again')
    const maker = start(memory.vectors, fake)
    await done(memory, 3)
    const vector = await maker.ofQuestion('vessel', AbortSignal.timeout(5_000))
    expect((await memory.search('vessel', inConversation('c1'))).length).toBe(0)
    const found = await memory.search('vessel', inConversation('c1', { ...(vector && { vector }) }))
    expect(found[0]?.text).toBe('the schooner left')
  })

  it('are made again when the model or the length of its vectors changes, and a search works meanwhile', async () => {
    const fake = await startFake([])
    const memory = await storeTexts('amber', 'basalt')
    const first = start(memory.vectors, fake)
    await done(memory, 2)
    await first.close()
    const requests = fake.requests.length
    const same = start(memory.vectors, fake)
    await vi.waitFor(() => expect(fake.requests.length).toBeGreaterThan(requests))
    await same.close()
    expect(fake.requests.slice(requests)).toEqual([['daybook']])
    start(memory.vectors, fake, 'two')
    expect((await memory.search('amber', inConversation('c1')))[0]?.text).toBe('amber')
    await done(memory, 2, 'compatible/two')
    fake.dimensions = 32
    start(memory.vectors, fake, 'two')
    await vi.waitFor(async () => expect(await memory.vectors.progress()).toMatchObject({ dimensions: 32, done: 2, all: 2 }), {
      timeout: 30_000,
    })
  })

  it('are made later if the provider fails, which is reported once', async () => {
    const fake = await startFake([])
    fake.failing = 400
    const memory = await storeTexts('amber')
    const problems: unknown[] = []
    start(memory.vectors, fake, 'one', problems)
    await vi.waitFor(() => expect(problems.length).toBe(1))
    await new Promise((resolve) => setTimeout(resolve, 60))
    expect(problems).toEqual([expect.objectContaining({ code: 'model.unavailable', message: expect.stringContaining('compatible/one') })])
    fake.failing = undefined
    await done(memory, 1)
  })

  it('a search says so when the model does not answer, and compares words', async () => {
    const fake = await startFake([])
    const memory = await storeTexts('amber')
    const maker = start(memory.vectors, fake)
    await done(memory, 1)
    fake.failing = 400
    const search = createMemorySearch(memory, createFixedClock(), maker)
    const query = { query: 'amber', targets: ['user'] as const, topK: 5, days: 3_650, scope: 'conversation' as const }
    const findings = await search.search(query, { ...call, signal: new AbortController().signal } as never)
    expect(findings.hits.length).toBe(1)
    expect(findings.warnings).toEqual(['The embedding model did not answer, so only words were compared.'])
  })

  it('a second process with another model does not make the first one start again', async () => {
    const fake = await startFake([])
    const memory = await storeTexts('amber', 'basalt')
    start(memory.vectors, fake, 'one')
    await done(memory, 2)
    start(memory.vectors, fake, 'two')
    await done(memory, 2, 'compatible/two')
    await new Promise((resolve) => setTimeout(resolve, 60))
    await done(memory, 2, 'compatible/two')
  })

  /** Starts an embedder of the application. Its vectors have two numbers: the second is 1 for texts about boats. */
  function startOwn(vectors: Parameters<typeof startVectors>[0], embed: (texts: readonly string[]) => unknown, problems: unknown[] = []) {
    const own = embedderFrom({ name: 'own', embed: async (texts) => embed(texts) as readonly Float32Array[] })
    const maker = startVectors(vectors, own, (error) => problems.push(error), fast)
    closers.push(maker.close)
    return maker
  }
  const boats = (texts: readonly string[]) => texts.map((text) => (text.includes('boat') ? [0, 9] : [300, 0]))

  it('are made of the other texts if the model refuses one', async () => {
    const memory = await storeTexts('a boat', 'poison', 'a bridge')
    const problems: unknown[] = []
    const refuse = (texts: readonly string[]) => {
      if (texts.some((text) => text === 'poison')) throw new Error('this text is refused')
      return boats(texts)
    }
    const maker = startOwn(memory.vectors, refuse, problems)
    await done(memory, 3, 'own')
    const vector = await maker.ofQuestion('boat trip', AbortSignal.timeout(5_000))
    const found = await memory.search('unknown', inConversation('c1', { ...(vector && { vector }) }))
    expect(found.map(({ text }) => text)).toEqual(['a boat'])
    expect(problems).toEqual([expect.objectContaining({ message: expect.stringContaining('this text is refused') })])
  })

  it('are not marked as refused while the model answers nothing', async () => {
    const memory = await storeTexts('a boat', 'a bridge')
    let calls = 0
    const problems: unknown[] = []
    startOwn(
      memory.vectors,
      (texts) => {
        calls++
        if (calls > 1 && calls < 20) throw new Error('down')
        return boats(texts)
      },
      problems,
    )
    await done(memory, 2, 'own')
    expect(problems.length).toBe(1)
    const maker = startOwn(memory.vectors, boats)
    const vector = await vi.waitFor(async () => {
      const made = await maker.ofQuestion('boat', AbortSignal.timeout(5_000))
      expect(made).toBeDefined()
      return made
    })
    expect((await memory.search('unknown', inConversation('c1', { ...(vector && { vector }) }))).map(({ text }) => text)).toEqual([
      'a boat',
    ])
  })

  it.each([
    ['too few vectors', () => [[1, 0]].slice(1)],
    ['no list', () => 'nonsense'],
    ['vectors without numbers', (texts: readonly string[]) => texts.map(() => [Number.NaN, 1])],
  ])('of an embedder of the application are checked: %s', async (_, embed) => {
    const memory = await storeTexts('a boat', 'a bridge', 'a tower')
    const problems: unknown[] = []
    startOwn(memory.vectors, embed, problems)
    await vi.waitFor(() => expect(problems.length).toBe(1))
    expect(problems).toEqual([expect.objectContaining({ code: 'model.unavailable', message: expect.stringContaining('own') })])
    expect(await memory.vectors.progress()).toBeUndefined()
  })
})
