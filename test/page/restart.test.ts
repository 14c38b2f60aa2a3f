import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { startBrowser, type TestBrowser } from '../support/page/browser.ts'
import { viewWhen } from '../support/server-fixture.ts'

/** The model calls a tool, and then stops in the middle of its answer until the file `go` is there. The tool notes each of its runs. */
const configuration = `
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { reply, scriptedModel } from '${resolve('src/testing/scripted-model.ts')}'
import { defineAgent, defineTool } from '${resolve('src/index.ts')}'
import { z } from '${resolve('node_modules/zod/index.js')}'
const here = (name) => join(import.meta.dirname, name)
const text = reply.answer('First half, second half.')
const half = text.indexOf(' second half')
const onChunk = async (index) => {
  while (index === 1 && !existsSync(here('go'))) await sleep(10)
}
const answer = { text, chunks: [text.slice(0, half), text.slice(half)], onChunk }
const next = (request) => (JSON.stringify(request).includes('noted once') ? answer : reply.call('notes.add', {}))
const add = defineTool({
  id: 'notes.add',
  description: 'Adds a note.',
  params: z.object({}),
  run() {
    appendFileSync(here('runs'), 'x')
    return 'noted once'
  },
})
export default { data: here('data'), agent: defineAgent({ model: scriptedModel([next, next, next, next]), tools: [add] }) }
`

let folder: string
let server: ChildProcess | undefined
let browser: TestBrowser
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'daybook-restart-'))
  writeFileSync(join(folder, 'daybook.config.ts'), configuration)
  browser = await startBrowser()
})
afterAll(async () => {
  await browser.close()
  await kill()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts the server and resolves with its address. */
async function start(port: string): Promise<string> {
  const command = [resolve('bin/daybook.js'), 'serve', '--port', port]
  const child = spawn(process.execPath, command, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  server = child
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^daybook is at (http:\S+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('the server did not start')
}

async function kill(): Promise<void> {
  if (!server || server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  server.kill('SIGKILL')
  await exited
}

it('after the server was killed in the middle of an answer, the page says so, reconnects by itself, and the answer completes once', async () => {
  const url = await start('0')
  const tab = await browser.open(url)
  await tab.getByRole('textbox', { name: 'Message' }).fill('Note it, and answer.')
  await tab.keyboard.press('Enter')
  await tab.getByText('First half,').waitFor()
  const id = /\/c\/([\w-]+)$/.exec(tab.url())?.[1] ?? ''

  await kill()
  await tab.getByText('Connection lost.').waitFor()
  expect(await tab.getByText('First half,').count()).toBe(1) // what was read stays

  writeFileSync(join(folder, 'go'), '')
  await start(new URL(url).port)
  await tab.getByText('First half, second half.').waitFor()
  await tab.getByText('Connection lost.').waitFor({ state: 'detached' })
  await tab.getByRole('button', { name: 'Copy answer' }).waitFor()
  expect(await tab.getByText('First half,').count()).toBe(1)
  expect(await tab.getByText('Note it, and answer.', { exact: true }).count()).toBe(1)
  const view = await viewWhen(createClient({ baseUrl: url }), id, ({ turns }) => turns[0]?.endedAt !== undefined)
  expect(view.turns).toMatchObject([{ answers: [{ text: 'First half, second half.' }], exitReason: 'complete' }])
  expect(view.turns[0]?.steps.filter(({ kind }) => kind === 'tool')).toHaveLength(1)
  expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('x')
  await tab.reload()
  await tab.getByText('First half, second half.').waitFor()
  const problems = browser
    .takeProblems()
    .filter((problem) => !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET/.test(problem))
  expect(problems).toEqual([])
})
