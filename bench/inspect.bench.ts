import type { Page } from 'playwright-core'
import { z } from 'zod'
import { buildPage } from '../scripts/build-page.ts'
import type { Agent } from '../src/agent/agent-interface.ts'
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

/**
 * Two large conversations are measured. The first one has `turns` turns and about 5,000 blocks. The second one has a prompt of about
 * 200,000 tokens.
 */
const turns = 260
const shelves = ['A', 'B', 'C', 'D']
const longTurns = 16
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

/** Scrolls the page to its end and back. Returns the duration in milliseconds of the longest task that the page ran while it scrolled. */
async function longestTask(tab: Page, name: string): Promise<number> {
  await tab.locator(`[data-testid="${name}"]`).hover()
  const tasks = await taskTimes(tab, async () => {
    for (const direction of [1, -1])
      for (let step = 0; step < 80; step++) {
        await tab.mouse.wheel(0, direction * (step < 40 ? 700 : 6_000))
        await tab.waitForTimeout(16)
      }
  })
  return tasks[0] ?? Number.NaN
}

const scrubSteps = 300

/** Moves the slider through the journal, and returns the 95th percentile of the task times. A step is one task and one frame. */
async function scrub(tab: Page): Promise<number> {
  const tasks = await taskTimes(tab, () =>
    tab.evaluate(`(async () => {
      const slider = document.querySelector('input[type=range]')
      const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set
      for (let step = 0; step < ${scrubSteps}; step++) {
        set.call(slider, String(1 + Math.floor((step * (Number(slider.max) - 1)) / ${scrubSteps - 1})))
        slider.dispatchEvent(new Event('input', { bubbles: true }))
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
      }
    })()`),
  )
  return tasks[Math.ceil(scrubSteps / 20)] ?? Number.NaN
}

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/**
 * The milliseconds that each task of the page's main thread took while `action` ran, longest first. The milliseconds are processor time, so
 * other programs on the machine hardly change them.
 */
async function taskTimes(tab: Page, action: () => Promise<unknown>): Promise<readonly number[]> {
  const browser = tab.context().browser()
  await browser?.startTracing(tab, { categories: ['toplevel', '__metadata'] })
  await action()
  const trace = (await browser?.stopTracing())?.toString() ?? '{}'
  const { traceEvents = [] } = JSON.parse(trace) as { readonly traceEvents?: readonly TraceEvent[] } // Chromium wrote the trace
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`
  const mains = new Set(traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(threadOf))
  const tasks = traceEvents.filter((event) => event.tdur !== undefined && mains.has(threadOf(event)))
  return tasks.map(({ tdur = 0 }) => tdur / 1000).toSorted((one, other) => other - one)
}

const print = (what: string, took: number, budget: number) =>
  console.log(what.padEnd(58), `${took.toFixed(0)} ms  (budget ${budget})  ${took <= budget ? 'ok' : 'OVER'}`)
