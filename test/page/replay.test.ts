import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ConversationStore } from '../../src/ports/store.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { startBrowser, type TestBrowser } from '../support/page/browser.ts'
import { weather } from '../support/scenario-tools.ts'
import { answered, closeServers, openServer, viewWhen } from '../support/server-fixture.ts'

let browser: TestBrowser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.close()
  await closeServers()
})

/** A store whose journal says that the agent has noted something else, as if another version of the code had written it. */
const otherNotes = (store: ConversationStore): ConversationStore => ({
  ...store,
  async *readJournal(id, range) {
    for await (const { seq, change } of store.readJournal(id, range)) {
      if (change.type !== 'blocks.appended') yield { seq, change }
      else
        yield {
          seq,
          change: {
            ...change,
            blocks: change.blocks.map((block) => ({ ...block, ...(block.type === 'react.notes' && { text: 'Ich schaue nach.' }) })),
          },
        }
    }
  },
})

it('a replay shows both sides, folds what is equal, and opens the first difference at its byte', async () => {
  const replies = [
    reply.call('weather.today', { city: 'Rome' }),
    reply.call('weather.today', { city: 'Oslo' }, { notes: 'I look it up.' }),
    reply.answer('Clear.'),
  ]
  const recorded = await openServer({ replies, tools: [weather()] })
  await recorded.client.conversations.create({ id: 'c', title: 'Weather' })
  await recorded.client.send('c', 'Rome and Oslo?')
  await viewWhen(recorded.client, 'c', answered)
  const { server, client } = await openServer({ tools: [weather()], store: otherNotes(recorded.store) })
  const [turn] = (await client.replay('c')).turns
  expect(turn).toMatchObject({ result: 'different', divergence: { kind: 'block', byte: 1, field: 'text' } })
  const tab = await browser.open(`${server.url}/c/c/replay`)
  await tab.getByText('1 of 1 turns would not be the same.').waitFor()
  const card = tab.locator('[data-testid="divergence"]')
  await card.getByText(', byte 1').waitFor()
  expect(await card.locator('mark').allInnerTexts()).toEqual(['c', ' '])
  await card
    .getByText(turn?.divergence?.block?.id ?? '')
    .first()
    .waitFor()
  await tab.getByText(/Round 1: \d+ equal/).waitFor()
  expect(await tab.locator('[data-result="not reached"]').count()).toBeGreaterThan(0)
  expect(browser.takeProblems()).toEqual([])
})
