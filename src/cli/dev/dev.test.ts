import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createClient } from '../../client/client.ts'

let folder: string
const running: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'daybook-dev-'))
  write('package.json', '{ "type": "module" }')
})
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = new Promise((done) => child.once('close', done))
    child.kill('SIGKILL')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
const source = (name: string) => pathToFileURL(resolve('src', name)).href

/** The module of an agent whose model says the text of `words.ts`, and calls the tool `game.dice` if the message says so. */
const agentModule = `
import { defineAgent } from '${source('wiring/define-agent.ts')}'
import { defineTool } from '${source('tools/define.ts')}'
import { reply, scriptedModel } from '${source('testing/scripted-model.ts')}'
import { z } from '${source('../node_modules/zod/index.js')}'
import { throwDice, words } from './words.ts'
const dice = defineTool({ id: 'game.dice', description: 'Dice.', params: z.object({}), run: () => throwDice() })
const decide = ({ parts }) => (JSON.stringify(parts).includes('Throw!') && !calls++ ? reply.call('game.dice', {}) : reply.answer(words))
let calls = 0
export const agent = defineAgent({ model: { decision: scriptedModel(Array(20).fill(decide)), gate: 'offline' }, tools: [dice] })
`
const words = (text: string) =>
  `\nexport const words: string = ${JSON.stringify(text)}\nexport const throwDice = () => {\n  throw new TypeError('no dice')\n}\n`

/** Starts `daybook dev` as a process, because Vitest would import the user's modules in its own way. */
function startDev(...args: readonly string[]) {
  const child = spawn(process.execPath, [resolve('bin/daybook.js'), 'dev', '--port', '0', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, DAYBOOK_SANDBOX: 'off' },
  })
  running.push(child)
  let printed = ''
  let all = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text
      all += text
    })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  /** Waits until the output contains a text, after the text that was found last. Returns the output from there on. */
  async function until(text: string | RegExp): Promise<string> {
    const find = () => printed.search(text)
    await expect.poll(find, { message: `waiting for ${text}\n${printed}` }).toBeGreaterThanOrEqual(0)
    const found = printed.slice(find())
    printed = printed.slice(find() + 1)
    return found
  }
  return { child, until, ended, printed: () => printed, all: () => all }
}

async function say(url: string, text: string): Promise<string> {
  const client = createClient({ baseUrl: url })
  const id = 'c1'
  // fails from the second message on, because the conversation then exists
  await client.conversations.create({ id, title: 'Words' }).catch(() => {})
  const { last_seq: after } = await client.conversations.get(id)
  await client.send(id, text)
  for await (const event of client.follow(id, { after })) if (event.type === 'entry' && event.change.type === 'turn.closed') break
  const { blocks } = await client.timeline(id)
  return blocks.findLast(({ type }) => type === 'assistant.completion')?.text ?? ''
}

const addressIn = (text: string) => /http:\S+/.exec(text)?.[0] ?? ''

it('serves the agent, loads it again when an imported file changes, and keeps the old one while a file has an error', async () => {
  write('agent.ts', agentModule)
  write('words.ts', words('One.'))
  const dev = startDev('--agent', './agent.ts')
  const url = addressIn(await dev.until('daybook is at http'))
  expect(await (await fetch(url)).text()).toContain('<title>Daybook</title>')
  expect(await say(url, 'Hello')).toBe('One.')

  write('words.ts', words('Two.'))
  await dev.until('loaded the agent again: words.ts changed')
  expect(await say(url, 'Hello')).toBe('Two.')

  write('words.ts', '\nexport const words = {{')
  expect(await dev.until('cannot load')).toMatch(/\(words\.ts:2\)[^\n]*\n.*the previous version of the agent keeps running/)
  expect(await say(url, 'Hello')).toBe('Two.')

  write('words.ts', words('Three.'))
  await dev.until('loaded the agent again')
  expect(await say(url, 'Hello')).toBe('Three.')
  expect(await say(url, 'Throw!')).toBe('Three.')
  expect(await dev.until('game.dice failed: no dice')).toContain('(words.ts:4:9)')

  dev.child.kill('SIGTERM')
  expect(await dev.ended).toBe(0)
  expect(dev.all()).not.toContain('"event":"request"') // a log of all requests would hide the errors of the agent
})

it('waits for a file that has no error, even if an import is missing at the start', async () => {
  write('daybook.config.ts', "import { agent } from './agent.ts'\nexport default { agent }\n")
  write('agent.ts', agentModule)
  const dev = startDev()
  expect(await dev.until('can not be read')).toContain('(agent.ts:6)')
  write('words.ts', words('At last.'))
  expect(await say(addressIn(await dev.until('daybook is at http')), 'Hello')).toBe('At last.')
  write('daybook.config.ts', "import { agent } from './agent.ts'\nexport default { agent, host: '127.0.0.2' }\n")
  await dev.until('restart to apply the new host')
})

it('ends on a signal while it waits, and says what is missing without an agent', async () => {
  write('agent.ts', 'nothing(')
  const waiting = startDev('--agent', './agent.ts')
  await waiting.until('cannot load')
  waiting.child.kill('SIGINT')
  expect(await waiting.ended).toBe(0)
  const nothing = startDev()
  expect(await nothing.ended).toBe(1)
  expect(nothing.printed()).toBe('there is no agent: name its module with --agent, or write a project with daybook init\n')
})
