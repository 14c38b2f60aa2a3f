import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { CostView } from '../../src/core/api/report.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { formatCount, formatMoney } from '../../ui/src/model/inspect/figures.ts'
import { usePage } from '../support/page/page-fixture.ts'
import { answered, viewWhen } from '../support/server-fixture.ts'

const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8')
const search = defineTool({
  id: 'web_tools.web_search',
  description: 'Searches.',
  params: z.object({ queries: z.array(z.string()) }),
  run: () => ({ ok: true, ret: [{ sid: 1, title: 'A study', url: 'https://a.example/study', text: 'Measured.' }] }),
})
const order = defineTool({ id: 'shop.order', description: 'Orders.', params: z.object({ item: z.string() }), run: () => 'ordered' })
const page = usePage({
  tools: [search, order],
  bookkeeping: {
    // the price of some calls is not known
    chargeOf: ({ uncached, cacheRead, cacheWrite, output }) =>
      uncached > 0 && uncached % 7 === 0
        ? undefined
        : { uncached: uncached * 3_000, cacheRead: cacheRead * 300, cacheWrite: cacheWrite * 3_750, output: output * 15_000 },
    rulesOf: () => ({ kind: 'marks', minimumTokens: 0, lookBackParts: 20, ttlSeconds: 300, maxMarks: 4 }),
  },
})

const usage = (uncached: number, cacheRead: number, cacheWrite: number) => ({ uncached, cacheRead, cacheWrite, output: 40, reasoning: 0 })
let id = ''

beforeAll(async () => {
  id = (await page.client.conversations.create({ title: 'Doors' })).id
  page.say(
    { text: reply.call('web_tools.web_search', { queries: ['doors'] }, { notes: 'I search first.' }), usage: usage(200, 0, 4_000) },
    { text: reply.call('shop.order', { item: 'a door' }), usage: usage(200, 4_000, 300) },
    { text: reply.answer('The doors are red [[S:1]].'), usage: usage(300, 1_000, 3_400) },
  )
  await page.client.send(id, 'Which colour have the doors?')
  await viewWhen(page.client, id, answered)
  page.say({ text: reply.answer('They still are.'), usage: usage(150, 4_400, 200) })
  await page.client.send(id, 'And today?')
  await viewWhen(page.client, id, (view) => view.turns.length === 2 && answered(view))
})

const figure = (tab: Page, name: string) => tab.locator(`[data-figure="${name}"]`).first().innerText()

