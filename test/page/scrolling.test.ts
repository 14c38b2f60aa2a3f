import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'
import { answered, viewWhen } from '../support/server-fixture.ts'

const print = defineTool({
  id: 'log.print',
  description: 'Prints lines.',
  params: z.object({}),
  run: () => Array.from({ length: 200 }, (_, index) => `line ${index}`).join('\n'),
})
const page = usePage({ tools: [print] })
const paragraph = (name: string) => `${name}: ${'some words that fill a line or two. '.repeat(6)}\n\n`
const paragraphs = (name: string, count: number) => Array.from({ length: count }, (_, index) => paragraph(`${name} ${index}`)).join('')
const thread = (tab: Page) => tab.getByRole('log')
const place = (tab: Page) =>
  thread(tab).evaluate((element) => ({ top: element.scrollTop, left: element.scrollHeight - element.clientHeight - element.scrollTop }))
const topOf = (tab: Page, text: string) =>
  tab
    .getByText(text)
    .first()
    .evaluate((element) => element.getBoundingClientRect().top)

/** A conversation with two long turns. */
async function longConversation(): Promise<string> {
  const { id } = await page.client.conversations.create()
  for (const name of ['Early', 'Late']) {
    page.say(reply.answer(paragraphs(name, 25)))
    await page.client.send(id, `${name} question`)
    await viewWhen(page.client, id, (view) => answered(view) && (view.turns.at(-1)?.prompt ?? '').startsWith(name))
  }
  return id
}

async function openAt(id: string, text: string) {
  const tab = await page.open(`/c/${id}`)
  await tab.getByText(text).first().waitFor()
  return tab
}

async function send(tab: Page, text: string) {
  await tab.getByRole('textbox', { name: 'Message' }).fill(text)
  await tab.keyboard.press('Enter')
}

/** Scrolls with the wheel over the thread, and waits until it has ended. */
async function wheel(tab: Page, by: number) {
  await thread(tab).hover({ position: { x: 300, y: 200 } })
  await tab.mouse.wheel(0, by)
  await tab.waitForTimeout(250)
}

it('what a reader sees above does not move while text arrives, and the end is followed only after scrolling to it or by the pill', async () => {
  const id = await longConversation()
  const tab = await openAt(id, 'Late 24')
  const held = heldAnswer(Array.from({ length: 30 }, (_, index) => paragraph(`New ${index}`)))
  page.say(held.reply)
  await send(tab, 'More?')
  held.release(10)
  await tab.getByText('New 9:').waitFor()
  await expect.poll(async () => (await place(tab)).left).toBeLessThan(3)

  await wheel(tab, -60)
  expect(await tab.getByRole('button', { name: /To the end/ }).count()).toBe(0)
  await wheel(tab, -900)
  const before = await topOf(tab, 'Late 24')
  held.release(10)
  await tab.getByRole('button', { name: /To the end/ }).waitFor()
  await expect.poll(() => tab.getByText('New 19:').count()).toBe(1)
  await tab.waitForTimeout(200)
  expect(await topOf(tab, 'Late 24')).toBe(before)
  expect(await tab.getByRole('button', { name: /To the end/ }).textContent()).toMatch(/new/)

  await tab.getByRole('button', { name: /To the end/ }).click()
  await expect.poll(async () => (await place(tab)).left).toBeLessThan(3)
  held.release(5)
  await tab.getByText('New 24:').waitFor()
  await expect.poll(async () => (await place(tab)).left).toBeLessThan(3)

  await wheel(tab, -400)
  held.release(2)
  await expect.poll(() => tab.getByText('New 26:').count()).toBe(1)
  expect((await place(tab)).left).toBeGreaterThan(300)
  await wheel(tab, 5_000)
  held.release()
  await tab.getByText('New 29:').waitFor()
  await tab.getByRole('button', { name: 'Copy answer' }).last().waitFor()
  await expect.poll(async () => (await place(tab)).left).toBeLessThan(3)
})

