import type { Page } from 'playwright-core'
import { z } from 'zod'
import { buildPage } from '../scripts/build-page.ts'
import type { Agent } from '../src/agent/agent.ts'
import { reply, scriptedModel } from '../src/testing/scripted-model.ts'
import { defineTool } from '../src/tools/define.ts'
import { startBrowser } from '../test/support/page/browser.ts'
import { closeServers, openServer } from '../test/support/server-fixture.ts'

const look = defineTool({
  id: 'shop.look',
  description: 'Looks.',
  params: z.object({ shelf: z.string() }),
  run: ({ shelf }) => `books on ${shelf}: ${'a title, '.repeat(30)}`,
})

/** Conversations that are larger than most: one with 5,000 blocks, and one with a prompt of 200,000 tokens. */
const turns = 260
const shelves = ['A', 'B', 'C', 'D']
const longTurns = 14
const longMessage = Array.from(
  { length: 700 },
  (_, line) => `Line ${line} of a long message, with some words that the model has to read.`,
).join('\n')

/** Measures the screens for operators in Chromium: long tasks while a person scrolls, and the steps of time travel. */
export async function bench(): Promise<void> {
  await buildPage()
  const browser = await startBrowser()
  const replies = [
    ...Array.from({ length: turns }, () => [
      ...shelves.map((shelf) => reply.call('shop.look', { shelf }, { thinking: 'I look.', notes: `I look at ${shelf}.` })),
      reply.answer('Some books.'),
    ]).flat(),
    ...Array.from({ length: longTurns }, () => reply.answer('Read.')),
  ]
  const { agent, client, server } = await openServer({
    model: scriptedModel(replies, { window: 1e8 }),
    tools: [look],
    settings: { contextTokens: 1e8 },
    server: { requestsPerMinute: 1e6 },
  })
  try {
    await runTurns(agent, 'many', turns, 'Look again.')
    await runTurns(agent, 'long', longTurns, longMessage)
    const timeline = await browser.open(`${server.url}/c/many/timeline`, { width: 1440, height: 900 })
    await timeline.locator('[data-block]').first().waitFor()
    const { last_seq: entries } = await client.conversations.get('many')
    console.log(`  ${await timeline.locator('[data-figure="found"]').innerText()}, ${entries} entries`)
    print('longest task while the timeline scrolls', await longestTask(timeline, 'blocks'), 50)
    print('a step of time travel, p95', await scrub(timeline), 50)
    const prompt = await browser.open(`${server.url}/c/long/prompt`, { width: 1440, height: 900 })
    await prompt.locator('[data-segment]').first().waitFor()
    const { usage: _usage, ...last } = await client.prompt('long', (await client.timeline('long')).turn_ids.at(-1) ?? '', 0)
    console.log(`  a prompt of ${last.parts.reduce((sum, { tokens }) => sum + tokens, 0)} tokens`)
    print('longest task while the prompt scrolls', await longestTask(prompt, 'prompt'), 50)
  } finally {
    await browser.close()
    await closeServers()
  }
}

async function runTurns(agent: Agent, id: string, count: number, text: string): Promise<void> {
  for (let turn = 0; turn < count; turn++) await agent.run(id, text).result
}

/** Scrolls from the beginning to the end and back, and returns the longest task of the page meanwhile. */
async function longestTask(tab: Page, name: string): Promise<number> {
  await tab.evaluate(`{
    window.tasks = []
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map((task) => task.duration))).observe({ entryTypes: ['longtask'] })
  }`)
  const element = tab.locator(`[data-testid="${name}"]`)
  await element.hover()
  for (const direction of [1, -1])
    for (let step = 0; step < 80; step++) {
      await tab.mouse.wheel(0, direction * (step < 40 ? 700 : 6_000))
      await tab.waitForTimeout(16)
    }
  await tab.waitForTimeout(300)
  const tasks = await tab.evaluate<number[]>('window.tasks')
  return tasks.reduce((longest, task) => Math.max(longest, task), 0)
}

/** Moves the slider through the journal, and returns the 95th percentile of the time from a step to the next frame. */
async function scrub(tab: Page): Promise<number> {
  const times = await tab.evaluate<number[]>(`(async () => {
    const slider = document.querySelector('input[type=range]')
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
    const times = []
    const count = Number(slider.max)
    for (let step = 0; step < 300; step++) {
      const start = performance.now()
      set.call(slider, String(1 + Math.floor((step * (count - 1)) / 299)))
      slider.dispatchEvent(new Event('input', { bubbles: true }))
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
      times.push(performance.now() - start)
    }
    return times
  })()`)
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.95)] ?? Number.NaN
}

const print = (what: string, took: number, budget: number) =>
  console.log(what.padEnd(58), `${took.toFixed(0)} ms  (budget ${budget})  ${took <= budget ? 'ok' : 'OVER'}`)
