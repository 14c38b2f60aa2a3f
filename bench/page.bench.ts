import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { CDPSession, Page } from 'playwright-core'
import { z } from 'zod'
import { buildPage } from '../scripts/build-page.ts'
import type { Agent } from '../src/agent/agent-interface.ts'
import type { Client } from '../src/client/client.ts'
import type { ConversationView } from '../src/client/view/conversation-view.ts'
import { reply, scriptedModel } from '../src/testing/scripted-model.ts'
import { defineTool } from '../src/tools/define.ts'
import { startBrowser, type TestBrowser } from '../test/support/page/browser.ts'
import { answered, closeServers, openServer, viewWhen } from '../test/support/server-fixture.ts'
import { median } from './measure.ts'

const paragraph = (index: number) =>
  `## Part ${index}\n\nSome **words** about part ${index}, with \`code\` and a [link](https://a.example/${index}). ${'More words follow here. '.repeat(12)}\n\n- one\n- two\n\n`

const megabyte = Array.from({ length: 2_600 }, (_, index) => paragraph(index))
  .join('')
  .slice(0, 1_000_000)

const look = defineTool({
  id: 'shop.look',
  description: 'Looks.',
  params: z.object({ shelf: z.string() }),
  run: ({ shelf }) => `books on ${shelf}`,
})

/** The number of turns. Each turn has four calls and about twenty blocks. */
const turns = 280
const turnReplies = (index: number) => [
  ...['A', 'B', 'C', 'D'].map((shelf) => reply.call('shop.look', { shelf }, { thinking: 'I look.', notes: `I look at ${shelf}.` })),
  reply.answer(paragraph(index).repeat(2)),
]

/** Measures the page in Chromium: the first load, the frames and the memory while 1 MB of answer arrives, and typing in a long conversation. */
export async function bench(): Promise<void> {
  await buildPage()
  print('first load, compressed', firstLoad() / 1000, 200, 'KB')
  const browser = await startBrowser()
  const long = pausedAnswer()
  const replies = [long.reply, ...Array.from({ length: turns }, (_, index) => turnReplies(index)).flat()]
  const { agent, client, server } = await openServer({
    model: scriptedModel(replies, { window: 1e8 }),
    tools: [look],
    server: { requestsPerMinute: 1e6, turnsPerMinute: 1e6 },
  })
  try {
    await measureStreaming(browser, client, server.url, long.pauses)
    await browser.closePages()
    await measureTyping(browser, agent, client, server.url)
  } finally {
    await browser.close()
    await closeServers()
  }
}

function firstLoad(): number {
  const html = readFileSync('ui/dist/index.html', 'utf8')
  const files = [...html.matchAll(/"\.\/(page\/[^"]+)"/g)].map(([, path]) => `ui/dist/${path}`)
  return ['ui/dist/index.html', ...files].reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0)
}

/**
 * Counts the frames until the page shows the end of the sent text. Memory is measured at each quarter of the text, after a garbage
 * collection. The model waits while memory is measured, and the frames in this time are not counted.
 */
async function measureStreaming(browser: TestBrowser, client: Client, url: string, pauses: readonly Pause[]): Promise<void> {
  await client.conversations.create({ id: 'stream' })
  const tab = await browser.open(`${url}/c/stream`)
  await tab.getByRole('textbox', { name: 'Message' }).waitFor()
  const session = await tab.context().newCDPSession(tab)
  await session.send('Performance.enable')
  const samples = [await memory(session)]
  await client.send('stream', 'Write a megabyte.')
  const frames: number[] = []
  for (const { reached, resume, shown } of pauses) {
    await watchFrames(tab)
    resume.resolve()
    await reached.promise
    await tab.getByText(shown).waitFor({ timeout: 120_000 }) // the page may not have drawn the text yet
    frames.push(...(await takeFrames(tab)))
    await tab.waitForTimeout(300) // in this time, the page removes elements that are far from the visible part
    samples.push(await memory(session))
  }
  print('frames while 1 MB arrives, p95', p95(frames), 50, 'ms')
  console.log(`  ${frames.length} frames, the longest ${Math.max(...frames).toFixed(0)} ms`)
  print('memory that 1 MB of answer takes', (samples.at(-1)?.heap ?? 0) - (samples[0]?.heap ?? 0), 12, 'MB')
  console.log(`  heap at each quarter   ${samples.map(({ heap }) => heap.toFixed(1)).join(' → ')} MB`)
  console.log(`  nodes at each quarter  ${samples.map(({ nodes }) => nodes).join(' → ')}`)
}

