import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'

const page = usePage()

async function ask(text: string) {
  const tab = await page.open()
  await tab.getByRole('textbox', { name: 'Message' }).fill(text)
  await tab.keyboard.press('Enter')
  return tab
}

/** Marks the elements that are there now, and counts later how many of them are still in the document. */
const markElements = (tab: Page) =>
  tab.evaluate(() => {
    const marked = [...document.querySelectorAll('[data-answer] *')]
    Object.assign(window, { marked })
    return marked.length
  })
const countMarked = (tab: Page) =>
  tab.evaluate(() => (window as unknown as { marked: Element[] }).marked.filter((element) => element.isConnected).length)
const clipboard = (tab: Page, type: string) =>
  tab.evaluate(async (wanted) => {
    const [item] = await navigator.clipboard.read()
    return item?.types.includes(wanted) ? (await item.getType(wanted)).text() : undefined
  }, type)

it('an open code fence is plain text in one stable element, and gets its colours once when it is closed', async () => {
  const held = heldAnswer(['Here:\n\n```python\ndef f():\n', '    return **1', '\n```', '\n\nDone.'])
  page.say(held.reply)
  const tab = await ask('Write code.')
  held.release(1)
  const pre = tab.locator('pre')
  await pre.waitFor()
  await pre.evaluate((element) => Object.assign(element, { kept: true }))
  held.release(1)
  await pre.getByText('return **1').waitFor()
  expect(await pre.locator('span').count()).toBe(0)
  held.release()
  await tab.locator('pre[data-highlighted]').waitFor()
  expect(await pre.evaluate((element) => 'kept' in element)).toBe(true)
  expect(await pre.locator('span span').count()).toBeGreaterThan(3)
  expect(await pre.innerText()).toBe('def f():\n    return **1')
})

it('at the end of a stream no element is exchanged', async () => {
  const held = heldAnswer([
    '# Title\n\nSome **bold** text with `code`.\n\n- one\n- two\n\n```js\nlet a = 1\n```\n\n',
    '| a | b |\n|---|---|\n| 1 | 2 |\n\nLast.',
  ])
  page.say(held.reply)
  const tab = await ask('Write.')
  held.release(2)
  await tab.getByText('Last.').waitFor()
  await tab.locator('pre[data-highlighted]').waitFor()
  const count = await markElements(tab)
  expect(count).toBeGreaterThan(20)
  held.release()
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  expect(await countMarked(tab)).toBe(count)
})

it('copying gives markdown and HTML, a table also as CSV, and code as it is', async () => {
  const text = 'Some **bold** text.\n\n| name | sum |\n|---|---|\n| a, b | 2 |\n\n```js\nlet a = 1\nlet b = 2\n```'
  const held = heldAnswer([text])
  page.say(held.reply)
  const tab = await ask('Write.')
  held.release()
  await tab.getByRole('button', { name: 'Copy answer' }).click()
  await tab.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await clipboard(tab, 'text/plain')).toBe(text)
  expect(await clipboard(tab, 'text/html')).toContain('<strong>bold</strong>')
  await tab.getByRole('table').hover()
  await tab.getByRole('button', { name: 'Copy table as CSV' }).click()
  await expect.poll(() => clipboard(tab, 'text/plain')).toBe('name,sum\r\n"a, b",2')
  await tab.getByRole('button', { name: 'Copy code' }).click()
  await expect.poll(() => clipboard(tab, 'text/plain')).toBe('let a = 1\nlet b = 2')
})

it('formulas are shown as formulas, and amounts of money stay text', async () => {
  const held = heldAnswer(['It is $x^2$ and costs $5 or $6.\n\n$$\\frac{a}{b}$$'])
  page.say(held.reply)
  const tab = await ask('Formula?')
  held.release()
  await tab.locator('.katex').first().waitFor()
  expect(await tab.locator('.katex').count()).toBe(2)
  await tab.getByText('costs $5 or $6').waitFor()
})

it('markup, scripts and addresses in an answer run nothing and load nothing', async () => {
  const hostile = [
    '<script>window.ran = 1</script><img src=x onerror="window.ran = 1">',
    '[a](javascript:window.ran=1) ![b](https://elsewhere.example/pixel.png) <svg onload="window.ran=1">',
    '$\\href{javascript:window.ran=1}{x}$ $\\includegraphics{https://elsewhere.example/x.png}$',
    '<style>body{background:url(https://elsewhere.example/y.png)}</style>',
    '```html\n<img src=x onerror="window.ran = 1">\n```',
  ].join('\n\n')
  const held = heldAnswer([hostile, '\n\nThe end.'])
  page.say(held.reply)
  const requests: string[] = []
  const tab = await ask('Attack.')
  tab.on('request', (request) => void requests.push(request.url()))
  held.release()
  await tab.getByText('The end.').waitFor()
  await tab.locator('pre[data-highlighted]').waitFor()
  await tab.waitForTimeout(300)
  expect(await tab.evaluate(() => 'ran' in window)).toBe(false)
  expect(await tab.locator('[data-answer] :is(script, img, style, iframe, a[href^=javascript])').count()).toBe(0)
  expect(requests.filter((url) => !url.startsWith(page.url))).toEqual([])
})
