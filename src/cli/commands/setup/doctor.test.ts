import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../../test/support/command-line.ts'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { completion, prompt } from '../../../testing/blocks.ts'
import { appended, writeConversation } from '../../../testing/conformance/store/fixture.ts'
import { startFakeEmbeddings } from '../../../testing/fake-providers/fake-embeddings.ts'
import { type FakeScript, startFakeProvider } from '../../../testing/fake-providers/fake-provider.ts'
import { reply } from '../../../testing/scripted-model.ts'
import { modelKeys } from '../../../wiring/models.ts'
import { openStore } from '../../../wiring/store.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
  line.setReplies(reply.answer('Read.'))
  line.environment.DAYBOOK_PORT = '0'
})
afterEach(() => line.remove())

const data = () => join(line.folder, 'data')
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()

const filesAndFoldersIn = (folder: string) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

/** Puts blobs and appends no entry for them. A process that dies between the two steps leaves the same state. */
async function putBlobs(...texts: readonly string[]): Promise<readonly string[]> {
  const store = await openStore({ data: data() })
  const blobs = await Promise.all(texts.map((text) => store.blobs.put(new TextEncoder().encode(text))))
  await store.close()
  return blobs.map(({ sha256 }) => join(data(), 'blobs', sha256.slice(0, 2), sha256))
}

const age = (file: string, hours: number) => utimesSync(file, new Date(), Date.now() / 1000 - hours * 3600)

it('counts blobs that belong to no entry and their size, and changes nothing', async () => {
  expect((await line.run('doctor')).text).toMatch(/^✓ blobs +nothing stored yet$/m)
  writeFileSync(join(line.folder, 'long.txt'), 'word '.repeat(5_000))
  await line.run('run', 'What does it say?', '--attach', join(line.folder, 'long.txt'))
  expect((await line.run('doctor')).text).toMatch(/^✓ blobs +every blob belongs to an entry$/m)
  const [first = '', second = ''] = await putBlobs('a'.repeat(1_200), 'bb', 'ccc')
  for (const file of [first, second]) age(file, 25)
  const before = filesIn(data())
  const { exitCode, text } = await line.run('doctor')
  expect(exitCode).toBe(0)
  expect(text).toMatch(/^! blobs +2 \(1,202 bytes\) belong to no entry, 1 more \(3 bytes\) may still get one: daybook doctor --sweep /m)
  expect(filesIn(data())).toEqual(before)
})

it('--sweep removes only blobs that have belonged to no entry for more than a day', async () => {
  writeFileSync(join(line.folder, 'long.txt'), 'word '.repeat(5_000))
  await line.run('run', 'What does it say?', '--attach', join(line.folder, 'long.txt'))
  const entered = filesIn(join(data(), 'blobs'))
  expect(entered.length).toBeGreaterThan(0)
  const [old = '', , again = ''] = await putBlobs('old', 'young', 'put again')
  for (const file of [...entered, old, again]) age(file, 25)
  await putBlobs('put again')
  const kept = filesIn(join(data(), 'blobs')).filter((file) => file !== old)
  expect(await line.run('doctor', '--sweep')).toMatchObject({
    exitCode: 0,
    text: expect.stringMatching(/^removed 1 blob \(3 bytes\) .*a day.*\n(?:.*\n)*✓ blobs +2 \(14 bytes\) may still get an entry$/m),
  })
  expect(filesIn(join(data(), 'blobs'))).toEqual(kept)
  expect(readFileSync(again, 'utf8')).toBe('put again')
  expect((await line.run('doctor', '--sweep')).text).toMatch(/^no blob .*nothing was removed$/m)
})

it('--sweep removes nothing when the database is damaged', async () => {
  const [left = ''] = await putBlobs('old')
  age(left, 25)
  writeFileSync(join(data(), 'daybook.db'), 'x'.repeat(1_000))
  expect(await line.run('doctor')).toMatchObject({
    exitCode: 1,
    text: expect.stringMatching(/^✗ blobs +.*daybook\.db is not a sound Daybook database/m),
  })
  expect(await line.run('doctor', '--sweep')).toMatchObject({ exitCode: 1, text: expect.stringMatching(/^store\.damaged: /) })
  expect(readFileSync(left, 'utf8')).toBe('old')
})

