import { expect, it } from 'vitest'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { usePage } from '../support/page/page-fixture.ts'

const strong = scriptedModel([reply.answer('From the strong one.'), reply.answer('From the strong one, with a file.')])
const page = usePage({ models: { strong } })

it('shows the version, and a model that a person chooses answers the next questions', async () => {
  const tab = await page.open('/settings')
  await tab.getByText(/^\d+\.\d+\.\d+/).waitFor()
  await tab.getByRole('radio', { name: 'strong' }).check()
  await tab.goto(page.url)
  await tab.getByRole('textbox', { name: 'Message' }).fill('Who answers?')
  await tab.keyboard.press('Enter')
  await tab.getByText('From the strong one.').waitFor()
  await tab.goto(page.url)
  await tab
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('x') })
  await tab.getByRole('textbox', { name: 'Message' }).fill('And now?')
  await tab.keyboard.press('Enter')
  await tab.getByText('From the strong one, with a file.').waitFor()
})

it('a model that the server no longer has is forgotten', async () => {
  page.expectProblems(/400/)
  page.say(reply.answer('From the usual one.'))
  const tab = await page.open('/settings')
  await tab.evaluate("localStorage.setItem('daybook.model', 'gone')")
  await tab.goto(page.url)
  await tab.getByRole('textbox', { name: 'Message' }).fill('Who answers?')
  await tab.keyboard.press('Enter')
  await tab.getByText('From the usual one.').waitFor()
  expect(await tab.evaluate("localStorage.getItem('daybook.model')")).toBeNull()
})
