import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'

const page = usePage()
let proxy: Server | undefined
afterEach(async () => {
  proxy?.closeAllConnections()
  await new Promise((resolve) => (proxy ? proxy.close(resolve) : resolve(undefined)))
})

/** A proxy in front of the server, whose line can be cut. The server and its turn go on. */
async function startProxy() {
  let cut = false
  const pass = (incoming: IncomingMessage, response: ServerResponse) => {
    if (cut) return void incoming.socket.destroy()
    const target = new URL(incoming.url ?? '/', page.url)
    const outgoing = request(
      target,
      { method: incoming.method, headers: { ...incoming.headers, host: target.host, origin: target.origin } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  }
  proxy = createServer(pass)
  await new Promise<void>((resolve) => proxy?.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut() {
      cut = true
      proxy?.closeAllConnections()
    },
    mend: () => {
      cut = false
    },
  }
}

it('a lost line is said with the number of the attempt, the turn goes on, and nothing is shown twice afterwards', async () => {
  page.expectProblems(/ERR_|Failed to load resource/)
  const line = await startProxy()
  const held = heldAnswer(['One. ', 'Two. ', 'Three.'])
  page.say(held.reply)
  const tab = await page.open('/')
  await tab.goto(line.url)
  await tab.getByRole('textbox', { name: 'Message' }).fill('Count.')
  await tab.keyboard.press('Enter')
  held.release(1)
  await tab.getByText('One.').waitFor()
  line.cut()
  const lost = tab.getByText('Connection lost. The turn continues.')
  await lost.waitFor()
  await tab.getByText('Attempt 4').waitFor() // by now the page waits for seconds between two attempts
  expect(await tab.getByText('One.').count()).toBe(1)
  held.release()
  line.mend()
  await tab.getByRole('button', { name: 'Retry now' }).click()
  await tab.getByText('One. Two. Three.').waitFor()
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  expect(await lost.count()).toBe(0)
  expect((await tab.getByRole('log').innerText()).match(/One\./g)).toHaveLength(1)
})

it('the line is checked at once when the page becomes visible', async () => {
  page.expectProblems(/ERR_|Failed to load resource/)
  const line = await startProxy()
  const { id } = await page.client.conversations.create({ title: 'Hidden' })
  const tab = await page.open('/')
  await tab.goto(`${line.url}/c/${id}`)
  await tab.getByRole('log').waitFor()
  line.cut()
  await tab.getByText('Attempt 4').waitFor() // by now the page waits for seconds between two attempts
  line.mend()
  await tab.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await tab.getByText('Connection lost.').waitFor({ state: 'detached' })
})

it('while a long text is sent again after the line was lost, the page does not shrink, and the text is complete at the end', async () => {
  page.expectProblems(/ERR_|Failed to load resource/)
  const line = await startProxy()
  const words = Array.from({ length: 3000 }, (_, index) => `w${index}w `)
  const paragraphs = words.map((word, index) => (index % 40 === 39 ? `${word}\n\n` : word))
  const held = heldAnswer([...paragraphs, 'The end.'])
  page.say(held.reply)
  const tab = await page.open('/')
  await tab.goto(line.url)
  await tab.getByRole('textbox', { name: 'Message' }).fill('Write much.')
  await tab.keyboard.press('Enter')
  held.release(paragraphs.length)
  await tab.getByText('w2999w').waitFor()
  await tab.evaluate(`{
    window.shortest = Infinity
    const frame = () => {
      window.shortest = Math.min(window.shortest, document.querySelectorAll('[data-answer] > .prose > *').length)
      requestAnimationFrame(frame)
    }
    frame()
  }`)
  const pieces = () => tab.locator('[data-answer] > .prose > *').count()
  const before = await pieces()
  line.cut()
  await tab.getByText('Attempt 4').waitFor() // by now the page waits for seconds between two attempts
  line.mend()
  await tab.getByRole('button', { name: 'Retry now' }).click()
  await tab.getByText('Connection lost. The turn continues.').waitFor({ state: 'detached' })
  held.release()
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  await tab.getByText('The end.').waitFor()
  expect(await tab.evaluate('window.shortest')).toBe(before)
  await tab.getByRole('button', { name: 'Copy answer' }).click()
  await tab.getByRole('button', { name: 'Copied' }).waitFor()
  const html = await tab.evaluate<string>(
    "navigator.clipboard.read().then(([item]) => item.getType('text/html')).then((blob) => blob.text())",
  )
  expect(html.match(/w\d+w/g)).toEqual(words.map((word) => word.trim()))
})