describe('the timeline', () => {
  it('lists every block in order, filters and searches them, and opens one with its path', async () => {
    const tab = await page.open(`/c/${id}/timeline`, { width: 1440, height: 900 })
    const rows = tab.locator('[data-block]')
    await rows.first().waitFor()
    const { entries } = await page.client.entries(id)
    const ids = entries.flatMap(({ change }) => (change.type === 'blocks.appended' ? change.blocks.map((block) => block.id) : []))
    expect(await figure(tab, 'found')).toBe(`${ids.length} blocks`)
    expect(await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-block')))).toEqual(ids.slice(0, await rows.count()))
    await tab.getByRole('searchbox', { name: 'Search in blocks' }).fill('which colour')
    await expect.poll(() => rows.count()).toBe(1)
    await tab.getByRole('searchbox', { name: 'Search in blocks' }).fill('')
    await tab.getByLabel('Type').selectOption('answer')
    await expect.poll(() => figure(tab, 'found')).toContain('of')
    await tab.getByLabel('Type').selectOption('')
    await tab
      .getByRole('button', { name: /^user\.prompt/ })
      .first()
      .click({ position: { x: 40, y: 12 } })
    const details = tab.getByRole('complementary', { name: /^Block b_/ })
    await details.getByText('Which colour have the doors?').waitFor()
    await expect.poll(() => new URL(tab.url()).searchParams.get('block')).toMatch(/^b_/)
    await details
      .getByRole('button', { name: /^(ar|fi|tc|conv|tu|us)/ })
      .first()
      .click()
    await expect.poll(() => rows.count()).toBe(1)
  })

  it('goes back in time without a request, and shows the thread, the sources and the cost of that entry', async () => {
    const tab = await page.open(`/c/${id}/timeline`, { width: 1440, height: 900 })
    await tab.locator('[data-figure="cost"]', { hasText: '$' }).waitFor()
    const { entries } = await page.client.entries(id)
    const cost = await page.client.cost(id)
    const requests: string[] = []
    tab.on('request', (request) => requests.push(request.url()))
    const slider = tab.getByRole('slider', { name: 'Entry' })
    for (const seq of [entries.length - 1, Math.floor(entries.length / 2), 4, 1]) {
      await slider.fill(String(seq))
      await expect.poll(() => figure(tab, 'entry')).toBe(`Entry ${seq} of ${entries.length}`)
      const calls = cost.calls.filter((call) => call.seq <= seq)
      expect(await figure(tab, 'cost')).toBe(formatMoney(calls.reduce((sum, { money }) => sum + (money ?? 0), 0)))
      const merged = entries.slice(0, seq).some(({ change }) => change.type === 'sources.merged')
      expect(await figure(tab, 'sources')).toBe(merged ? '1' : '0')
    }
    expect(await tab.locator('[data-state="later"]').count()).toBeGreaterThan(3)
    expect(requests).toEqual([])
    await tab.getByRole('button', { name: 'Now' }).click()
    expect(await tab.locator('[data-state="later"]').count()).toBe(0)
  })

  it('forks from a block, after it has shown what the copy will not have', async () => {
    const tab = await page.open(`/c/${id}/timeline`, { width: 1440, height: 900 })
    await tab
      .getByRole('button', { name: /^react\.tool\.call/ })
      .first()
      .click({ position: { x: 40, y: 12 } })
    await tab.getByRole('button', { name: 'Fork from here' }).click()
    const bar = tab.getByRole('group', { name: 'Fork' })
    await bar.getByText('the last entry before your choice at which every call had a result').waitFor()
    await bar.getByRole('button', { name: 'Fork' }).click()
    await tab.waitForURL((url) => !url.pathname.includes(id) && url.pathname.includes('/c/'))
    await tab.getByText('Which colour have the doors?').first().waitFor()
    expect(await tab.getByText('The doors are red').count()).toBe(0)
  })

  it('shows new entries as they arrive', async () => {
    const live = (await page.client.conversations.create({ title: 'Live' })).id
    page.say(reply.answer('One.'), reply.answer('Two.'))
    await page.client.send(live, 'First')
    await viewWhen(page.client, live, answered)
    const tab = await page.open(`/c/${live}/timeline`)
    await tab.locator('[data-block]').first().waitFor()
    await page.client.send(live, 'Second')
    await tab.locator('[data-block]', { hasText: 'Two.' }).first().waitFor()
  })
})

describe('the prompt', () => {
  it('shows the exact prompt with its marks, its buckets and its price, and explains the miss of the third round', async () => {
    const tab = await page.open(`/c/${id}/prompt`, { width: 1440, height: 900 })
    const { rows } = (await page.client.cost(id)).cache
    const turn = rows[0]?.turn_id ?? ''
    await tab.getByLabel('Round', { exact: true }).selectOption({ label: 'Turn 1, round 3 · miss' })
    await tab.waitForURL((url) => url.pathname.endsWith(`/prompt/${turn}/2`))
    await expect.poll(() => figure(tab, 'read')).toBe('1,000')
    expect([await figure(tab, 'written'), await figure(tab, 'full'), await figure(tab, 'price')]).toEqual([
      '3,400',
      '300',
      formatMoney(300 * 3_000 + 1_000 * 300 + 3_400 * 3_750 + 40 * 15_000),
    ])
    const prompt = await page.client.prompt(id, turn, 2)
    await tab.locator('[data-testid="ribbon"] g').first().waitFor()
    expect(await tab.locator('[data-testid="ribbon"] g').count()).toBe(prompt.blocks.length)
    expect(await tab.locator('[data-testid="ribbon"] [data-mark]').count()).toBe(prompt.blocks.filter(({ marked }) => marked).length)
    await tab.locator('[data-testid="prompt"] pre').first().waitFor()
    expect(prompt.system.startsWith(((await tab.locator('[data-testid="prompt"] pre').first().textContent()) ?? '').slice(0, 200))).toBe(
      true,
    )
    const miss = tab.locator('[data-testid="miss"]')
    const { miss: known } = rows[2] ?? {}
    await miss.getByText(`${formatCount(known?.tokens ?? 0)} tokens paid again`).click()
    await miss.getByText(known?.advice ?? 'nothing').waitFor()
  })

  it('steps through the rounds with [ and ], and compares two of them', async () => {
    const tab = await page.open(`/c/${id}/prompt`, { width: 1440, height: 900 })
    await expect.poll(() => figure(tab, 'read')).toBe('4,400')
    await tab.keyboard.press('[')
    await expect.poll(() => figure(tab, 'read')).toBe('1,000')
    await tab.keyboard.press(']')
    await expect.poll(() => figure(tab, 'read')).toBe('4,400')
    await tab.getByLabel('Compare with').selectOption({ label: 'Turn 1, round 1' })
    const difference = tab.locator('[data-testid="difference"]')
    await difference.locator('[data-change="added"]').first().waitFor()
    await difference.getByText('And today?').first().waitFor()
    expect(await difference.locator('[data-change="changed"]').count()).toBeGreaterThan(0)
  })
})

describe('cost, sources and effects', () => {
  it('the figures on the screen are those of the ledger', async () => {
    const tab = await page.open(`/c/${id}/cost`, { width: 1440, height: 1200 })
    await tab.locator('[data-figure="total"]').waitFor()
    await expectFigures(tab, await page.client.cost(id))
    const { miss } = (await page.client.cost(id)).cache.rows[2] ?? {}
    await tab
      .locator(`[data-miss="${miss?.cause}"]`)
      .getByText(formatMoney(miss?.money ?? null))
      .waitFor()
  })

  it('the figures of random conversations are those of their ledgers', async () => {
    const tokens = fc.nat(9_000)
    const rounds = fc.array(fc.record({ uncached: tokens, cacheRead: tokens, cacheWrite: tokens, output: fc.nat(500) }), {
      minLength: 1,
      maxLength: 5,
    })
    for (const script of fc.sample(rounds, 4)) {
      const random = (await page.client.conversations.create({ title: 'Random' })).id
      for (const [index, each] of script.entries()) {
        const text = index === script.length - 1 ? reply.answer('Done.') : reply.call('shop.order', { item: `${index}` })
        page.say({ text, usage: { ...each, reasoning: 0 } })
      }
      await page.client.send(random, 'Order.')
      await viewWhen(page.client, random, answered)
      const tab = await page.open(`/c/${random}/cost`, { width: 1440, height: 1200 })
      await tab.locator('[data-figure="total"]').waitFor()
      const cost = await page.client.cost(random)
      await expectFigures(tab, cost)
      await tab.getByRole('link', { name: 'Prompt', exact: true }).click()
      await tab.locator('[data-figure="price"]').waitFor()
      const last = cost.calls.findLast(({ role }) => role === 'decision')
      expect([await figure(tab, 'read'), await figure(tab, 'written'), await figure(tab, 'full'), await figure(tab, 'price')]).toEqual([
        ...[last?.tokens.cache_read, last?.tokens.cache_write, last?.tokens.uncached].map((count) => formatCount(count ?? -1)),
        formatMoney(last?.money ?? null),
      ])
      await tab.close()
    }
  })

  it('sources say where they are cited, and effects what became of the calls', async () => {
    const tab = await page.open(`/c/${id}/sources`)
    await tab.locator('[data-sid="1"]').getByText('A study').waitFor()
    await tab
      .locator('[data-sid="1"]')
      .getByRole('link', { name: /an answer/ })
      .click()
    await tab
      .getByRole('complementary', { name: /^Block b_/ })
      .getByText('The doors are red')
      .waitFor()
    await tab.getByRole('link', { name: 'Effects' }).click()
    await tab.getByText('shop.order').waitFor()
    expect(await tab.locator('[data-effect]').count()).toBe((await page.client.effects(id)).effects.length)
  })
})

/** Compares every figure of the cost screen with the report. */
async function expectFigures(tab: Page, cost: CostView): Promise<void> {
  const { tokens, money, unpriced, calls } = cost.total
  const shown = await Promise.all(['total', 'calls', 'read', 'written', 'full', 'output'].map((name) => figure(tab, name)))
  expect(shown).toEqual([
    formatMoney(money, unpriced),
    ...[calls, tokens.cache_read, tokens.cache_write, tokens.uncached, tokens.output].map(formatCount),
  ])
  for (const button of await tab.getByRole('button', { name: /^Show all/ }).all()) await button.click()
  const parts = {
    'By turn': cost.turns,
    'By model': cost.models,
    'By purpose': cost.roles,
    'By block, the most expensive first': cost.blocks,
  }
  for (const [title, part] of Object.entries(parts)) {
    const section = tab.getByRole('region', { name: title, exact: true })
    for (const [key, sum] of Object.entries(part)) {
      const cells = await section.locator(`tr[data-row="${key}"] td`).allInnerTexts()
      const { cache_read, cache_write, uncached, output } = sum.tokens
      expect(cells).toEqual([
        ...[sum.calls, cache_read, cache_write, uncached, output].map(formatCount),
        formatMoney(sum.money, sum.unpriced),
      ])
    }
  }
}

describe('the replay', () => {
  it('says that the current code does the same, and folds equal rounds', async () => {
    const tab = await page.open(`/c/${id}/replay`)
    await tab.getByText('The current code does the same.').waitFor()
    expect(await tab.locator('[data-result="same"]').count()).toBeGreaterThan(1)
  })
})

it('says that a conversation does not exist', async () => {
  page.expectProblems(/404/)
  const tab = await page.open('/c/none/timeline')
  await tab.getByText('This conversation does not exist.').waitFor()
})

it.each(['timeline', 'prompt', 'cost', 'sources', 'effects', 'replay'])(
  'nothing scrolls sideways at 360 px, and axe finds nothing in light and dark colours: %s',
  async (screen) => {
    for (const [width, dark] of [
      [360, false],
      [360, true],
      [1440, false],
      [1440, true],
    ] as const) {
      const tab = await page.open(`/c/${id}/${screen}`, { width, height: 800, dark })
      await tab.locator('main section [role="region"], main section li').first().waitFor()
      await tab.waitForTimeout(300)
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      await tab.evaluate(axe)
      const violations = await tab.evaluate(async () => {
        const { run } = (
          window as unknown as { axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }
        ).axe
        const { violations: found } = await run()
        return found
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id: rule, nodes }) => `${rule}: ${nodes.map(({ html }) => html.slice(0, 140)).join(' · ')}`)
      })
      expect([screen, width, wide, violations]).toEqual([screen, width, 0, []])
      await tab.close()
    }
  },
)
