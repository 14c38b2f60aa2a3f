import { afterEach, expect, it } from 'vitest'
import { weather } from '../../../test/support/scenario-tools.ts'
import { answered, closeServers, openServer, viewWhen } from '../../../test/support/server-fixture.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'

afterEach(closeServers)

async function twoRounds() {
  const model = scriptedModel([
    { text: reply.call('weather.today', { city: 'Rome' }), usage: { uncached: 100, cacheRead: 0, cacheWrite: 40, output: 7 } },
    { text: reply.answer('Clear.'), usage: { uncached: 10, cacheRead: 40, cacheWrite: 0, output: 5 } },
  ])
  const bookkeeping = {
    chargeOf: () => ({ uncached: 3, cacheRead: 2, cacheWrite: 1, output: 4 }),
    rulesOf: () => ({ kind: 'marks', minimumTokens: 0, lookBackParts: 20, ttlSeconds: 300, maxMarks: 4 }) as const,
  }
  const stage = await openServer({ model, tools: [weather()], bookkeeping })
  await stage.client.conversations.create({ id: 'c1', title: 'Weather' })
  await stage.client.send('c1', 'Rome?')
  const view = await viewWhen(stage.client, 'c1', answered)
  return { ...stage, model, turnId: view.turns[0]?.id ?? '' }
}

it('serves the prompt of a round as the model read it, up to its tail, with cache marks', async () => {
  const { client, model, turnId } = await twoRounds()
  const asked = model.requests.filter(({ role }) => role === 'decision')
  for (const [iteration, request] of asked.entries()) {
    const { parts, system, turn_id } = await client.prompt('c1', turnId, iteration)
    const stable = request.parts.slice(0, request.parts.findLastIndex(({ cache }) => cache) + 1)
    expect([turn_id, system]).toEqual([turnId, request.system])
    expect(parts.slice(0, stable.length).map(({ text, marked }) => ({ text, marked }))).toEqual(
      stable.map((part) => ({ text: part.type === 'text' ? part.text : undefined, marked: part.cache === true })),
    )
  }
  await expect(client.prompt('c1', turnId, 7)).rejects.toMatchObject({ status: 404, code: 'turn.missing' })
})

it('serves the cost of a conversation and its cache report', async () => {
  const { client, turnId } = await twoRounds()
  const ledger = await client.cost('c1')
  expect(ledger.roles.decision).toMatchObject({
    calls: 2,
    money: 20,
    tokens: { uncached: 110, cache_read: 40, cache_write: 40, output: 12 },
  })
  expect(ledger.turns[turnId]?.calls).toBe(ledger.total.calls)
  expect(ledger.cache.rows.map(({ turn_id, iteration, billed }) => [turn_id, iteration, billed?.read])).toEqual([
    [turnId, 0, 0],
    [turnId, 1, 40],
  ])
})

it('serves what became of the calls that may have changed something', async () => {
  const { client } = await twoRounds()
  const { effects } = await client.effects('c1')
  expect(effects).toMatchObject([{ tool_id: 'weather.today', status: 'done', error: null, ended_at: expect.any(String) }])
  await expect(client.effects('none')).rejects.toMatchObject({ status: 404, code: 'conversation.missing' })
})

it('says of each block where it stands in the prompt, and the spans cover the whole prompt', async () => {
  const { client, turnId } = await twoRounds()
  for (const iteration of [0, 1]) {
    const { system, parts, blocks } = await client.prompt('c1', turnId, iteration)
    expect([blocks[0]?.key, blocks.at(-1)?.key]).toEqual(['system', 'tail'])
    const textOf = (part: number) => (part < 0 ? system : (parts[part]?.text ?? ''))
    const spans = blocks.flatMap((block) => block.spans)
    expect(spans.map(({ part, start, end }) => textOf(part).slice(start, end)).join('')).toBe(
      [system, ...parts.map(({ text = '' }) => text)].join(''),
    )
    const marks = parts.flatMap(({ marked }, index) => (marked ? [index] : []))
    expect(blocks.flatMap(({ marked, key, spans }) => (marked && key !== 'system' ? [spans.at(-1)?.part] : []))).toEqual(marks)
    expect(blocks.find(({ type }) => type === 'user.prompt')).toMatchObject({ author: 'user', turn_id: turnId, path: expect.any(String) })
  }
})

it('divides the cost of a round over its blocks, and adds up what each has cost so far', async () => {
  const { client, turnId } = await twoRounds()
  const [first, second] = [await client.round('c1', turnId, 0), await client.round('c1', turnId, 1)]
  const { calls } = await client.cost('c1')
  for (const round of [first, second]) {
    const { calls: own, shares } = round
    expect(own).toEqual(calls.filter(({ iteration, role }) => iteration === round.iteration && role === 'decision'))
    const total = (read: (share: (typeof shares)[number]) => number | null) => shares.reduce((sum, share) => sum + (read(share) ?? 0), 0)
    expect(total(({ money }) => money)).toBe(own[0]?.money)
    for (const bucket of ['uncached', 'cache_read', 'cache_write', 'output'] as const)
      expect(total(({ tokens }) => tokens[bucket])).toBe(own[0]?.tokens[bucket])
  }
  const prompt = await client.prompt('c1', turnId, 1)
  const inPrompt = second.shares.filter(({ tokens }) => tokens.output === 0).map(({ key }) => key)
  expect(prompt.blocks.map(({ key }) => key)).toEqual(inPrompt)
  const system = (round: typeof first) => round.shares.find(({ key }) => key === 'system')
  expect(system(second)?.money_so_far).toBe((system(first)?.money ?? 0) + (system(second)?.money ?? 0))
  await expect(client.round('c1', turnId, 7)).rejects.toMatchObject({ status: 404, code: 'turn.missing' })
})

it('serves the journal page by page', async () => {
  const { client } = await twoRounds()
  const all = await client.entries('c1')
  expect(all).toEqual({ entries: all.entries, last_seq: all.entries.length })
  const pages: (typeof all.entries)[] = []
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: typeof all = await client.entries('c1', { after, limit: 3 })
    pages.push(page.entries)
    after = page.next
  }
  expect(pages.flat()).toEqual(all.entries)
  expect(pages.length).toBe(Math.ceil(all.entries.length / 3))
  expect(JSON.stringify(all)).not.toContain('<channel:')
  await expect(client.entries('none')).rejects.toMatchObject({ status: 404, code: 'conversation.missing' })
})

it('replays a recorded turn, and says where the current code differs', async () => {
  const { client, turnId, store, model } = await twoRounds()
  expect(await client.replay('c1')).toEqual({ turns: [{ turn_id: turnId, rounds: 2, result: 'same', divergence: null }] })
  const other = await openServer({ model, tools: [], store })
  const { turns } = await other.client.replay('c1', turnId)
  expect(turns).toMatchObject([
    { result: 'different', divergence: { kind: 'prompt', where: 'tools', words: expect.stringContaining('tools') } },
  ])
  await expect(client.replay('c1', 'none')).rejects.toMatchObject({ status: 404, code: 'turn.missing' })
})
