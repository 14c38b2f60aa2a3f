import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgentFrom } from '../src/agent/agent.ts'
import { createClient } from '../src/client/index.ts'
import { createAgent, defineTool, InvalidOption, openStore, replay } from '../src/index.ts'
import { createMetrics, defaultServerSettings, metricsHelp, noLog, serve } from '../src/server/index.ts'
import { createHarness } from '../src/testing/harness.ts'

/** Calls a function without a check of types, as JavaScript does. Returns the error that it throws or rejects with. */
async function errorOf(call: (...values: readonly never[]) => unknown, ...values: readonly unknown[]): Promise<unknown> {
  try {
    const result = await (call as (...values: readonly unknown[]) => unknown)(...values)
    return { accepted: result }
  } catch (error) {
    return error
  }
}

async function expectInvalid(error: Promise<unknown>, where: string, option: string, message: string): Promise<void> {
  const thrown = await error
  expect(thrown).toBeInstanceOf(InvalidOption)
  expect(thrown).toMatchObject({ name: 'InvalidOption', where, option })
  expect((thrown as Error).message).toContain(message)
}

const model = 'offline'
const tool = defineTool({ id: 'shop.find', description: 'Finds.', params: z.object({}), run: () => 'found' })
const hostile = {
  get [Symbol.toStringTag]() {
    throw new Error('must not be called')
  },
  toString() {
    throw new Error('must not be called')
  },
}

describe('createAgent', () => {
  it.each<[unknown, string, string]>([
    [undefined, '', 'its options must be an object with at least `model`, not missing'],
    [null, '', 'not null'],
    ['offline', '', 'not the text "offline"'],
    [{}, 'model', '`model` must be the name of a model, a model, or an object with a model for each role, not missing'],
    [{ model: 5 }, 'model', 'not 5'],
    [{ model: {} }, 'model.decision', 'not missing'],
    [{ model: { stream: 5 } }, 'model.stream', 'must be a function, not 5'],
    [{ model: { stream: () => [], name: 'm' } }, 'model.window', 'must be a number of at least 1, not missing'],
    [{ model: { decision: model, gate: 7 } }, 'model.gate', 'not 7'],
    [{ model: { decision: model, gates: model } }, 'model.gates', 'there is no option `model.gates`'],
    [{ model, tools: {} }, 'tools', '`tools` must be a list of tools, not an object'],
    [{ model, tools: [tool, undefined] }, 'tools[1]', 'a tool made by `defineTool`, not missing'],
    [{ model, tools: [{ ...tool, run: undefined }] }, 'tools[0].run', 'must be a function, not missing'],
    [{ model, tools: [{ id: 'a.b', description: '', params: {}, run() {} }] }, 'tools[0].parameters', 'must be a list of parameters'],
    [{ model, instructions: 5 }, 'instructions', 'must be a text, not 5'],
    [{ model, instructions: Symbol('x') }, 'instructions', 'not a symbol'],
    [{ model, instruction: 'Be kind.' }, 'instruction', 'there is no option `instruction`. The options here are model, '],
    [{ model, maxRounds: 5 }, 'maxRounds', 'there is no option `maxRounds`'],
    [{ model, store: {} }, 'store.claim', 'must be a function, not missing'],
    [{ model, store: 'sqlite' }, 'store', 'an open store, as `openStore` gives it, not the text "sqlite"'],
    [{ model, store: Promise.resolve() }, 'store', 'an open store, as `openStore` gives it, not a promise: write `await` before it'],
    [{ model, tools: [Promise.resolve(tool)] }, 'tools[0]', 'not a promise'],
    [{ model, tools: [tool, tool] }, 'tools[1]', 'there is another tool with the id shop.find'],
    [{ model, tools: [{ ...tool, id: 'react.read' }] }, 'tools[0]', 'there is a built-in tool with the id react.read'],
    [{ model, clock: Date }, 'clock.randomHex', 'not missing'],
    [{ model, hooks: {} }, 'hooks', 'must be a list of objects with hooks, not an object'],
    [{ model, hooks: [{ onFlush: () => {} }] }, 'hooks[0].onFlush', 'there is no option'],
    [{ model, hooks: [{ onFlushCompleted: true }] }, 'hooks[0].onFlushCompleted', 'must be a function, not true'],
    [{ model, onEntry: 'log' }, 'onEntry', 'must be a function'],
    [{ model, announce: 'Hello.' }, 'announce', 'must be a function'],
    [{ model, tokens: 4 }, 'tokens', 'must be a function'],
    [{ model, builtIn: { memory: 'yes' } }, 'builtIn.memory', 'not the text "yes"'],
    [{ model, builtIn: { tools: ['react.fetch'] } }, 'builtIn.tools[0]', 'must be the id of a built-in tool (react.read, '],
    [{ model, builtIn: { tools: 'react.read' } }, 'builtIn.tools', 'must be a list of ids of built-in tools, or false'],
    [{ model, attachments: { limits: { files: '3' } } }, 'attachments.limits.files', 'not the text "3"'],
    [{ model, attachments: { unscanned: 'allow' } }, 'attachments.unscanned', 'must be "refuse" or "accept"'],
    [{ model, settings: [] }, 'settings', 'must be an object with settings, not a list'],
    [{ model, settings: { maxRounds: '5' } }, 'settings.maxRounds', 'must be a whole number of at least 1, not the text "5"'],
    [{ model, settings: { maxRounds: -1 } }, 'settings.maxRounds', 'not -1'],
    [{ model, settings: { maxRounds: 0 } }, 'settings.maxRounds', 'not 0'],
    [{ model, settings: { maxRounds: 1.5 } }, 'settings.maxRounds', 'not 1.5'],
    [{ model, settings: { maxRounds: Number.NaN } }, 'settings.maxRounds', 'not NaN'],
    [{ model, settings: { maxRouns: 5 } }, 'settings.maxRouns', 'there is no option `settings.maxRouns`'],
    [{ model, settings: { maxSeconds: '60' } }, 'settings.maxSeconds', 'not the text "60"'],
    [{ model, settings: { retryDelaysMs: 100 } }, 'settings.retryDelaysMs', 'must be a list'],
    [{ model, settings: { retryDelaysMs: [1, -1] } }, 'settings.retryDelaysMs[1]', 'not -1'],
    [{ model, settings: { decision: { maxTokens: 100 } } }, 'settings.decision.temperature', 'not missing'],
    [{ model, settings: { priceOf: 3 } }, 'settings.priceOf', 'must be a function, not 3'],
    [{ model, settings: { timezone: 'Mars/Olympus' } }, 'settings.timezone', 'must be a time zone such as "Europe/Berlin"'],
    [{ model, settings: { recordPrompts: 'no' } }, 'settings.recordPrompts', 'must be true or false'],
    [{ model, settings: { sources: { eligibleMimes: 'text/*' } } }, 'settings.sources.eligibleMimes', 'must be a list'],
    [{ model, settings: { expiry: { ttlSeconds: 5 } } }, 'settings.expiry.bufferSeconds', 'not missing'],
  ])('refuses %o', async (options, option, message) => {
    await expectInvalid(errorOf(createAgent, options), 'createAgent', option, message)
  })

  it('calls no function of a wrong value', async () => {
    await expectInvalid(errorOf(createAgent, { model: hostile }), 'createAgent', 'model.toString', 'there is no option')
    await expectInvalid(errorOf(createAgent, { model, customisation: hostile }), 'createAgent', 'customisation', 'not an object')
  })

  it('shows no secret of a wrong value', async () => {
    const error = await errorOf(createAgent, { model, tools: `sk-ant-${'a1'.repeat(20)}` })
    expect(String(error)).not.toContain('a1a1a1')
  })

  it('takes undefined for an option that was left out', async () => {
    const options = { model, tools: undefined, store: undefined, hooks: undefined, nothing: undefined, settings: { maxRounds: undefined } }
    const agent = createAgent(options as never)
    expect((await agent.run('c1', 'Hello.').result).exitReason).not.toBe('failed')
    await agent.close()
  })
})

