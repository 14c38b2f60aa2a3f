import { expect, it } from 'vitest'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'

const page = usePage()

it('a question is answered while the answer is being written, and stays after a reload', async () => {
  const held = heldAnswer(['The **first** part.', '\n\nThe second part.'])
  page.say(held.reply)
  const tab = await page.open()
  await tab.getByRole('textbox', { name: 'Message' }).fill('What is it?')
  await tab.keyboard.press('Enter')
  await tab.waitForURL(/\/c\/[\w-]+$/)
  await tab.getByText('What is it?', { exact: true }).first().waitFor()
  held.release(1)
  await tab.locator('strong', { hasText: 'first' }).waitFor()
  expect(await tab.getByText('The second part.').count()).toBe(0)
  held.release()
  await tab.getByText('The second part.').waitFor()
  await tab.getByRole('navigation').getByText('A scripted conversation').waitFor()
  await tab.reload()
  await tab.getByText('The second part.').waitFor()
  expect(await tab.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('')
})

it('the page runs under a policy that forbids inline scripts and other origins', async () => {
  const response = await fetch(page.url)
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).toMatch(/script-src 'self'(;|$)/)
  expect(policy).not.toContain('unsafe')
})

it('an address that does not exist says so', async () => {
  page.expectProblems(/404/)
  const tab = await page.open('/c/missing')
  await tab.getByText('This conversation does not exist.').waitFor()
})
