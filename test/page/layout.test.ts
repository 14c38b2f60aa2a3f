import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { heldAnswer, usePage } from '../support/page/page-fixture.ts'
import { answered, viewWhen } from '../support/server-fixture.ts'

const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8')
const order = defineTool({
  id: 'shop.order',
  description: 'Orders.',
  params: z.object({ item: z.string() }),
  approval: true,
  run: () => 'ordered',
})
const search = defineTool({
  id: 'web_tools.web_search',
  description: 'Searches.',
  params: z.object({ queries: z.array(z.string()) }),
  run: () => ({ ok: true, ret: [{ sid: 1, title: 'A study', url: 'https://a.example/study', text: 'Measured.' }] }),
})
const page = usePage({ tools: [order, search] })

const wide = 'https://a.example/'.padEnd(300, 'x')
const answer = `# A title\n\nText with ${wide} in it [[S:1]].\n\n| ${'column | '.repeat(12)}\n|${'---|'.repeat(12)}\n| ${'some value | '.repeat(12)}\n\n\`\`\`js\n${'let variable = 1; '.repeat(20)}\n\`\`\`\n\n- one\n- two`

async function conversations() {
  const shown = await page.client.conversations.create({ title: 'A conversation with a rather long title that does not fit into one line' })
  page.say(
    reply.call('react.plan', { mode: 'new', steps: ['Search', 'Write'] }),
    reply.call('web_tools.web_search', { queries: ['x'] }, { notes: 'I search first.' }),
    reply.answer(answer, { followups: ['And then?'] }),
  )
  await page.client.send(shown.id, `Please read ${wide}`, {
    files: [{ name: `${'long-name-'.repeat(12)}.csv`, content: new Blob(['a,b']) }],
  })
  await viewWhen(page.client, shown.id, answered)
  const waits = await page.client.conversations.create({ title: 'Waiting' })
  page.say(reply.call('shop.order', { item: 'a lamp' }))
  await page.client.send(waits.id, 'Order a lamp')
  await viewWhen(page.client, waits.id, (view) => view.turns.at(-1)?.parked === true)
  return { shown: shown.id, waits: waits.id }
}

/** The problems of the page when nothing moves any more: while something fades in, its contrast is too low. */
async function violations(tab: Page) {
  for (let attempt = 0; ; attempt++) {
    const found = await findViolations(tab)
    if (found.length === 0 || attempt === 5) return found
    await tab.waitForTimeout(500)
  }
}

async function findViolations(tab: Page) {
  await tab.evaluate(axe)
  return tab.evaluate(async () => {
    const { run } = (
      window as unknown as { axe: { run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }
    ).axe
    const { violations: found } = await run()
    return found
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' · ')}`)
  })
}

it('at 360 px nothing scrolls sideways, fields are large enough for phones, and the height is that of the visible screen', async () => {
  const { shown, waits } = await conversations()
  for (const path of [`/c/${shown}`, `/c/${waits}`, '/', '/waiting', '/settings']) {
    const tab = await page.open(path, { width: 360, height: 700, touch: true })
    await tab.getByRole('button', { name: 'Show conversations' }).waitFor()
    await tab.waitForTimeout(400)
    const sizes = await tab.evaluate(() => ({
      page: document.documentElement.scrollWidth,
      wide: [...document.querySelectorAll('main, main section, [role=log], article')]
        .filter((element) => element.scrollWidth > element.clientWidth + 1)
        .map(({ tagName, className }) => `${tagName} ${className}`),
      height: document.querySelector('#app > div')?.clientHeight,
      small: [...document.querySelectorAll('input:not([type=radio], [type=checkbox], [type=file]), textarea')]
        .map((element) => Number.parseFloat(getComputedStyle(element).fontSize))
        .filter((size) => size < 16),
    }))
    expect({ path, ...sizes }).toEqual({ path, page: 360, wide: [], height: 700, small: [] })
  }
  const tab = await page.open(`/c/${shown}`, { width: 360, height: 700, touch: true })
  await tab.getByRole('button', { name: 'Show conversations' }).click()
  await tab.getByRole('dialog').getByText('Waiting', { exact: true }).first().click()
  await tab.waitForURL(/waiting|\/c\//)
})

it.each([false, true])('axe finds no serious problem in any state (dark: %s)', async (dark) => {
  const { shown, waits } = await conversations()
  const held = heldAnswer(['Running now.'])
  page.say(held.reply)
  const { id: runs } = await page.client.conversations.create({ title: 'Running' })
  await page.client.send(runs, 'Run')
  held.release(1)
  for (const path of [`/c/${shown}`, `/c/${waits}`, `/c/${runs}`, '/', '/waiting', '/settings']) {
    const tab = await page.open(path, { dark })
    await tab.waitForTimeout(500)
    expect([path, await violations(tab)]).toEqual([path, []])
  }
  const tab = await page.open(`/c/${shown}`, { dark })
  await tab.getByRole('button', { name: /^Source 1/ }).waitFor()
  await tab.evaluate(() => {
    for (const button of document.querySelectorAll<HTMLElement>('article button[aria-expanded=false]')) button.click()
  })
  await tab.getByRole('button', { name: /^Source 1/ }).click()
  await tab.waitForTimeout(300)
  expect(await violations(tab)).toEqual([])
  await tab.keyboard.press('Escape')
  await tab.keyboard.press('Control+k')
  await tab.getByRole('combobox').waitFor()
  expect(await violations(tab)).toEqual([])
  held.release()
})

it('at 360 px the bar to find a text is on the screen as a whole', async () => {
  const { shown } = await conversations()
  const tab = await page.open(`/c/${shown}`, { width: 360, height: 740 })
  await tab.getByRole('log').waitFor()
  await tab.keyboard.press('Control+f')
  const box = await tab.getByRole('search').last().boundingBox()
  expect(box && box.x >= 8 && box.x + box.width <= 352).toBe(true)
})

it('motion stops for people who do not want it', async () => {
  const tab = await page.open('/')
  await tab.emulateMedia({ reducedMotion: 'reduce' })
  await tab.evaluate(() => document.body.append(Object.assign(document.createElement('i'), { className: 'pulse' })))
  expect(await tab.locator('i.pulse').evaluate((element) => getComputedStyle(element).animationName)).toBe('none')
})