describe('createAgentFrom', () => {
  it.each<[Record<string, unknown>, string]>([
    [{ model: 'offline' }, 'model'],
    [{ store: undefined }, 'store'],
    [{ clock: undefined }, 'clock'],
    [{ workspaces: {} }, 'workspaces.open'],
    [{ hosting: {} }, 'hosting.host'],
    [{ settings: { maxRounds: '5' } }, 'settings.maxRounds'],
  ])('refuses %o', async (change, option) => {
    const { model, store, clock } = createHarness({ replies: [] })
    await expectInvalid(errorOf(createAgentFrom, { model, store, clock, ...change }), 'createAgentFrom', option, 'must be')
  })
})

describe('the methods of an agent', () => {
  const file = { name: 'a.txt', content: 'A.' }

  it.each<[method: string, values: readonly unknown[], option: string, message: string]>([
    ['run', ['Hello.', 'a.txt'], '', 'its options must be an object with options, not the text "a.txt"'],
    ['run', ['Hello.', null], '', 'not null'],
    ['run', ['Hello.', { attachment: [file] }], 'attachment', 'there is no option `attachment`. The options here are attachments, signal'],
    ['run', ['Hello.', { attachments: file }], 'attachments', 'must be a list of files, not an object'],
    ['run', ['Hello.', { attachments: ['a.txt'] }], 'attachments[0]', 'a file such as { name, content }, not the text "a.txt"'],
    ['run', ['Hello.', { attachments: [{ path: 'a.txt' }] }], 'attachments[0].name', 'must be a text, not missing'],
    ['run', ['Hello.', { attachments: [{ name: 'a.txt' }] }], 'attachments[0].content', 'must be a text or a Uint8Array, not missing'],
    ['run', ['Hello.', { attachments: [{ content: 'A.' }] }], 'attachments[0].name', 'must be a text, not missing'],
    ['run', ['Hello.', { signal: new AbortController() }], 'signal.addEventListener', 'must be a function, not missing'],
    ['send', ['Hello.', { signal: AbortSignal.abort() }], 'signal', 'there is no option `signal`'],
    ['send', ['Hello.', { attachments: [{ ...file, content: [1, 2] }] }], 'attachments[0].content', 'not a list'],
    ['send', ['Hello.', { eventId: 5 }], 'eventId', 'must be a text, not 5'],
    ['steer', ['Faster.', { mode: 'wrapup' }], 'mode', 'must be "redirect" or "wrap_up", not the text "wrapup"'],
    ['steer', ['Faster.', { turn: 't1' }], 'turn', 'there is no option `turn`'],
    ['notify', ['Fire.', { reactive: 'yes' }], 'reactive', 'must be true or false, not the text "yes"'],
    ['feedback', ['Good.'], '', 'its options must be an object with `turnId`, not missing'],
    ['feedback', ['Good.', { reaction: 'ok' }], 'turnId', 'must be a text, not missing'],
    ['feedback', ['Good.', { turnId: 't1', reaction: 'good' }], 'reaction', 'must be "ok" or "not_ok" or "neutral"'],
    ['feedback', ['Good.', { turnId: 't1', stars: 5 }], 'stars', 'there is no option `stars`'],
    ['follow', [{ after: '3' }], 'after', 'must be a whole number of at least 0, not the text "3"'],
    ['follow', [{ since: 3 }], 'since', 'there is no option `since`'],
  ])('%s refuses %o', async (method, values, option, message) => {
    const harness = createHarness({ replies: [] })
    const call = harness.agent[method as 'run'] as (...values: readonly unknown[]) => unknown
    const error = errorOf(async () => {
      const handle = await call('c1', ...values)
      return method === 'run' ? (handle as { readonly result: unknown }).result : handle
    })
    await expectInvalid(error, method, option, message)
    expect(await harness.journal()).toEqual([])
  })

  it.each<[method: 'recover' | 'drain', value: unknown, message: string]>([
    ['recover', { onSkip: () => {} }, 'there is no option `onSkip`'],
    ['drain', '10', '`withinMs` must be a number of at least 0, not the text "10"'],
    ['drain', undefined, 'not missing'],
  ])('%s refuses %o', async (method, value, message) => {
    const { agent } = createHarness({ replies: [] })
    const error = await errorOf(agent[method] as never, value)
    expect(error).toBeInstanceOf(InvalidOption)
    expect((error as Error).message).toContain(message)
  })
})

