import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { reply } from '../../src/testing/scripted-model.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'

const page = usePage()
const boxOf = (tab: Page) => tab.getByRole('textbox', { name: 'Message', exact: true })

async function ask(text: string) {
  const tab = await page.open()
  await boxOf(tab).fill(text)
  await tab.keyboard.press('Enter')
  await tab.waitForURL(/\/c\//)
  return tab
}

/** Puts files into a paste or a drop, as a browser does it. */
const transfer = (tab: Page, kind: 'paste' | 'drop', files: readonly { name: string; type: string; text: string }[], text = '') =>
  tab.evaluate(
    ([event, list, words]) => {
      const data = new DataTransfer()
      for (const file of list) data.items.add(new File([file.text], file.name, { type: file.type }))
      if (words !== '') data.setData('text/plain', words)
      const target = event === 'paste' ? document.querySelector('textarea') : document.body
      if (event === 'paste') target?.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
      else target?.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
    },
    [kind, files, text] as const,
  )

it('Enter sends, Shift+Enter breaks the line, and Enter in an input method never sends', async () => {
  page.say(reply.answer('Read.'))
  const tab = await page.open()
  await boxOf(tab).fill('first')
  await tab.keyboard.press('Shift+Enter')
  await tab.keyboard.type('second')
  await boxOf(tab).dispatchEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true })
  await boxOf(tab).dispatchEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true })
  expect(await boxOf(tab).inputValue()).toBe('first\nsecond')
  expect(new URL(tab.url()).pathname).toBe('/')
  await tab.keyboard.press('Enter')
  await tab.getByText('Read.').waitFor()
  expect(await tab.getByText('first second').count()).toBe(1)
})

it('a draft with its files survives a reload, a change of the conversation and a running turn, until the server has the message', async () => {
  const held = heldAnswer(['Working.'])
  page.say(held.reply)
  const tab = await ask('Work.')
  await tab.getByText('Thinking').first().waitFor()
  await boxOf(tab).fill('my draft')
  await transfer(tab, 'drop', [{ name: 'a.csv', type: 'text/csv', text: 'a,b\n1,2' }])
  await tab.getByText('a.csv').waitFor()
  held.release()
  await tab.getByText('Working.').waitFor()
  await tab.getByRole('button', { name: 'New' }).click()
  expect(await boxOf(tab).inputValue()).toBe('')
  await tab.goBack()
  await expect.poll(() => boxOf(tab).inputValue()).toBe('my draft')
  await tab.reload()
  await expect.poll(() => boxOf(tab).inputValue()).toBe('my draft')
  await tab.getByRole('list', { name: 'Files to send' }).getByText('a.csv').waitFor()

  page.expectProblems(/500|ERR_FAILED/)
  await tab.route('**/turns', (route) => route.abort())
  await tab.getByRole('button', { name: 'Send' }).click()
  await tab.getByText('The server could not be reached.').waitFor()
  expect(await boxOf(tab).inputValue()).toBe('my draft')
  await tab.unroute('**/turns')
  page.say(reply.answer('Got the file.'))
  await tab.getByRole('button', { name: 'Send' }).click()
  await tab.getByText('Got the file.').waitFor()
  await expect.poll(() => boxOf(tab).inputValue()).toBe('')
  await tab.reload()
  await tab.getByText('Got the file.').waitFor()
  expect(await boxOf(tab).inputValue()).toBe('')
})

it('while a turn runs, Enter follows up, Ctrl+Enter steers and Esc stops, and the menu prints the keys', async () => {
  const first = heldAnswer(['One', ' two', ' three'])
  page.say(first.reply, reply.answer('Steered.'))
  const tab = await ask('Count.')
  first.release(1)
  await tab.getByText('One').waitFor()
  await boxOf(tab).fill('in German')
  await tab.getByRole('button', { name: 'Ways to send' }).click()
  expect(await tab.getByRole('menuitem', { name: /Follow up/ }).textContent()).toContain('Enter')
  expect(await tab.getByRole('menuitem', { name: /Steer/ }).textContent()).toContain('Ctrl')
  await tab.keyboard.press('Escape')
  await boxOf(tab).focus()
  await tab.keyboard.press('Control+Enter')
  first.release()
  await tab.getByText('Steered.').waitFor()
  await tab.getByText('in German').first().waitFor()

  const second = heldAnswer(['This stays', ' and this does not come'])
  page.say(second.reply)
  await boxOf(tab).fill('Again.')
  await tab.keyboard.press('Enter')
  second.release(1)
  await tab.getByText('This stays').waitFor()
  await boxOf(tab).focus()
  await tab.keyboard.press('Escape')
  second.release()
  await tab.getByText('You stopped this answer.').waitFor()
  expect(await tab.getByText('This stays').count()).toBe(1)
})

