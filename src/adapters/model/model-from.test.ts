import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ask, requestOf, text } from '../../../test/support/models/provider-models.ts'
import { createAgent, defineTool } from '../../index.ts'
import { startFakeProvider } from '../../testing/fake-providers/fake-provider.ts'
import { reply, scriptedModel } from '../../testing/scripted-model.ts'
import { modelFrom, parseModelName } from './model-from.ts'
import { rulesNameOf } from './provider-rules.ts'

const none = { environment: {} }

describe('a model by name', () => {
  it.each([
    ['anthropic/claude-opus-5-5', { provider: 'anthropic', model: 'claude-opus-5-5' }],
    ['ollama/qwen3:30b', { provider: 'ollama', model: 'qwen3:30b' }],
    ['compatible/org/model@http://127.0.0.1:8000/v1', { provider: 'compatible', model: 'org/model', address: 'http://127.0.0.1:8000/v1' }],
    ['compatible/m@2@https://host/v1', { provider: 'compatible', model: 'm@2', address: 'https://host/v1' }],
  ])('%s is parsed into provider, model and address', (name, parsed) => {
    expect(parseModelName(name)).toEqual(parsed)
  })

  it.each([
    [
      'anthropic/claude-opus-5-5',
      'anthropic/claude-opus-5-5 needs a key: set ANTHROPIC_API_KEY, or choose the model "offline", which needs none',
    ],
    ['openai/gpt-6-sol', 'openai/gpt-6-sol needs a key: set OPENAI_API_KEY, or choose the model "offline", which needs none'],
    ['google/gemini-3.8-flash', expect.stringContaining('set GOOGLE_GENERATIVE_AI_API_KEY')],
    ['compatible/m', expect.stringContaining('compatible/m@http://host:port/v1 or set OPENAI_COMPATIBLE_BASE_URL')],
    [
      'mistral/large',
      'unknown provider "mistral" in the name of a model; use one of anthropic, openai, google, ollama, compatible or offline',
    ],
    ['gpt-6-sol', expect.stringContaining('unknown provider "gpt-6-sol"')],
    ['openai/', 'no model of openai is named: write openai/<model>'],
    ['compatible/m@http://me:secret@host/v1', 'the address of compatible/m must not contain a password: put the key into the environment'],
    ['compatible/m@HTTP://me:secret@host/v1', 'the address of compatible/m must not contain a password: put the key into the environment'],
    ['compatible/m@ftp://me:secret@host/v1', 'the address of compatible/m must be an http or https URL'],
    ['compatible/m@http://host/v1?key=secret', expect.stringContaining('must not contain a query')],
    ['compatible/m@http://host/v1#secret', expect.stringContaining('must not contain a query')],
    ['google/../../v1/files?key=x', expect.stringContaining('is not the name of a model')],
    ['google/gemini\nSet-Cookie: x', expect.stringContaining('is not the name of a model')],
    ['openai/gpt 6', expect.stringContaining('is not the name of a model')],
    [`openai/${'x'.repeat(300)}`, expect.stringContaining('is not the name of a model')],
    ['openai/\u001b[31mred', expect.stringContaining('is not the name of a model')],
  ])('%s is rejected when the model is made, with a message that says what to do', (name, message) => {
    expect(() => modelFrom(name, none)).toThrow(expect.objectContaining({ code: 'model.unavailable', message }))
  })

  it('treats an empty key as missing', () => {
    expect(() => modelFrom('openai/gpt-6-sol', { environment: { OPENAI_API_KEY: '' } })).toThrow(/needs a key/)
  })

  it('trims white space around a key, and rejects a key with other characters without repeating it', async () => {
    const provider = await startFakeProvider('openai', ['Hi.'])
    const environment = { ...provider.environment, OPENAI_API_KEY: ' sk-planted\r\n' }
    expect(await ask(modelFrom('openai/gpt-6-sol', { environment }), requestOf([text('Hello')]))).toMatchObject([{ text: 'Hi.' }, {}])
    expect(provider.requests[0]?.headers.authorization).toBe('Bearer sk-planted')
    await provider.close()
    for (const key of ['sk-plan\nted', 'sk-“planted”', 'sk plan ted']) {
      expect(() => modelFrom('openai/gpt-6-sol', { environment: { OPENAI_API_KEY: key } })).toThrow(
        expect.objectContaining({
          message: 'OPENAI_API_KEY is not a valid key: it contains a space, a line break or a character beyond ASCII',
        }),
      )
    }
    expect(() => modelFrom('openai/gpt-6-sol', { environment: { OPENAI_API_KEY: ' \n' } })).toThrow(/needs a key/)
  })

  it('needs neither key nor address for ollama', () => {
    expect(modelFrom('ollama/qwen3', none)).toMatchObject({ name: 'ollama/qwen3', window: 32_768 })
  })

  it('has the context size of the table, unless one is given', () => {
    const environment = { ANTHROPIC_API_KEY: 'k' }
    expect(modelFrom('anthropic/claude-opus-5-5', { environment }).window).toBe(1_000_000)
    expect(modelFrom('anthropic/claude-next', { environment }).window).toBe(200_000)
    expect(modelFrom('anthropic/claude-opus-5-5', { environment, window: 50_000 }).window).toBe(50_000)
  })

  it('accepts the document types of its provider, unless the options say otherwise', () => {
    const local = 'compatible/m@http://127.0.0.1:8000/v1'
    expect(modelFrom('anthropic/claude-opus-5-5', { environment: { ANTHROPIC_API_KEY: 'k' } }).documents).toEqual(['application/pdf'])
    expect(modelFrom(local, none).documents).toEqual([])
    expect(modelFrom(local, { ...none, documents: true }).documents).toEqual(['application/pdf'])
    expect(modelFrom('offline').documents).toBeUndefined()
  })

  it('is called at the address in its name', async () => {
    const provider = await startFakeProvider('compatible', ['Hi.'])
    const model = modelFrom(`compatible/org/model@${provider.address}/v1`, none)
    expect(await ask(model, requestOf([text('Hello')]))).toMatchObject([
      { text: 'Hi.' },
      { type: 'finish', modelName: 'compatible/org/model' },
    ])
    expect(provider.requests[0]?.body).toMatchObject({ model: 'org/model', stream: true })
    await provider.close()
  })
})

