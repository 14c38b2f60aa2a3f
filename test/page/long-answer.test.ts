import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { usePage } from '../support/page/page-fixture.ts'

const page = usePage()

const part = (index: number) => `## Part ${index}\n\nThe word of this part is w${index}w. ${'More words follow here. '.repeat(12)}\n\n`
const parts = 400
const answer = Array.from({ length: parts }, (_, index) => part(index)).join('')

async function openLongAnswer(): Promise<Page> {
  page.say(reply.answer(answer))
  const { id } = await page.client.conversations.create()
  const tab = await page.open(`/c/${id}`)
  await tab.getByRole('textbox', { name: 'Message' }).fill('Write much.')
  await tab.keyboard.press('Enter')
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  await tab.getByRole('heading', { name: `Part ${parts - 1}` }).waitFor()
  return tab
}
const headings = (tab: Page) => tab.locator('[data-answer] h2').count()

it('only the part of a long answer that is near the screen has elements, and it appears when it is scrolled to', async () => {
  const tab = await openLongAnswer()
  await expect.poll(() => headings(tab)).toBeLessThan(120)
  const height = () => tab.getByRole('log').evaluate((log) => log.scrollHeight)
  const before = await height()
  await tab.getByRole('log').hover()
  for (let count = 0; count < 60; count++) {
    await tab.mouse.wheel(0, -4_000)
    await tab.waitForTimeout(20)
  }
  await tab.getByRole('heading', { name: 'Part 0', exact: true }).waitFor()
  await expect.poll(() => headings(tab)).toBeLessThan(120)
  expect(await height()).toBe(before) // nothing that a reader sees jumps
  await tab.setViewportSize({ width: 500, height: 800 })
  await expect.poll(height).toBeGreaterThan(before * 1.2)
  await expect.poll(() => headings(tab)).toBeLessThan(120)
})

it('a long answer is copied as a whole', async () => {
  const tab = await openLongAnswer()
  await expect.poll(() => headings(tab)).toBeLessThan(120)
  await tab.getByRole('button', { name: 'Copy answer' }).click()
  await tab.getByRole('button', { name: 'Copied' }).waitFor()
  const html = await tab.evaluate<string>(
    "navigator.clipboard.read().then(([item]) => item.getType('text/html')).then((blob) => blob.text())",
  )
  expect(html.match(/<h2>/g)).toHaveLength(parts)
})

it('a text in a part without elements is found and shown', async () => {
  const tab = await openLongAnswer()
  await expect.poll(() => headings(tab)).toBeLessThan(120)
  await tab.keyboard.press('Control+f')
  await tab.getByLabel('Find in conversation').fill('w123w')
  await tab.getByText('1 of 1').waitFor()
  await expect.poll(() => tab.getByText('w123w').isVisible()).toBe(true)
  await tab.getByText('w123w').waitFor()
  const box = await tab.getByText('w123w').boundingBox()
  expect(box && box.y > 0 && box.y < 800).toBe(true)
})

it('selected text stays selected while the thread scrolls away from it', async () => {
  const tab = await openLongAnswer()
  await expect.poll(() => headings(tab)).toBeLessThan(120)
  await tab.evaluate(`{
    const text = [...document.querySelectorAll('[data-answer] p')].at(-1).firstChild
    getSelection().setBaseAndExtent(text, 0, text, 12)
  }`)
  await tab.getByRole('log').hover()
  for (let count = 0; count < 30; count++) {
    await tab.mouse.wheel(0, -4_000)
    await tab.waitForTimeout(20)
  }
  await tab.waitForTimeout(200)
  expect(await tab.evaluate('String(getSelection())')).toBe('The word of ')
})
