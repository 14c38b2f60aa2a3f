import { expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'

const page = usePage()

async function ask() {
  const tab = await page.open()
  await tab.getByRole('textbox', { name: 'Message' }).fill('Draw it.')
  await tab.keyboard.press('Enter')
  return tab
}

it('a diagram is text while it arrives, and a picture when it is complete', async () => {
  const held = heldAnswer(['Here:\n\n```mermaid\nflowchart LR\n  A[Start]', ' --> B[End]\n```\n', '\nThat is all.'])
  page.say(held.reply)
  const tab = await ask()
  held.release(1)
  await tab.locator('pre', { hasText: 'A[Start]' }).waitFor()
  expect(await tab.locator('iframe').count()).toBe(0)
  held.release()
  const frame = tab.locator('iframe[title="Diagram"]')
  await frame.waitFor()
  await frame.contentFrame().locator('img').waitFor()
  await expect.poll(async () => (await frame.boundingBox())?.height).not.toBe(128)
  expect(await tab.locator('pre', { hasText: 'A[Start]' }).count()).toBe(0)
})

it('a diagram that can not be drawn is shown as text with the reason', async () => {
  page.say(reply.answer('```mermaid\nflowchart LR\n  A[Start\n```'))
  const tab = await ask()
  await tab.getByText('This diagram can not be drawn:').waitFor()
  await tab.locator('pre', { hasText: 'A[Start' }).waitFor()
})
