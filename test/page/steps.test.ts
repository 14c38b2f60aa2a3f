import { expect, it } from 'vitest'
import { z } from 'zod'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'

const rows = [
  { sid: 1, title: 'A field study', url: 'https://energy.example.org/study', text: 'Forty-one houses were measured.' },
  { sid: 2, title: 'Radiators', url: 'https://heating.example.com/radiators', text: 'Five degrees less.' },
]
const search = defineTool({
  id: 'web_tools.web_search',
  description: 'Searches.',
  params: z.object({ queries: z.array(z.string()) }),
  run: () => ({ ok: true, ret: rows }),
})
const broken = defineTool({
  id: 'shop.order_book',
  description: 'Orders.',
  params: z.object({ title: z.string() }),
  run: () => ({ ok: false, error: { code: 'sold_out', message: 'The book is sold out.' } }),
})
const mails: unknown[] = []
const mail = defineTool({
  id: 'mail.send',
  description: 'Sends a mail.',
  params: z.object({ to: z.string(), text: z.string(), copies: z.number() }),
  approval: true,
  run: (params) => {
    mails.push(params)
    return 'sent'
  },
})
const page = usePage({ tools: [search, broken, mail] })

async function ask(text: string) {
  const tab = await page.open()
  await tab.getByRole('textbox', { name: 'Message' }).fill(text)
  await tab.keyboard.press('Enter')
  return tab
}

it('thinking is open while it is written, folds once when the answer starts, and stays as a person left it', async () => {
  const held = heldAnswer(['One.', ' Two.', ' Three.'], { thinking: 'I weigh both sides.' })
  page.say(held.reply)
  const tab = await ask('Think about it.')
  const words = tab.getByText('I weigh both sides.')
  await words.waitFor()
  await tab.getByRole('button', { name: 'Thinking' }).waitFor()
  held.release(1)
  await words.waitFor({ state: 'detached' })
  const fold = tab.getByRole('button', { name: /^Thought/ })
  expect(await fold.textContent()).toMatch(/Thought (< 1|\d+) s/)
  await fold.click()
  await words.waitFor()
  held.release()
  await tab.getByText('One. Two. Three.').waitFor()
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  expect(await words.count()).toBe(1)
})

it('a tool has a plain title, and shows its parameters, its result and why it failed', async () => {
  page.say(
    reply.call('shop.order_book', { title: 'Walden' }, { notes: 'I order the book.' }),
    reply.call('web_tools.web_search', { queries: ['walden book'] }),
    reply.answer('It is sold out.'),
  )
  const tab = await ask('Order Walden.')
  await tab.getByText('It is sold out.').waitFor()
  await tab.getByRole('button', { name: /^2 steps/ }).click()
  await tab.getByText('I order the book.').waitFor()
  const failed = tab.getByRole('button', { name: /^Shop order book Walden/ })
  expect(await failed.textContent()).toContain('failed')
  await failed.click()
  await tab.getByText('The book is sold out.').first().waitFor()
  await tab.getByRole('button', { name: /^Searched the web walden book/ }).waitFor()
  expect(await tab.locator('body').innerText()).not.toMatch(/react\.|web_tools\.|shop\./)
})

it('a plan is a checklist that changes while the agent works', async () => {
  const held = heldAnswer(['Done.'])
  page.say(
    reply.call('react.plan', { mode: 'new', steps: ['Search', 'Write'] }),
    reply.call('web_tools.web_search', { queries: ['x'] }, { notes: '✓ [1] Search\n… [2] Write' }),
    held.reply,
  )
  const tab = await ask('Plan it.')
  const plan = tab.getByRole('list', { name: 'Plan' })
  await plan.locator('[data-status=done]', { hasText: 'Search' }).waitFor()
  await plan.locator('[data-status=in_progress]', { hasText: 'Write' }).waitFor()
  held.release()
  await tab.getByText('Done.', { exact: true }).waitFor()
  expect(await tab.getByText('✓ [1]').count()).toBe(0)
})

