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