it('the wheel inside the output of a tool does not end following', async () => {
  const held = heldAnswer(Array.from({ length: 30 }, (_, index) => paragraph(`Step ${index}`)))
  page.say(reply.call('log.print', {}), held.reply)
  const tab = await page.open()
  await send(tab, 'Write it.')
  await tab.getByRole('button', { name: /Log print/ }).click()
  const output = tab.getByLabel('Result').filter({ hasText: 'line 0' })
  await output.waitFor()
  await output.hover()
  await tab.mouse.wheel(0, -200)
  await tab.waitForTimeout(200)
  await tab.mouse.wheel(0, 300)
  held.release()
  await tab.getByText('Step 29:').waitFor()
  expect(await thread(tab).getAttribute('data-following')).toBe('true')
  await expect.poll(async () => (await place(tab)).left).toBeLessThan(3)
})

it('selecting text pauses following and keeps the selection', async () => {
  const held = heldAnswer(Array.from({ length: 20 }, (_, index) => paragraph(`Part ${index}`)))
  page.say(held.reply)
  const tab = await page.open()
  await send(tab, 'Tell me.')
  held.release(5)
  await tab.getByText('Part 4:').waitFor()
  await tab
    .getByText('Part 2:')
    .first()
    .dblclick({ position: { x: 12, y: 10 } })
  const chosen = await tab.evaluate(() => document.getSelection()?.toString())
  expect(chosen).toMatch(/Part/)
  const before = await place(tab)
  held.release(12)
  await tab.getByText('Part 16:').waitFor({ state: 'attached' })
  await tab.waitForTimeout(200)
  expect((await place(tab)).top).toBe(before.top)
  expect(await tab.evaluate(() => document.getSelection()?.toString())).toBe(chosen)
  held.release()
})

it('a new question is at the top, and its answer grows below it', async () => {
  const id = await longConversation()
  const tab = await openAt(id, 'Late 24')
  const held = heldAnswer(['A short answer.', ' And a bit more.'])
  page.say(held.reply)
  await send(tab, 'A new question?')
  held.release(1)
  await tab.getByText('A short answer.').waitFor()
  const question = tab.getByText('A new question?', { exact: true }).last()
  const offset = async () =>
    (await question.evaluate((element) => element.getBoundingClientRect().top)) -
    (await thread(tab).evaluate((element) => element.getBoundingClientRect().top))
  await expect.poll(offset).toBeLessThan(60)
  expect(await offset()).toBeGreaterThan(0)
  const before = await offset()
  held.release()
  await tab.getByText('And a bit more.').waitFor()
  expect(await offset()).toBe(before)
})

it('coming back to a conversation restores the row and its offset, and a running one opens at its end', async () => {
  const id = await longConversation()
  const tab = await openAt(id, 'Late 24')
  await wheel(tab, -1_500)
  const before = await topOf(tab, 'Late 10:')
  await tab.getByRole('button', { name: 'New' }).click()
  await tab.getByText('What would you like to know?').waitFor()
  await tab.goBack()
  await tab.getByText('Late 10:').waitFor()
  await expect.poll(() => topOf(tab, 'Late 10:')).toBeCloseTo(before, -0.5)

  const held = heldAnswer([paragraphs('Live', 20), 'the end'])
  page.say(held.reply)
  await page.client.send(id, 'Go on')
  held.release(1)
  await tab.goto(`${page.url}/`)
  await tab.goto(`${page.url}/c/${id}`)
  await tab.getByText('Live 19:').waitFor()
  await expect.poll(async () => (await place(tab)).left).toBeLessThan(3)
  held.release()
  await tab.getByText('the end').waitFor()
})

it('a box that grows never moves the reader', async () => {
  const id = await longConversation()
  const tab = await openAt(id, 'Late 24')
  await wheel(tab, -1_000)
  const before = await topOf(tab, 'Late 12:')
  await tab.getByRole('textbox', { name: 'Message' }).fill('line\n'.repeat(12))
  await tab.waitForTimeout(200)
  expect(await topOf(tab, 'Late 12:')).toBe(before)
})