it.each([
  ['anthropic.messages', 'anthropic'],
  ['vertex.anthropic.messages', 'anthropic'],
  ['openai.responses', 'openai'],
  ['openai.chat', 'unknown'],
  ['azure.responses', 'unknown'],
  ['google.generative-ai', 'google'],
  ['ollama.chat', 'ollama'],
])('an AI SDK model of %s follows the rules for %s', (provider, rules) => {
  expect(rulesNameOf(provider)).toBe(rules)
})

describe('createAgent', () => {
  it('throws when a key is missing, before the first message', () => {
    const set = process.env.ANTHROPIC_API_KEY
    delete process.env.ANTHROPIC_API_KEY
    expect(() => createAgent({ model: 'anthropic/claude-opus-5-5' })).toThrow(/set ANTHROPIC_API_KEY/)
    expect(() => createAgent({ model: { decision: scriptedModel([]), gate: 'anthropic/claude-haiku-5-5' } })).toThrow(
      /set ANTHROPIC_API_KEY/,
    )
    if (set !== undefined) process.env.ANTHROPIC_API_KEY = set
  })

  it('takes a model for each role, and applies a cost limit with the built-in prices', async () => {
    const titles = await startFakeProvider('anthropic', [reply.answer('A title.')])
    const provider = await startFakeProvider('anthropic', [reply.call('clock.now', {}), reply.answer('Hello.')])
    const gate = modelFrom('anthropic/claude-sonnet-5-5', { environment: titles.environment })
    const decision = modelFrom('anthropic/claude-sonnet-5-5', { environment: provider.environment })
    const now = defineTool({ id: 'clock.now', description: 'Tells the time.', params: z.object({}), run: () => 'noon' })
    const agent = createAgent({ model: { decision, gate }, tools: [now], settings: { maxMoney: 0.000_001 } })
    const { exitReason } = await agent.run('c', 'Hi').result
    expect(exitReason).toBe('budget') // the first round already costs more than the limit
    expect(titles.requests).toHaveLength(1)
    await agent.close()
    await titles.close()
    await provider.close()
  })
})

it('importing the package and making an agent loads no provider package and opens no connection', async () => {
  const program = `
    import { registerHooks } from 'node:module'
    import net from 'node:net'
    const loaded = []
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
    net.Socket.prototype.connect = () => { throw new Error('a connection') }
    const { createAgent } = await import(${JSON.stringify(new URL('../../index.ts', import.meta.url).href)})
    createAgent({ model: 'anthropic/claude-opus-5-5' })
    createAgent({ model: 'compatible/m@http://127.0.0.1:1/v1' })
    console.log(JSON.stringify(loaded.filter((url) => /node_modules/.test(url) && !/node_modules\\/zod\\//.test(url))))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, ANTHROPIC_API_KEY: 'k', NODE_NO_WARNINGS: '1' },
  })
  expect(JSON.parse(stdout)).toEqual([])
})