describe('openStore', () => {
  it.each<[unknown, string]>([
    [undefined, ''],
    ['.daybook', ''],
    [{}, 'data'],
    [{ data: '' }, 'data'],
    [{ data: 5 }, 'data'],
    [{ data: '.daybook', store: 'sqlit' }, 'store'],
  ])('refuses %o', async (options, option) => {
    await expectInvalid(errorOf(openStore, options), 'openStore', option, 'must be')
  })

  it('needs no folder in memory', async () => {
    await (await openStore({ store: 'memory' } as never)).close()
  })
})

describe('defineTool', () => {
  const definition = { id: 'shop.find', description: 'Finds.', params: z.object({}), run: () => 'found' }

  it.each<[unknown, string, string]>([
    [undefined, '', 'not missing'],
    [{ ...definition, run: undefined }, 'run', 'must be a function, not missing'],
    [{ ...definition, id: 5 }, 'id', 'not 5'],
    [{ ...definition, id: 'find' }, 'id', 'namespace.name'],
    [{ ...definition, id: 'mcp.files..read' }, 'id', 'namespace.name'],
    [{ ...definition, id: 'mcp.files.-read' }, 'id', 'namespace.name'],
    [{ ...definition, id: `mcp.files.${'read'.repeat(60)}` }, 'id', 'namespace.name'],
    [{ ...definition, description: undefined }, 'description', 'must be a text, not missing'],
    [{ ...definition, params: undefined }, 'params', 'must be a schema'],
    [{ ...definition, params: { type: 'object' } }, 'params', 'must be a schema'],
    [{ ...definition, params: z.string() }, 'parameters', 'must be that of an object'],
    [{ ...definition, parameters: { city: 'string' } }, 'parameters', 'must be a list of parameters'],
    [{ ...definition, parameters: [{ name: 'city' }] }, 'parameters[0].type', 'not missing'],
    [{ ...definition, timeoutMs: '5000' }, 'timeoutMs', 'not the text "5000"'],
    [{ ...definition, timeout: 5000 }, 'timeout', 'there is no option `timeout`'],
    [{ ...definition, order: 'strict' }, 'order', '"hard" or "soft"'],
    [{ ...definition, strategy: 'greedy' }, 'strategy', '"exploration" or "exploitation" or "neutral"'],
    [{ ...definition, repeatable: 1 }, 'repeatable', 'true or false'],
    [{ ...definition, constraints: 'none' }, 'constraints', 'must be a list'],
  ])('refuses %o', async (wrong, option, message) => {
    const where = option === '' || option === 'id' ? 'defineTool' : 'defineTool shop.find'
    await expectInvalid(errorOf(defineTool, wrong), where, option, message)
  })
})