it.skipIf(!existsSync('/proc/self'))('a folder passes only when a server could store its data there, even for root', async () => {
  const { exitCode, text } = await line.run('--data', '/proc/daybook', 'doctor')
  expect(exitCode).toBe(1)
  expect(text).toMatch(/^✗ data folder +\/proc\/daybook .*ENOENT.*: choose another folder with --data or DAYBOOK_DATA$/m)
  expect(text).not.toContain('trial')
})

it('leaves no folders behind where the data folder did not exist, and no files where it did', async () => {
  const one = join(line.folder, 'one')
  const two = join(one, 'two')
  const three = join(two, 'three')
  expect((await line.run('--data', three, 'doctor')).text).toMatch(/^✓ data folder +\/\S+three \(does not exist yet\)$/m)
  expect(existsSync(one)).toBe(false)
  mkdirSync(two, { recursive: true })
  expect((await line.run('--data', three, 'doctor')).exitCode).toBe(0)
  expect(filesAndFoldersIn(one)).toEqual(['two'])
  writeFileSync(join(two, 'mine'), '')
  expect((await line.run('--data', two, 'doctor')).text).toMatch(/^✓ data folder +\/\S+two$/m)
  expect(filesAndFoldersIn(one)).toEqual(['two', 'two/mine'])
  expect((await line.run('--data', join(two, 'mine', 'x', 'y'), 'doctor')).exitCode).toBe(1)
  expect(filesAndFoldersIn(one)).toEqual(['two', 'two/mine'])
})

it('fails when the existing database can not be written', async () => {
  mkdirSync(join(data(), 'daybook.db'), { recursive: true })
  expect(await line.run('doctor')).toMatchObject({ exitCode: 1, text: expect.stringMatching(/^✗ data folder +.*EISDIR/m) })
})

it('checks only programs that Daybook uses', async () => {
  const names = (await line.run('doctor')).text.split('\n').map((row) => row.slice(2, 18).trim())
  const expected = [
    'Node',
    'node:sqlite',
    'packages',
    'data folder',
    'blobs',
    'port',
    'git',
    'documents',
    'programs',
    'model keys',
    'web search',
    'skills',
    'knowledge',
    'memory search',
    'MCP servers',
  ]
  expect(names).toEqual(expected)
})

it('names the skills, and what is wrong with their files', async () => {
  const row = async () => /^(. skills .*)$/m.exec((await line.run('doctor')).text)?.[1]?.replace(/ +/g, ' ')
  expect(await row()).toBe('✓ skills sk:public.data-analysis, sk:public.report-writing')
  const folder = mkdtempSync(join(tmpdir(), 'skills-'))
  mkdirSync(join(folder, 'bad'))
  writeFileSync(join(folder, 'bad', 'SKILL.md'), 'no front matter')
  line.environment.DAYBOOK_SKILLS = folder
  expect(await row()).toBe(`! skills none: ${folder}/bad/SKILL.md must begin with front matter between two lines ---`)
  rmSync(folder, { recursive: true })
  expect(await row()).toMatch(/^✗ skills settings: the skills can not be read: ENOENT/)
  line.environment.DAYBOOK_SKILLS = 'none'
  expect(await row()).toBe('✓ skills none')
})

it('names the folders of the knowledge base', async () => {
  const row = async () => /^(. knowledge .*)$/m.exec((await line.run('doctor')).text)?.[1]?.replace(/ +/g, ' ')
  expect(await row()).toBe('✓ knowledge none')
  line.environment.DAYBOOK_KNOWLEDGE = `mine=${line.folder}`
  expect(await row()).toBe(`✓ knowledge ks:mine/ is ${line.folder}`)
  line.environment.DAYBOOK_KNOWLEDGE = '/nowhere'
  expect(await row()).toMatch(/^✗ knowledge settings: the knowledge base can not be read: ENOENT/)
})

