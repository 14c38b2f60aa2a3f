import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { findSandbox } from '../../src/adapters/sandbox/index.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { later } from '../../src/tools/outcome.ts'
import { openMemoryWorkspaces } from '../../src/wiring/memory-workspaces.ts'
import { hostingOn } from '../support/hosting.ts'
import { heldReply, usePage } from '../support/page/page-fixture.ts'

const machine = await findSandbox()
const print = defineTool({
  id: 'office.print',
  description: 'Prints.',
  params: z.object({ pages: z.number() }),
  run: () => later({ note: 'The printer warms up.' }),
})
const blobs = createMemoryBlobs()
const store = createMemoryStore({ blobs, clock: createSystemClock() })
const page = usePage({
  store,
  workspaces: openMemoryWorkspaces(store.blobs),
  hosting: hostingOn(blobs).hosting,
  tools: [print],
  ...(machine.sandbox && { sandbox: machine.sandbox }),
})

/** The id of the running turn, which a model reads in its prompt. */
const turnIdIn = ({ parts }: ModelRequest) =>
  parts.flatMap((part) => (part.type === 'text' ? [...part.text.matchAll(/turn_[\w-]+/g)] : [])).at(-1)?.[0] ?? ''

async function ask(text: string) {
  const tab = await page.open('/', { width: 1400 })
  await tab.getByRole('textbox', { name: 'Message' }).fill(text)
  await tab.keyboard.press('Enter')
  return tab
}

it('a document is shown in the panel while it is written, and is saved with the bytes that were written', async () => {
  const content = '# The report\n\nThe first part.\n\nThe second part.'
  const [before = '', after = ''] = reply
    .call('react.write', { path: 'files/report.md', channel: 'canvas', content, kind: 'file' })
    .split('\\n\\nThe second')
  const held = heldReply([before, `\\n\\nThe second${after}`])
  page.say(held.reply, reply.answer('It is written.'))
  const tab = await ask('Write a report.')
  await tab.getByRole('button', { name: /report.md.*Writing/ }).click()
  const panel = tab.getByRole('complementary', { name: 'report.md' })
  await panel.getByRole('heading', { name: 'The report' }).waitFor()
  expect(await panel.getByText('The second part.').count()).toBe(0)
  held.release()
  await panel.getByText('The second part.').waitFor()
  await tab.getByText('It is written.').waitFor()
  await panel.getByText('The second part.').waitFor() // it stays when the document is complete
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.getByRole('button', { name: 'Download report.md' }).click()])
  expect(download.suggestedFilename()).toBe('report.md')
  expect(await readFile(await download.path(), 'utf8')).toBe(content)
})

it.runIf(machine.sandbox)('a program is shown while it is written and while it runs, and its pictures can be opened', async () => {
  const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const contract = [{ filename: 'outputs/dot.png', description: 'a dot', visibility: 'external' }]
  const program = (turnId: string) => [
    'const { writeFile, mkdir } = await import("node:fs/promises")',
    `
await new Promise((resolve) => setTimeout(resolve, 1500))
await mkdir(OUTPUT_DIR + "/${turnId}/outputs", { recursive: true })
await writeFile(OUTPUT_DIR + "/${turnId}/outputs/dot.png", Buffer.from("${picture}", "base64"))`,
  ]
  let release = () => {}
  page.say((request) => {
    const [head = '', tail = ''] = reply
      .call('exec_tools.execute_code_javascript', { prog_name: 'draw a dot', contract }, { code: '\0' })
      .split('\0')
    const [first = '', rest = ''] = program(turnIdIn(request))
    const held = heldReply([`${head}${first}`, `${rest}${tail}`])
    release = held.release
    return held.reply
  }, reply.answer('Drawn.'))
  const tab = await ask('Draw a dot.')
  await tab.locator('pre', { hasText: 'const { writeFile, mkdir }' }).waitFor()
  release()
  const card = tab.getByRole('button', { name: /^Running a program draw a dot/ })
  await card.waitFor()
  await expect.poll(() => card.getAttribute('aria-expanded')).toBe('true')
  await tab.locator('pre', { hasText: 'setTimeout(resolve, 1500)' }).waitFor()
  await tab.getByText('Drawn.', { exact: true }).waitFor()
  await expect.poll(() => tab.getByRole('button', { name: /^Ran a program draw a dot/ }).getAttribute('aria-expanded')).toBe('false')
  await tab.getByRole('list', { name: 'Files' }).getByText('dot.png').click()
  const image = tab.getByRole('img', { name: 'dot.png' })
  await expect.poll(() => image.evaluate((element) => (element as HTMLImageElement).naturalWidth)).toBe(1)
})

it('a result that arrives later is announced, and the turn goes on when it arrives', async () => {
  page.say(reply.call('office.print', { pages: 3 }), reply.answer('Printed.'))
  const tab = await ask('Print it.')
  await tab.getByText('The printer warms up.').waitFor()
  await tab.getByRole('link', { name: /^Waiting/ }).click()
  await tab.getByRole('region', { name: /^Waiting: Office print/ }).waitFor()
  const { agent } = page.server
  const [wait] = (await agent.waiting()).waits
  await agent.complete(wait?.conversationId ?? '', wait?.callId ?? '', { ok: true, output: 'three pages' })
  await tab.goBack()
  await tab.getByText('Printed.', { exact: true }).waitFor()
  expect(await tab.getByText('The printer warms up.').count()).toBe(0)
})