it('a message that the agent has not read is a bubble above the box, and moves into the thread when it is read', async () => {
  const held = heldAnswer(['First answer.'])
  page.say(held.reply, reply.answer('Both answered.'))
  const tab = await ask('First?')
  await tab.getByText('Thinking').first().waitFor()
  await boxOf(tab).fill('Second?')
  await tab.keyboard.press('Enter')
  const waiting = tab.getByRole('list', { name: 'Messages that wait' })
  await waiting.getByText('Second?').waitFor()
  await waiting.getByText('Not seen yet').first().waitFor()
  await expect.poll(() => waiting.getByRole('listitem').count()).toBe(1) // the first message waits until its turn has begun
  await waiting.getByRole('button', { name: 'Change this message' }).click()
  await tab.getByLabel('Change the message').fill('Another second?')
  await tab.keyboard.press('Enter')
  await tab.getByLabel('Change the message').waitFor({ state: 'detached' })
  await waiting.getByText('Another second?').waitFor()
  await boxOf(tab).fill('Never mind')
  await tab.keyboard.press('Enter')
  await waiting.getByText('Never mind').waitFor()
  await waiting.getByRole('listitem').filter({ hasText: 'Never mind' }).getByRole('button', { name: 'Take this message back' }).click()
  await waiting.getByText('Never mind').waitFor({ state: 'detached' })
  held.release()
  await tab.getByText('Both answered.').waitFor()
  await expect.poll(() => waiting.count()).toBe(0)
  await expect.poll(() => tab.getByRole('log').getByText('Another second?').count()).toBe(1)
  expect(await tab.getByText('Never mind').count()).toBe(0)
})

it('the arrow key recalls the last message in an empty box', async () => {
  page.say(reply.answer('Yes.'))
  const tab = await ask('Is it raining?')
  await tab.getByText('Yes.').waitFor()
  await boxOf(tab).press('ArrowUp')
  expect(await boxOf(tab).inputValue()).toBe('Is it raining?')
})

it('an image is pasted, a file is dropped, a long text becomes a file, and each refusal names file, limit and reason', async () => {
  const tab = await page.open()
  await boxOf(tab).waitFor()
  const files = tab.getByRole('list', { name: 'Files to send' })
  await transfer(tab, 'paste', [{ name: 'image.png', type: 'image/png', text: 'not really a picture' }])
  await files.getByText('image.png').waitFor()
  await transfer(tab, 'drop', [{ name: 'rows.csv', type: 'text/csv', text: 'a,b\n1,2\n' }])
  await files.getByText('rows.csv').waitFor()
  await transfer(tab, 'paste', [], 'long '.repeat(1_000))
  await files.getByText('pasted.txt').waitFor()
  expect(await boxOf(tab).inputValue()).toBe('')
  await transfer(tab, 'drop', [{ name: 'empty.txt', type: 'text/plain', text: '' }])
  await tab.getByText('“empty.txt” is empty').waitFor()
  await tab.evaluate(() => {
    const data = new DataTransfer()
    data.items.add(new File([new Uint8Array(37 * 1024 * 1024)], 'huge.bin'))
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
  })
  await tab.getByText(/“huge.bin” is too large: a message can have \d+ MB of files\./).waitFor()
  page.expectProblems(/400/)
  await tab.getByRole('button', { name: 'Send' }).click()
  await tab.getByRole('alert').getByText('“image.png”:').waitFor()
  expect(await files.getByText('rows.csv').count()).toBe(1)
  await tab.getByRole('button', { name: 'Remove image.png' }).click()
  page.say(reply.answer('Two files.'))
  await tab.getByRole('button', { name: 'Send' }).click()
  await tab.getByText('Two files.').waitFor()
  await tab.getByRole('list', { name: 'Attached files' }).getByText('rows.csv').waitFor()
})

it('a message that is sent while its file is still being checked has the file', async () => {
  page.say(reply.answer('Read.'))
  const tab = await page.open()
  await tab.route('**/v1/info', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000)) // the limits for files arrive late
    await route.continue()
  })
  const count = async () => (await page.client.conversations.list()).conversations.length
  const before = await count()
  await tab.reload()
  await tab
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') })
  await tab.getByRole('textbox', { name: 'Message' }).fill('Read this.')
  await tab.keyboard.press('Enter')
  await tab.keyboard.press('Enter')
  await tab.getByText('Read.', { exact: true }).waitFor()
  await tab.getByText('late.txt').waitFor()
  expect(await count()).toBe(before + 1)
})

it('the first message of a new conversation is on the page at once, before the server has sent the conversation', async () => {
  page.say(reply.answer('Hello.'))
  const tab = await page.open('/')
  const held = Promise.withResolvers<void>()
  await tab.route('**/events?*', async (route) => {
    await held.promise
    await route.continue()
  })
  await tab
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name: 'orders.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n') })
  await tab.getByRole('textbox', { name: 'Message' }).fill('Good morning')
  await tab.keyboard.press('Enter')
  await tab.waitForURL(/\/c\//)
  const thread = tab.getByRole('log', { name: 'Conversation' })
  await thread.getByText('Good morning').waitFor()
  await thread.getByText('orders.csv').waitFor()
  expect(await tab.getByText('Good morning').count()).toBe(1)
  held.resolve()
  await thread.getByText('Hello.').waitFor()
  expect(await thread.getByText('Good morning').count()).toBe(1)
})