it('says which search services have a key, and what to set if none has', async () => {
  const row = async () => /^(. web search .*)$/m.exec((await line.run('doctor')).text)?.[1]?.replace(/ +/g, ' ')
  expect(await row()).toBe('! web search no key set: set one of BRAVE_API_KEY, TAVILY_API_KEY, EXA_API_KEY, SERPER_API_KEY, SEARXNG_URL')
  line.environment.SERPER_API_KEY = 'hidden'
  line.environment.TAVILY_API_KEY = 'hidden'
  expect(await row()).toBe('✓ web search tavily, serper')
  line.environment.DAYBOOK_WEB_SEARCH = 'brave'
  expect(await row()).toMatch(/^✗ web search no key: web search with Brave Search needs a key: set BRAVE_API_KEY/)
  expect((await line.run('doctor')).exitCode).toBe(1)
  line.environment.DAYBOOK_WEB_SEARCH = 'auto'
  line.environment.SEARXNG_URL = 'nonsense'
  expect(await row()).toMatch(/^✗ web search the address of SearXNG must be complete/)
})

it('names the key variables of every provider that needs a key, and the models that need none', async () => {
  const { text } = await line.run('doctor')
  const advice = /^! model keys +none set: (.*)$/m.exec(text)?.[1] ?? ''
  expect(advice).toMatch(/^offline, .*\bollama\/….* need no key; /)
  expect(modelKeys.length).toBeGreaterThan(0)
  for (const { provider, variables, required } of modelKeys) {
    if (required) expect(advice).toContain(`${provider}/… needs ${variables.join(' or ')}`)
    else expect(advice.split(' need no key; ')).toEqual([expect.stringContaining(`${provider}/…`), expect.not.stringContaining(provider)])
  }
})

it.each(modelKeys.flatMap(({ variables }) => variables))('recognises a key in %s and does not print it', async (variable) => {
  line.environment[variable] = 'sk-hidden'
  const { text } = await line.run('doctor')
  expect(text).toMatch(new RegExp(`^✓ model keys +${variable} set$`, 'm'))
  expect(text).not.toContain('sk-hidden')
})

it('says whether programs run, what they can use, and otherwise what to install', async () => {
  expect((await line.run('doctor')).text).toMatch(/^✓ programs +off, because of the setting sandbox$/m)
  delete line.environment.DAYBOOK_SANDBOX
  const { exitCode, text } = await line.run('doctor')
  expect(exitCode).toBe(0)
  expect(text).toMatch(
    /^(?:[✓!] programs +on, isolated with bubblewrap: (?:Python \d|JavaScript \d)|! programs +off: .*(?:install|needs|can not))/m,
  )
})

describe('--model', () => {
  const called = { name: 'doctor__echo', input: { word: 'ready' } }
  const rowsOf = (text: string) =>
    text
      .split('\n')
      .filter((row) => row.slice(2).startsWith('model,'))
      .map((row) => row.replace(/ +/g, ' '))

  async function doctor(name: 'anthropic' | 'compatible', script: FakeScript) {
    const provider = await startFakeProvider(name, script)
    line.settings = {}
    Object.assign(line.environment, provider.environment)
    const { exitCode, text } = await line.run(
      'doctor',
      '--model',
      name === 'anthropic' ? 'anthropic/claude-sonnet-5-5' : 'compatible/qwen3',
    )
    await provider.close()
    return { exitCode, rows: rowsOf(text), requests: provider.requests.length }
  }

  it('asks the model once in each dialect, and says which works and which is used', async () => {
    expect(await doctor('anthropic', [reply.call('doctor.echo', { word: 'ready' }), { calls: [called] }])).toEqual({
      exitCode: 0,
      rows: ['✓ model, channels calls tools; this dialect is used', '✓ model, native calls tools'],
      requests: 2,
    })
  })

  it('a model that works only in the other dialect fails, and the setting is named', async () => {
    const { exitCode, rows } = await doctor('compatible', [reply.call('doctor.echo', { word: 'ready' }), 'I can not do that.'])
    expect(exitCode).toBe(1)
    expect(rows).toEqual([
      '✓ model, channels calls tools',
      '✗ model, native answered in words and did not call the tool: set DAYBOOK_DIALECT=channels',
    ])
  })

  it('an error of the provider is shown', async () => {
    const { exitCode, rows } = await doctor('anthropic', [{ error: 'overloaded' }, { error: 'overloaded' }])
    expect(exitCode).toBe(1)
    expect(rows[0]).toBe('✗ model, channels The provider is overloaded. The provider said: Overloaded: choose another model')
  })

  it('a model without a key fails, and the offline model needs no provider', async () => {
    line.settings = {}
    expect((await line.run('doctor', '--model', 'anthropic/claude-sonnet-5-5')).text).toMatch(/^✗ model +.*needs a key/m)
    expect((await line.run('doctor', '--model', 'offline')).text).toMatch(/^✓ model +offline needs no provider/m)
  })
})