/** A position in the answer at which the model waits. */
interface Pause {
  readonly reached: PromiseWithResolvers<void>
  readonly resume: PromiseWithResolvers<void>
  /** A word that occurs only at the end of the text before this pause. */
  readonly shown: string
}

/** An answer of 1 MB in deltas of 20 characters. The model waits before each quarter of it. */
function pausedAnswer() {
  const [head = '', tail = ''] = reply.answer('\0').split('\0')
  const quarters = Array.from({ length: 4 }, (_, index) => {
    const shown = `quarter${index}end`
    return { shown, text: `${megabyte.slice(index * 250_000, index * 250_000 + 249_980)} ${shown} `.padEnd(250_000) }
  })
  const pauses = quarters.map(({ shown }): Pause => ({ reached: Promise.withResolvers(), resume: Promise.withResolvers(), shown }))
  const text = quarters.map((quarter) => quarter.text).join('')
  const deltas = Array.from({ length: Math.ceil(text.length / 20) }, (_, index) => text.slice(index * 20, index * 20 + 20))
  const quarter = deltas.length / 4
  async function onChunk(index: number): Promise<void> {
    const at = (index - 1) / quarter // the first chunk is the text before the answer, so the deltas begin at 1
    if (!Number.isInteger(at)) return
    pauses[at - 1]?.reached.resolve()
    await pauses[at]?.resume.promise
  }
  const last = { index: deltas.length + 1 }
  return {
    pauses,
    reply: {
      text: 'sent in pieces',
      chunks: [head, ...deltas, tail],
      onChunk: (index: number) => (index === last.index ? pauses.at(-1)?.reached.resolve() : onChunk(index)),
    },
  }
}

interface Memory {
  readonly heap: number
  readonly nodes: number
}

async function memory(session: CDPSession): Promise<Memory> {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const metric = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN
  return { heap: metric('JSHeapUsedSize') / 1e6, nodes: metric('Nodes') }
}

const watchFrames = (tab: Page) =>
  tab.evaluate(`{
    const frames = []
    let last = performance.now()
    const frame = (now) => { frames.push(now - last); last = now; requestAnimationFrame(frame) }
    requestAnimationFrame(frame)
    Object.assign(window, { frames })
  }`)
const takeFrames = (tab: Page) => tab.evaluate<number[]>('window.frames.splice(0)')

async function measureTyping(browser: TestBrowser, agent: Agent, client: Client, url: string): Promise<void> {
  await client.conversations.create({ id: 'long' })
  for (let index = 0; index < turns; index++) {
    await agent.run('long', `Question ${index}`).result
  }
  const blocks = blocksIn(await viewWhen(client, 'long', (view) => answered(view) && view.turns.length === turns))
  const tab = await browser.open(`${url}/c/long`)
  await tab.getByText(`Question ${turns - 1}`).waitFor()
  await tab.getByRole('textbox', { name: 'Message' }).focus()
  await watchKeys(tab)
  const runs: number[] = []
  for (let run = 0; run < 5; run++) {
    await tab.waitForTimeout(500)
    await tab.keyboard.type('A sentence that is typed into a long conversation. ', { delay: 30 })
    runs.push(p95(await tab.evaluate<number[]>('window.delays.splice(0)')))
  }
  print(`typing in a conversation of ${blocks} blocks, p95`, median(runs), 16, 'ms')
  console.log(`  p95 of each run  ${runs.map((ms) => ms.toFixed(1)).join(' · ')} ms`)
}

/** How many blocks a conversation shows. A call and its result count as two blocks. */
const blocksIn = ({ turns }: ConversationView) =>
  turns.reduce(
    (sum, { steps, answers }) => sum + 1 + steps.reduce((count, { kind }) => count + (kind === 'tool' ? 2 : 1), 0) + answers.length,
    0,
  )

/**
 * Collects the time from each key until the typed letter is in the layout of the page. The time ends in a microtask. It runs after the
 * microtask in which React renders, because React has queued its microtask first. Reading a height makes the browser compute the layout.
 */
const watchKeys = (tab: Page) =>
  tab.evaluate(`{
    const delays = []
    let pressed = 0
    addEventListener('keydown', ({ timeStamp }) => { pressed = timeStamp }, true)
    addEventListener('input', () => queueMicrotask(() => {
      document.querySelector('textarea').scrollHeight
      delays.push(performance.now() - pressed)
    }))
    Object.assign(window, { delays })
  }`)

const p95 = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? Number.NaN

const print = (what: string, value: number, budget: number, unit: string) =>
  console.log(`${what.padEnd(58)} ${value.toFixed(1).padStart(6)} ${unit}  (budget ${budget})  ${value <= budget ? 'ok' : 'OVER'}`)
