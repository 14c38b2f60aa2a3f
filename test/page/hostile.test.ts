import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { hostingOn } from '../support/hosting.ts'
import { usePage } from '../support/page/page-fixture.ts'
import { collectMessages, connections, openTrap, scripts, type Trap } from '../support/page/trap.ts'

let trap: Trap
beforeAll(async () => {
  trap = await openTrap()
})
afterAll(() => trap.close())

const hostile = () => [...scripts(), ...connections(trap.port)]
const allOf = () => hostile().join('\n')
const run = "javascript:window.postMessage('ran','*')"

const search = defineTool({
  id: 'web_tools.web_search',
  description: 'Searches.',
  params: z.object({ queries: z.array(z.string()) }),
  run: () => ({
    ok: true,
    ret: [
      { sid: 1, title: allOf(), url: `http://127.0.0.1:${trap.port}/"><script>x</script>`, text: allOf() },
      { sid: 2, title: 'A script', url: run, text: allOf() },
    ],
  }),
})
const echo = defineTool({
  id: 'shop.echo',
  description: 'Repeats.',
  params: z.object({ text: z.string() }),
  run: ({ text }) => ({ ok: false, error: { code: text.slice(0, 60), message: text } }),
})

const asks = defineTool({
  id: 'shop.order',
  description: 'Orders.',
  params: z.object({ text: z.string(), list: z.array(z.string()) }),
  approval: true,
  run: () => 'ordered',
})

const blobs = createMemoryBlobs()
const store = createMemoryStore({ blobs, clock: createSystemClock() })
const page = usePage({ store, hosting: hostingOn(blobs).hosting, tools: [search, echo, asks] })

it('nothing that users, models, tools and pages write runs or leaves the page', async (context) => {
  countAttempts(context, hostile().length * 8)
  page.expectProblems(/./) // the browser reports what it has blocked
  page.say(
    reply.call('web_tools.web_search', { queries: [allOf()] }, { notes: allOf(), thinking: allOf() }),
    reply.call('shop.echo', { text: allOf() }),
    reply.call('react.plan', { mode: 'new', steps: [allOf().slice(0, 400), 'second'] }),
    reply.call('react.write', { path: 'files/a<img src=x onerror=alert(1)>.md', channel: 'canvas', content: allOf(), kind: 'file' }),
    reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: allOf(), kind: 'file' }),
    reply.answer(`${allOf()}\n\n[a link](${run}) ![a picture](http://127.0.0.1:${trap.port}/markdown.png) [[S:1]] [[S:2]]\n\nThe end.`, {
      followups: [allOf().slice(0, 200), run],
    }),
  )
  const { id } = await page.client.conversations.create({ title: '<img src=x onerror="alert(1)"> <script>alert(2)</script>' })
  const tab = await page.open(`/c/${id}`)
  const dialogs: string[] = []
  const popups: string[] = []
  tab.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  tab.on('popup', (popup) => popups.push(popup.url()))
  const messages = await collectMessages(tab)
  const file = { name: '"><img src=x onerror=alert(1)>.txt', mimeType: 'text/plain', buffer: Buffer.from(allOf()) }
  await tab.locator('input[type=file]').first().setInputFiles(file)
  await tab.getByRole('textbox', { name: 'Message' }).fill(allOf())
  await tab.keyboard.press('Enter')
  await tab.getByText('The end.').waitFor()
  await tab.getByRole('button', { name: /^\d+ steps/ }).click()
  const folded = await tab.evaluate<number>(
    `{ const all = [...document.querySelectorAll('main button[aria-expanded="false"]')]; for (const button of all) button.click(); all.length }`,
  )
  expect(folded).toBeGreaterThan(3) // thinking, notes and tools
  await tab.keyboard.press('Escape')
  const files = tab.getByRole('list', { name: 'Files' })
  await files.getByText('report.md').first().dispatchEvent('click')
  await tab.waitForTimeout(500)
  expect(await messages()).not.toContain('ran')
  await tab.reload()
  const later = await collectMessages(tab)
  await tab.getByText('The end.').waitFor()
  await tab.waitForTimeout(500)
  expect([...(await later()), ...dialogs, ...popups]).toEqual([])
  expect(trap.requests).toEqual([])
  expect(new URL(tab.url()).pathname).toBe(`/c/${id}`)
  const links = await tab.locator('a[href]').evaluateAll((all) => all.map((link) => (link as unknown as { readonly href: string }).href))
  expect(links.filter((href) => !/^https?:/.test(href))).toEqual([])
  expect(await tab.locator('main script, main iframe:not([sandbox]), main object, main embed, main form[action]').count()).toBe(0)
})

it('neither the parameters of an approval nor the cells of a table run or leave the page', async () => {
  page.expectProblems(/./) // the browser reports what it has blocked
  const csv = hostile()
    .map((piece) => `"${piece.replaceAll('"', '""')}",2`)
    .join('\n')
  const params = { text: allOf(), list: hostile() }
  page.say(
    reply.call('react.write', { path: 'files/cells.csv', channel: 'canvas', content: `name,count\n${csv}`, kind: 'file' }),
    reply.call('shop.order', params),
  )
  const { id } = await page.client.conversations.create({ title: scripts()[2]?.slice(0, 60) ?? '' })
  await page.client.send(id, 'Order.')
  const tab = await page.open(`/c/${id}`)
  const first = await collectMessages(tab)
  const dialogs: string[] = []
  tab.on('dialog', (dialog) => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  await tab.getByRole('region', { name: /^Approval/ }).waitFor()
  await expect.poll(() => tab.getByLabel('Text', { exact: true }).inputValue()).toBe(params.text.replaceAll('\r', '')) // a text field has no \r
  expect(await tab.getByRole('textbox', { name: 'List', exact: true }).inputValue()).toBe(JSON.stringify(params.list))
  await tab.getByRole('list', { name: 'Files' }).getByText('cells.csv').first().dispatchEvent('click')
  await tab.getByRole('cell').first().waitFor()
  await tab.waitForTimeout(300)
  expect(await first()).not.toContain('ran')
  await tab.goto(`${page.url}/waiting`)
  const later = await collectMessages(tab)
  await tab
    .getByRole('region', { name: /^Approval/ })
    .first()
    .waitFor()
  await tab.waitForTimeout(500)
  expect([...(await later()), ...dialogs]).toEqual([])
  expect(trap.requests).toEqual([])
  expect(await tab.locator('main script, main iframe:not([sandbox]), main object, main embed').count()).toBe(0)
})
