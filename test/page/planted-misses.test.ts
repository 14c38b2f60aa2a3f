import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { conversationKey, localScope } from '../../src/core/scope.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { formatCount, formatMoney } from '../../ui/src/model/inspect/figures.ts'
import { plantedMisses, plantMiss } from '../support/cache/planted-misses.ts'
import { startBrowser, type TestBrowser } from '../support/page/browser.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

let browser: TestBrowser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.close()
  await closeServers()
})

const chargeOf = (usage: {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}) => ({
  uncached: usage.uncached * 3_000,
  cacheRead: usage.cacheRead * 300,
  cacheWrite: usage.cacheWrite * 3_750,
  output: usage.output * 15_000,
})

it.each(plantedMisses.map(({ cause }) => cause))(
  'the page names a planted cache miss with its block, its price and what to do: %s',
  async (cause) => {
    const clock = createFixedClock()
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
    const key = conversationKey(localScope, 'c')
    const harness = await plantMiss(cause, { store, id: key })
    const { server, client } = await openServer({
      model: scriptedModel([]),
      store,
      bookkeeping: { chargeOf, rulesOf: () => harness.rules },
    })
    const row = (await client.cost('c')).cache.rows.find(({ miss }) => miss?.cause === cause)
    const { miss } = row ?? {}
    expect(miss).toMatchObject({ cause, money: expect.any(Number), advice: expect.any(String) })
    expect(miss?.money).toBeGreaterThan(0)
    const tab = await browser.open(`${server.url}/c/c/cost`, { width: 1440, height: 900 })
    const line = tab.locator(`[data-miss="${cause}"]`).first()
    await line.getByText(`${formatCount(miss?.tokens ?? 0)} tokens`).waitFor()
    expect(await line.innerText()).toContain(formatMoney(miss?.money ?? null))
    if (miss?.block != null) expect(await line.innerText()).toContain(miss.block)
    await line.getByRole('link').first().click()
    const card = tab.locator('[data-testid="miss"]')
    await card.locator('summary').click()
    await card.getByText(miss?.advice ?? '').waitFor()
    if (miss?.block != null) expect(await card.locator('[data-testid="miss-block"]').innerText()).toContain(miss.block)
    await browser.closePages()
    // the agent of this server is another one, so some prompts can not be rebuilt; the miss is explained nevertheless
    expect(browser.takeProblems().filter((problem) => !problem.includes('404'))).toEqual([])
  },
)
