import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { viewWhen } from '../support/server-fixture.ts'

/** The model stops in the middle of its answer until the file `go` is there. */
const configuration = `
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { reply, scriptedModel } from '${resolve('src/testing/scripted-model.ts')}'
const go = join(import.meta.dirname, 'go')
const text = reply.answer('First half, second half.')
const half = text.indexOf(' second half')
const onChunk = async (index) => {
  while (index === 1 && !existsSync(go)) await sleep(10)
}
export default { data: 'data', model: scriptedModel([{ text, chunks: [text.slice(0, half), text.slice(half)], onChunk }]) }
`
const command = [resolve('bin/daybook.js')]

let folder: string
let server: ChildProcess | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'daybook-sigterm-'))
  writeFileSync(join(folder, 'daybook.config.ts'), configuration)
})
afterEach(async () => {
  if (server && server.exitCode === null && server.signalCode === null) {
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
})

it('after SIGTERM, /ready answers 503 until the running turn has ended, and then the process ends', async () => {
  const child = spawn(process.execPath, [...command, 'serve', '--port', '0'], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
  server = child
  const exited = once(child, 'exit')
  let url = ''
  for await (const line of createInterface({ input: child.stdout })) {
    url = /^daybook is at (http:\S+)$/.exec(line)?.[1] ?? ''
    if (url !== '') break
  }
  const ready = async () => (await fetch(`${url}/ready`)).status
  expect(await ready()).toBe(200)
  const client = createClient({ baseUrl: url })
  await client.conversations.create({ id: 'c1' })
  await client.send('c1', 'Hello?')
  await viewWhen(client, 'c1', ({ live }) => live?.lanes.some(({ text }) => text === 'First half,') === true)

  child.kill('SIGTERM')
  await expect.poll(ready, { timeout: 20_000 }).toBe(503)
  expect((await fetch(`${url}/v1/conversations`)).status).toBe(503)
  expect((await fetch(`${url}/health`)).status).toBe(200)
  expect([child.exitCode, child.signalCode]).toEqual([null, null]) // the turn is still running

  writeFileSync(join(folder, 'go'), '')
  expect(await exited).toEqual([0, null])
  await expect(ready()).rejects.toThrow()
  const shown = execFileSync(process.execPath, [...command, 'show', 'c1'], { cwd: folder, encoding: 'utf8' })
  expect(shown).toMatch(/assistant\.completion +First half, second half\./)
}, 60_000)
