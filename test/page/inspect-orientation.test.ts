import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { usePage } from '../support/page/page-fixture.ts'
import { answered, viewWhen } from '../support/server-fixture.ts'

const order = defineTool({ id: 'shop.order', description: 'Orders.', params: z.object({ item: z.string() }), run: () => 'ordered' })
const page = usePage({ tools: [order] })
let id = ''

beforeAll(async () => {
  id = (await page.client.conversations.create({ title: 'Doors' })).id
  for (const count of [1, 2]) {
    page.say(reply.call('shop.order', { item: 'a door' }), reply.answer('It is ordered.'))
    await page.client.send(id, 'Order a door.')
    await viewWhen(page.client, id, (view) => view.turns.length === count && answered(view))
  }
})

it('the menu of the open conversation is visible, and leads to the screens for operators', async () => {
  const tab = await page.open(`/c/${id}`, { width: 1440, height: 900 })
  const menu = tab.getByRole('button', { name: 'More about Doors' })
  await menu.waitFor()
  expect(await menu.evaluate((button) => getComputedStyle(button).opacity)).toBe('1')
  await menu.click()
  await tab.getByRole('menuitem', { name: 'Inspect' }).click()
  await tab.waitForURL(`**/c/${id}/timeline`)
})

it('the columns of the timeline have headings above them, even after scrolling, and the author is one of them', async () => {
  const tab = await page.open(`/c/${id}/timeline`, { width: 1440, height: 400 })
  const row = tab.locator('[data-block]').first()
  await row.waitFor()
  const headings = tab.getByTestId('headings')
  for (const [heading, text] of [
    ['Path', /^ar:/],
    ['Author', 'user'],
  ] as const) {
    const [above, below] = await Promise.all([
      headings.getByText(heading, { exact: true }).boundingBox(),
      tab
        .getByTestId('blocks')
        .locator('[data-block]', { hasText: 'Order a door.' })
        .first()
        .getByText(text, { exact: true })
        .boundingBox(),
    ])
    expect(below?.x).toBeCloseTo(above?.x ?? -1, 0)
  }
  await tab.getByTestId('blocks').evaluate((list) => list.scrollTo(0, list.scrollHeight))
  await expect.poll(() => headings.isVisible()).toBe(true)
  await tab.locator('[data-block]', { hasText: 'It is ordered.' }).last().waitFor()
})

it('the cost screen names a round by its turn', async () => {
  const tab = await page.open(`/c/${id}/cost`, { width: 1440, height: 900 })
  await tab.getByText(/^Turn 2, round 2: /).waitFor()
  await tab.getByRole('link', { name: /^Turn 1, round 2: / }).focus()
  await tab.getByText(/^Turn 1, round 2: /).waitFor()
})

it('the id of a call with an effect leads to its block on the timeline', async () => {
  const tab = await page.open(`/c/${id}/effects`)
  await tab.locator('[data-effect]').first().getByRole('link').click()
  await tab
    .getByRole('complementary', { name: /^Block b_/ })
    .getByText('react.tool.call')
    .waitFor()
})

it.each(['effects', 'replay'])('a narrow window shows the tab of the open screen: %s', async (screen) => {
  const tab = await page.open(`/c/${id}/${screen}`, { width: 360, height: 800 })
  const link = tab.getByRole('navigation', { name: 'Inspect' }).locator('[aria-current=page]')
  await link.waitFor()
  const { x = 0, width = 0 } = (await link.boundingBox()) ?? {}
  expect(x + width).toBeLessThanOrEqual(360)
})
