import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { cpSync, mkdtempSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { HttpAgent } from '@ag-ui/client'
import { AbstractChat, DefaultChatTransport, type UIMessage } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeProvider, startFakeProvider } from '../../src/testing/fake-providers/fake-provider.ts'
import { reply } from '../../src/testing/scripted-model.ts'

const answer = 'The dice show a four and a six. That makes ten.'

/** How each example is started. */
const starts: Readonly<Record<string, (apps: string) => readonly string[]>> = {
  hono: (apps) => [join(apps, 'hono.ts')],
  express: (apps) => [join(apps, 'express.ts')],
  fastify: (apps) => [join(apps, 'fastify.ts')],
  next: (apps) => [resolve('test/support/next-route.ts'), join(apps, 'next/app/agent/[[...path]]/route.ts')],
}

/** The tests of `examples/apps` in a folder in which the packed package and the frameworks are installed. */
export function describeMountedApps(home: () => string, environment: Readonly<Record<string, string | undefined>>): void {
  let provider: FakeProvider
  /** The pause before each piece of an answer. */
  let delayMs = 0
  beforeAll(async () => {
    // only requests for decisions contain the tools of the agent. The other requests ask for titles
    const decide = ({ raw }: { readonly raw: string }) =>
      raw.includes('game.dice') ? { text: reply.answer(answer), chunks: 12, delayMs } : 'no title'
    provider = await startFakeProvider('anthropic', Array(500).fill(decide))
    cpSync('examples/apps', join(home(), 'apps'), { recursive: true })
  })
  afterAll(() => provider.close())

  describe.each(Object.keys(starts))('an application with %s', (name) => {
    let app: ChildProcess
    let ended: Promise<number | null>
    let url = ''
    let data = ''
    const post = (path: string, body: unknown) =>
      fetch(`${url}/agent${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

    beforeAll(async () => {
      data = mkdtempSync(join(home(), 'data-'))
      const variables = { AGENT_MODEL: 'anthropic/claude-sonnet-5-5', AGENT_DATA: data, PORT: '0' }
      app = spawn(process.execPath, [...(starts[name]?.(join(home(), 'apps')) ?? [])], {
        cwd: home(),
        env: { ...environment, ...provider.environment, ...variables },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      ended = new Promise((done) => app.once('close', done))
      for await (const line of createInterface({ input: app.stdout as NodeJS.ReadableStream })) {
        url = line
        break
      }
    })
    afterAll(async () => {
      app.kill('SIGKILL')
      await ended
    })

    it('serves its own page and the page of the agent, and says that it is ready', async () => {
      expect(await (await fetch(url)).text()).toContain('The page of the application')
      expect(await (await fetch(`${url}/agent/`)).text()).toContain('<title>Daybook</title>')
      expect((await fetch(`${url}/agent/ready`)).status).toBe(200)
    })

    it('answers a client that uses fetch, and keeps the limits', async () => {
      expect((await post('/v1/conversations', { id: 'plain' })).status).toBe(201)
      expect((await post('/v1/conversations/plain/turns', { text: 'Throw two dice.' })).status).toBe(202)
      const following = new AbortController()
      const events = await fetch(`${url}/agent/v1/conversations/plain/events`, { signal: following.signal })
      let text = ''
      for await (const piece of events.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece
        if (text.includes('chat.complete')) break
      }
      expect(text).toContain('That makes ten.')
      const tooLarge = await post('/v1/conversations/plain/feedback', { text: 'x'.repeat(3_000_000), turn_id: 't' })
      expect([tooLarge.status, (await tooLarge.json()) as unknown]).toMatchObject([413, { code: 'request.too_large' }])
      expect((await post('/v1/nothing', {})).status).toBe(404)
    })

    it('answers useChat of the AI SDK, which resumes the stream of a running turn after a reload', async () => {
      await post('/v1/conversations', { id: 'chat' })
      const api = `${url}/agent/v1/conversations/chat/ui-message`
      const first = createChat(api)
      await first.sendMessage({ text: 'Throw two dice.' })
      expect(textOf(first.messages.at(-1))).toBe(answer)
      delayMs = 150
      const sent = createChat(api)
      const sending = sent.sendMessage({ text: 'Again.' })
      await expect.poll(() => textOf(sent.messages.at(-1))).toContain('The dice')
      await sent.stop() // the same as closing the page. The turn continues
      const resumed = createChat(api)
      await resumed.resumeStream()
      delayMs = 0
      expect(textOf(resumed.messages.at(-1))).toBe(answer)
      await sending
    })

    it('answers a client of AG-UI', async () => {
      await post('/v1/conversations', { id: 'ag-ui' })
      const agent = new HttpAgent({ url: `${url}/agent/v1/conversations/ag-ui/ag-ui`, threadId: 'ag-ui' })
      agent.addMessage({ id: 'm1', role: 'user', content: 'Throw two dice.' })
      await agent.runAgent()
      expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: answer })
    })

    it('lets a running turn finish when it is asked to end, tells its clients, and exits', async () => {
      await post('/v1/conversations', { id: 'last' })
      delayMs = 250
      const chat = createChat(`${url}/agent/v1/conversations/last/ui-message`)
      const sending = chat.sendMessage({ text: 'Throw two dice.' })
      await expect.poll(() => textOf(chat.messages.at(-1))).toContain('The dice')
      app.kill('SIGTERM')
      // Next closes its port immediately
      if (name !== 'next') {
        await expect.poll(async () => (await fetch(`${url}/agent/ready`)).status).toBe(503)
        expect((await post('/v1/conversations/last/turns', { text: 'More.' })).status).toBe(503)
      }
      await sending
      delayMs = 0
      expect(await ended).toBe(0)
      const { stdout } = await promisify(execFile)(join(home(), 'node_modules/.bin/daybook'), ['export', 'last', '--data', data], {
        env: environment,
      })
      expect(stdout).toContain(answer) // the turn continued after its client was told to connect to another process
    })
  })
}

/** The same chat that `useChat` of @ai-sdk/react makes, but without React. */
function createChat(api: string): AbstractChat<UIMessage> {
  class Chat extends AbstractChat<UIMessage> {}
  const messages: UIMessage[] = []
  const state = {
    status: 'ready' as const,
    error: undefined,
    messages,
    pushMessage: (message: UIMessage) => void messages.push(message),
    popMessage: () => void messages.pop(),
    replaceMessage: (index: number, message: UIMessage) => {
      messages[index] = message
    },
    snapshot: <T>(value: T): T => structuredClone(value),
  }
  return new Chat({ id: 'chat', state, transport: new DefaultChatTransport({ api }) })
}

const textOf = (message: UIMessage | undefined) =>
  message?.role === 'assistant' ? message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : ''
