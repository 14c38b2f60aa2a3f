import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'
import { answered, viewWhen } from '../support/server-fixture.ts'

const ordered: unknown[] = []
const order = defineTool({
  id: 'shop.order',
  description: 'Orders.',
  params: z.object({ item: z.string() }),
  approval: true,
  run: (params) => {
    ordered.push(params)
    return 'ordered'
  },
})
const page = usePage({ tools: [order] })
const boxOf = (tab: Page) => tab.getByRole('textbox', { name: 'Message' })

async function conversation(title: string, ...answers: readonly string[]): Promise<string> {
  const { id } = await page.client.conversations.create({ title })
  for (const [index, answer] of answers.entries()) {
    page.say(reply.answer(answer))
    await page.client.send(id, `Question ${index}`)
    await viewWhen(page.client, id, (view) => answered(view) && view.turns.length === index + 1)
  }
  return id
}

it('a conversation is found, renamed, copied and deleted in the list', async () => {
  await conversation('About whales', 'Blue whales are large.')
  await conversation('About ants', 'Ants are small.')
  const tab = await page.open()
  const list = tab.getByRole('list', { name: 'All conversations' })
  await list.getByText('About whales').waitFor()
  await tab.getByLabel('Search conversations').fill('ants')
  await expect.poll(() => list.getByRole('listitem').count()).toBe(1)
  await list.getByText('About ants').hover()
  await tab.getByRole('button', { name: 'More about About ants' }).click()
  await tab.getByRole('menuitem', { name: 'Rename' }).click()
  await tab.getByLabel('Title').fill('About beetles')
  await tab.keyboard.press('Enter')
  await list.getByText('About beetles').waitFor()
  await tab.getByLabel('Search conversations').fill('')
  await list.getByText('About beetles').hover()
  await tab.getByRole('button', { name: 'More about About beetles' }).click()
  await tab.getByRole('menuitem', { name: 'Make a copy' }).click()
  await tab.waitForURL(/\/c\//)
  await tab.getByText('Ants are small.').waitFor()
  await list.getByText('About whales').hover()
  await tab.getByRole('button', { name: 'More about About whales' }).click()
  await tab.getByRole('menuitem', { name: 'Delete' }).click()
  await tab.getByRole('button', { name: 'Delete', exact: true }).click()
  await expect.poll(() => list.getByText('About whales').count()).toBe(0)
})

it('Ctrl+K goes to a conversation, and ? lists the keys', async () => {
  await conversation('About rivers', 'The Nile is long.')
  const tab = await page.open()
  await boxOf(tab).waitFor()
  await tab.keyboard.press('Control+k')
  await tab.getByRole('combobox').fill('rivers')
  await tab.getByRole('option', { name: 'About rivers' }).waitFor()
  await tab.keyboard.press('Enter')
  await tab.getByText('The Nile is long.').waitFor()
  await tab.getByRole('log').focus()
  await tab.keyboard.press('?')
  await tab.getByRole('dialog', { name: 'Keys' }).getByText('Steer: interrupt').waitFor()
  await tab.keyboard.press('Escape')
  expect(await tab.getByRole('dialog').count()).toBe(0)
  await boxOf(tab).fill('Is it?')
  expect(await tab.getByRole('dialog').count()).toBe(0)
})

it('a text is found in turns that are not in the document, with a count', async () => {
  const filler = 'Some words about nothing in particular. '.repeat(60)
  const answers = Array.from({ length: 12 }, (_, index) => `Answer ${index}. ${index % 5 === 0 ? 'A hidden needle.' : ''} ${filler}`)
  const id = await conversation('Long', ...answers)
  const tab = await page.open(`/c/${id}`)
  await tab.getByText('Answer 11.').waitFor()
  expect(await tab.getByText('Answer 0.').count()).toBe(0)
  await tab.keyboard.press('Control+f')
  await tab.getByLabel('Find in conversation').fill('needle')
  await tab.getByText('1 of 3').waitFor()
  await tab.getByText('Answer 0.').waitFor()
  await tab.keyboard.press('Enter')
  await tab.getByText('2 of 3').waitFor()
  await tab.getByText('Answer 5.').waitFor()
  expect(await tab.evaluate(() => CSS.highlights.get('found-current')?.size)).toBe(1)
  await tab.keyboard.press('Shift+Enter')
  await tab.getByText('1 of 3').waitFor()
  await tab.keyboard.press('Escape')
  expect(await tab.getByLabel('Find in conversation').count()).toBe(0)
})

it('one place lists what waits in all conversations, and answers it', async () => {
  for (const item of ['a lamp', 'a chair']) {
    const { id } = await page.client.conversations.create({ title: `Buy ${item}` })
    page.say(reply.call('shop.order', { item }))
    await page.client.send(id, `Buy ${item}`)
    await viewWhen(page.client, id, (view) => view.turns.at(-1)?.parked === true)
  }
  page.say(reply.answer('Ordered.'))
  const tab = await page.open('/waiting')
  const cards = tab.getByRole('region', { name: /^Approval/ })
  await expect.poll(() => cards.count()).toBe(2)
  await cards.filter({ hasText: 'a lamp' }).getByRole('button', { name: 'Approve' }).click()
  await expect.poll(() => cards.count()).toBe(1)
  await expect.poll(() => ordered).toEqual([{ item: 'a lamp' }])
})

it('two tabs show the same conversation while it runs', async () => {
  const { id } = await page.client.conversations.create({ title: 'Shared' })
  const tabs = [await page.open(`/c/${id}`), await page.open(`/c/${id}`)] as const
  const held = heldAnswer(['Both ', 'see it.'])
  page.say(held.reply)
  await boxOf(tabs[0]).fill('Do both see it?')
  await tabs[0].keyboard.press('Enter')
  held.release(1)
  for (const tab of tabs) await tab.getByText('Both').last().waitFor()
  held.release()
  for (const tab of tabs) {
    await tab.getByText('Both see it.').waitFor()
    await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  }
  const texts = await Promise.all(tabs.map((tab) => tab.getByRole('article').innerText()))
  expect(texts[1]?.replace(/Thought.*/g, '')).toBe(texts[0]?.replace(/Thought.*/g, ''))
})