it('a citation is a chip whose card opens with pointer, keyboard and tap, and loads nothing from the site', async () => {
  page.say(
    reply.call('web_tools.web_search', { queries: ['x'] }),
    reply.answer('It was measured [[S:1]] and compared [[S:1,2]].', { followups: ['Why is that so?'] }),
  )
  const tab = await ask('Was it measured?')
  const requests: string[] = []
  tab.on('request', (request) => void requests.push(request.url()))
  const one = tab.getByRole('button', { name: /^Source 1:/ })
  const both = tab.getByRole('button', { name: /^Source 1, 2:/ })
  await one.hover()
  const card = tab.getByRole('dialog')
  await card.getByText('A field study').waitFor()
  expect(await card.textContent()).toContain('energy.example.org')
  expect(await card.getByRole('link', { name: 'Open' }).getAttribute('href')).toBe('https://energy.example.org/study')
  await tab.keyboard.press('Escape')
  await card.waitFor({ state: 'detached' })
  await tab.mouse.move(5, 5)
  await both.focus()
  await card.getByText('1 of 2').waitFor()
  await tab.keyboard.press('ArrowRight')
  await card.getByText('Radiators').waitFor()
  await tab.keyboard.press('Escape')
  await card.waitFor({ state: 'detached' })
  await both.click()
  await card.waitFor()
  expect(requests.filter((url) => !url.startsWith(page.url))).toEqual([])
})

it('a suggested question is sent with a click', async () => {
  page.say(reply.answer('Yes.', { followups: ['Why is that so?'] }), reply.answer('Because.'))
  const tab = await ask('Is it so?')
  await tab.getByRole('button', { name: 'Why is that so?' }).click()
  await tab.getByText('Because.').waitFor()
  expect(await tab.getByRole('button', { name: 'Why is that so?' }).count()).toBe(0)
})

it('a call is approved with changed parameters, and another one is refused with a word', async () => {
  page.say(reply.call('mail.send', { to: 'ann@example.org', text: 'Hello', copies: 1 }), reply.answer('Sent.'))
  const tab = await ask('Write to Ann.')
  const card = tab.getByRole('region', { name: /^Approval/ })
  await card.getByLabel('copies').fill('many')
  await card.getByRole('button', { name: 'Approve' }).click()
  await card.getByText('“Copies” can not be read.').waitFor()
  await card.getByLabel('copies').fill('2')
  await card.getByLabel('Text', { exact: true }).fill('Hello Ann')
  await card.getByRole('button', { name: 'Approve' }).click()
  await tab.getByText('Sent.', { exact: true }).waitFor()
  expect(mails).toEqual([{ to: 'ann@example.org', text: 'Hello Ann', copies: 2 }])

  page.say(reply.call('mail.send', { to: 'bob@example.org', text: 'Hi', copies: 1 }), reply.answer('Not sent.'))
  await tab.getByRole('textbox', { name: 'Message' }).fill('And to Bob.')
  await tab.keyboard.press('Enter')
  await card.getByLabel('A note for the agent').fill('Bob is on holiday')
  await card.getByRole('button', { name: 'Refuse' }).click()
  await tab.getByText('Not sent.', { exact: true }).waitFor()
  expect(mails).toHaveLength(1)
})

it('feedback on an answer reaches the server, and a bad one asks what was wrong', async () => {
  page.say(reply.answer('Blue.'))
  const tab = await ask('Which colour?')
  await tab.getByRole('button', { name: 'Bad answer' }).click()
  await tab.getByLabel('What was wrong?').fill('It is green')
  await tab.getByRole('button', { name: 'Send', exact: true }).first().click()
  await tab.getByText('Thank you.').waitFor()
})

it('a turn that failed says what to do, and can be tried again', async () => {
  page.say({ error: { kind: 'authentication', message: 'wrong key' } })
  const tab = await ask('Does it work?')
  await tab.getByText('did not accept our key').waitFor()
  page.say(reply.answer('Now it works.'))
  await tab.getByRole('button', { name: 'Try again' }).click()
  await tab.getByText('Now it works.').waitFor()
})