describe('serve', () => {
  const parts = () => {
    const { agent } = createHarness({ replies: [] })
    return {
      agent,
      settings: { ...defaultServerSettings, port: 0 },
      log: noLog,
      metrics: createMetrics(metricsHelp),
      now: () => '',
      newId: () => '',
    }
  }

  it.each<[unknown, string]>([
    [undefined, ''],
    [{ ...parts(), agent: undefined }, 'agent'],
    [{ ...parts(), log: undefined }, 'log'],
    [{ ...parts(), now: '2026' }, 'now'],
    [{ ...parts(), settings: undefined }, 'settings'],
    [{ ...parts(), settings: { port: 0 } }, 'settings.host'],
    [{ ...parts(), settings: { ...defaultServerSettings, port: '80' } }, 'settings.port'],
    [{ ...parts(), settings: { ...defaultServerSettings, port: 70_000 } }, 'settings.port'],
    [{ ...parts(), settings: { ...defaultServerSettings, drainMs: -1 } }, 'settings.drainMs'],
    [{ ...parts(), settings: { ...defaultServerSettings, auth: { kind: 'none' } } }, 'settings.auth.kind'],
    [{ ...parts(), settings: { ...defaultServerSettings, auth: { kind: 'bearer' } } }, 'settings.auth.key'],
  ])('refuses %#', async (options, option) => {
    await expectInvalid(errorOf(serve, options), 'serve', option, 'must be')
  })
})

describe('replay', () => {
  it.each<[readonly unknown[], string]>([
    [[undefined, 'c1'], 'store'],
    [[{}, 'c1'], 'store.readJournal'],
    [['store', undefined], 'conversationId'],
    [['store', 'c1', { tools: {} }], 'parts.tools'],
    [['store', 'c1', { settings: { maxRounds: '5' } }], 'parts.settings.maxRounds'],
    [['store', 'c1', { window: '5' }], 'parts.window'],
    [['store', 'c1', {}, 5], 'turnId'],
  ])('refuses %o', async ([store, ...rest], option) => {
    const given = store === 'store' ? createHarness({ replies: [] }).store : store
    await expectInvalid(errorOf(replay, given, ...rest), 'replay', option, 'must be')
  })
})

describe('createClient and its methods', () => {
  const requests: string[] = []
  const fetch = async (url: string | URL | Request) => {
    requests.push(String(url))
    return new Response('{}')
  }
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', fetch })
  const send = (options: unknown) => client.send('c1', 'Hello.', options as never)
  const feedback = (options: unknown) => client.feedback('c1', 'Good.', options as never)
  const follow = (options: unknown) => client.follow('c1', options as never)
  const create = (options: unknown) => createClient(options as never)

  it.each<[(options: unknown) => unknown, string, unknown, string, string]>([
    [create, 'createClient', undefined, '', 'an object with `baseUrl`'],
    [create, 'createClient', { baseURL: 'http://127.0.0.1:1' }, 'baseURL', 'there is no option `baseURL`'],
    [create, 'createClient', { baseUrl: 'http://127.0.0.1:1', token: 5 }, 'token', 'a text or a function'],
    [send, 'client.send', { attachments: [{ name: 'a.txt', content: new Blob(['a']) }] }, 'attachments', 'there is no option'],
    [send, 'client.send', { files: [{ name: 'a.txt', content: 5 }] }, 'files[0].content', 'a Blob, a Uint8Array or a text'],
    [send, 'client.send', { mode: 'stop' }, 'mode', '"followup" or "steer" or "wrap_up"'],
    [feedback, 'client.feedback', { turn_id: 't1' }, 'turn_id', 'there is no option'],
    [feedback, 'client.feedback', undefined, '', 'an object with `turnId`'],
    [follow, 'client.follow', { from: 3 }, 'from', 'there is no option'],
    [follow, 'client.follow', { after: '3' }, 'after', 'a whole number'],
  ])('refuse %#', async (method, where, options, option, message) => {
    await expectInvalid(errorOf(method, options), where, option, message)
    expect(requests).toEqual([])
  })
})
