import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDocumentRenderer } from 'daybook/adapters/documents'
import { createHarness, reply } from 'daybook/testing'
import { order, orders, search } from './shop-tools.ts'

test('the agent writes a cited report, and orders only after an approval', async () => {
  const rendering = createDocumentRenderer() // without a renderer, an agent in a test makes no documents
  const { agent, conversationId, say } = createHarness({
    tools: [search, order],
    builtIn: { rendering },
    settings: { priceOf: () => 0.002 }, // prepared replies have no list price
    replies: [
      reply.call('shop.search', { query: 'kettle' }),
      reply.call('rendering_tools.write_pdf', { path: 'files/kettles.pdf', content: '# Kettles\n\nThe K2 costs 49.50 EUR [[S:1]].' }),
      reply.call('shop.order', { item: 'K2', pieces: 2 }),
      reply.answer('I have ordered two kettles [[S:1]].'),
    ],
  })
  const { turnId, exitReason, waits = [] } = await say('Write a report about kettles, and order two.')
  assert.equal(exitReason, 'waiting')
  assert.deepEqual(orders, [])

  await agent.decide(conversationId, waits[0]?.callId ?? '', { approved: true, by: 'Bob' })
  await agent.drain(5_000) // waits for the rest of the turn
  const { files, sources, cost } = await agent.archive.turnResult(conversationId, turnId)
  assert.deepEqual(orders, ['2 × K2'])
  assert.deepEqual(
    files.map(({ filename }) => filename),
    ['kettles.pdf'],
  )
  assert.deepEqual(
    sources.map(({ title }) => title),
    ['Kettle K2'],
  )
  assert.equal(cost.money, 0.01)

  await agent.close()
  await rendering.close() // ends the browser that made the PDF file. Otherwise the process would run for another minute
})