it('says how many texts have a vector of the embedding model', async () => {
  expect((await line.run('doctor')).text).toMatch(/^✓ memory search +compares only words; set embedding to also compare meanings$/m)
  line.environment.DAYBOOK_EMBEDDING = 'openai/text-embedding-3-small'
  expect((await line.run('doctor')).text).toMatch(/^! memory search +openai\/text-embedding-3-small needs a key: set OPENAI_API_KEY/m)
  const fake = await startFakeEmbeddings()
  try {
    line.environment.DAYBOOK_EMBEDDING = `compatible/fake@${fake.address}`
    await line.run('run', 'Hello?')
    expect((await line.run('doctor')).text).toMatch(
      /^✓ memory search +compatible\/fake, no vectors yet: a running agent makes them|\d+ of \d+ texts/m,
    )
    const store = await openStore({ data: data() })
    await store.memory?.catchUp()
    const model = (await store.memory?.vectors.choose({ name: 'compatible/fake', dimensions: 64 })) ?? 0
    const [missing] = (await store.memory?.vectors.missing(model, 1)) ?? []
    if (missing) await store.memory?.vectors.save(model, [{ ...missing, vector: new Float32Array(64) }])
    await store.close()
    expect((await line.run('doctor')).text).toMatch(/^✓ memory search +compatible\/fake, [12] of 2 texts have a vector with 64 numbers$/m)
  } finally {
    await fake.close()
  }
})

it.skipIf(!hasPostgres)('says how many texts of a PostgreSQL database have a vector, also without a data folder', async () => {
  const server = await startPostgres()
  const fake = await startFakeEmbeddings()
  try {
    line.environment.DAYBOOK_DATABASE_URL = server.url
    line.environment.DAYBOOK_EMBEDDING = `compatible/fake@${fake.address}`
    expect((await line.run('doctor')).text).toMatch(/^✓ memory search +compatible\/fake, nothing stored yet$/m)
    const store = await openStore({ data: data(), databaseUrl: server.url })
    await writeConversation(store, 'c1', [appended([prompt('a harbour'), completion('a bridge')])])
    await store.memory?.catchUp()
    expect((await line.run('doctor')).text).toMatch(/^✓ memory search +compatible\/fake, no vectors yet: a running agent makes them$/m)
    const model = (await store.memory?.vectors.choose({ name: 'compatible/fake', dimensions: 64 })) ?? 0
    const [missing] = (await store.memory?.vectors.missing(model, 1)) ?? []
    if (missing) await store.memory?.vectors.save(model, [{ ...missing, vector: new Float32Array(64) }])
    await store.close()
    expect((await line.run('doctor')).text).toMatch(/^✓ memory search +compatible\/fake, 1 of 2 texts have a vector with 64 numbers$/m)
    expect(existsSync(data())).toBe(false)
  } finally {
    await fake.close()
    await server.stop()
  }
})

it('starts the MCP servers of the settings and says what they offer, and what is wrong', async () => {
  expect((await line.run('doctor')).text).toMatch(/^✓ MCP servers +none in the settings$/m)
  const script = fileURLToPath(new URL('../../../../test/mcp/servers/scripted-server.mjs', import.meta.url))
  const server = (mode: string) => ({ command: process.execPath, args: [script, JSON.stringify({ mode })] })
  const path = join(line.folder, 'mcp.json')
  line.environment.DAYBOOK_MCP = path
  writeFileSync(path, JSON.stringify({ mcpServers: { demo: server('good') } }))
  expect((await line.run('doctor')).text).toMatch(/^✓ MCP servers +demo \(10 tools\)$/m)
  writeFileSync(path, JSON.stringify({ mcpServers: { demo: server('startcrash') } }))
  expect((await line.run('doctor')).text).toMatch(
    /^! MCP servers +demo \(0 tools\); demo: it ended with the exit code 1: see docs\/mcp\.md$/m,
  )
  writeFileSync(path, '{}')
  const { exitCode, text } = await line.run('doctor')
  expect(exitCode).toBe(1)
  expect(text).toMatch(/^✗ MCP servers +.*must be JSON with an object `mcpServers`$/m)
})
