import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterAll, describe, expect, it } from 'vitest'
import { startS3 } from '../../test/support/s3-server.ts'
import { createS3Objects } from '../adapters/hosting/s3-objects.ts'
import { effectiveSettings, environmentLayer } from '../config/config.ts'
import type { Settings } from '../config/settings.ts'
import { newerNodeText } from '../core/failure.ts'
import { localScope } from '../core/scope.ts'
import { createTestJournal, publishTurn, relsOf } from '../testing/conformance/workspace/fixture.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { openAgent } from './open-agent.ts'
import { checkSandbox } from './sandbox.ts'
import { openWorkspaces } from './storage.ts'
import { openStore } from './store.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-wiring-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const newFolder = () => mkdtempSync(join(root, 'd-'))
const settingsFrom = (environment: Readonly<Record<string, string>>): Settings =>
  effectiveSettings([environmentLayer(environment)]).settings

describe('a Node that is too old', () => {
  const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })"
  const expected = `daybook needs Node 24 or newer; this is v20.20.2: ${newerNodeText}`

  it.each(["createAgent({ model: 'offline' })", "await openStore({ store: 'memory' })"])('is refused by %s', (call) => {
    const program = `${old}
      const { createAgent, openStore } = await import('./src/index.ts')
      try { ${call} } catch (error) { console.log(error.message) }`
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })).toBe(`${expected}\n`)
  })
})

describe('workspaces on disk', () => {
  it.each(['custom', 'git'] as const)('are of the kind that the settings name: %s', async (kind) => {
    const remote = join(mkdtempSync(join(root, 'o-')), 'origin.git')
    execFileSync('git', ['init', '--quiet', '--bare', remote])
    const settings = settingsFrom({ DAYBOOK_DATA: newFolder(), DAYBOOK_WORKSPACE: kind, DAYBOOK_WORKSPACE_REMOTE: remote })
    const store = await openStore(settings)
    const workspaces = await openWorkspaces(settings, store.blobs)
    expect(workspaces.implementation).toBe(kind)
    const [workspace, journal] = [await workspaces.open(localScope, 'c1'), createTestJournal()]
    await publishTurn(workspace, 'turn_1', journal, { 'app/a': '1' })
    expect(await relsOf(await (await openWorkspaces(settings, store.blobs)).open(localScope, 'c1'), 'turn_1', journal)).toEqual(['app/a'])
    await store.close()
  })

  it.each(['custom', 'git'] as const)('are removed however deep a program has nested folders: %s', async (kind) => {
    const settings = settingsFrom({ DAYBOOK_DATA: newFolder(), DAYBOOK_WORKSPACE: kind })
    const store = await openStore(settings)
    const workspaces = await openWorkspaces(settings, store.blobs)
    const journal = createTestJournal()
    await publishTurn(await workspaces.open(localScope, 'c1'), 'turn_1', journal, { 'app/a': '1' })
    const home = join(settings.data, 'workspaces/local/default/local/c1')
    const folder = join(home, 'out/workdir/turn_1/files/app')
    const name = 'd'.repeat(250) // a path of 20 such names is longer than the longest path that the system allows
    execFileSync('sh', ['-c', `for i in $(seq 20); do mkdir ${name}; cd ${name}; done; echo x > file`], { cwd: folder })
    await workspaces.remove(localScope, 'c1')
    expect(existsSync(home)).toBe(false)
    await store.close()
  })
})

describe('a bucket of S3', () => {
  it('stores the blobs of an SQLite store', async () => {
    const s3 = await startS3(newFolder())
    try {
      const { bucket, endpoint = '', accessKeyId, secretAccessKey } = s3.options
      const data = newFolder()
      const variables = {
        DAYBOOK_S3_BUCKET: bucket,
        DAYBOOK_S3_ENDPOINT: endpoint,
        DAYBOOK_S3_PREFIX: 'team',
        DAYBOOK_S3_ACCESS_KEY_ID: accessKeyId,
        DAYBOOK_S3_SECRET_ACCESS_KEY: secretAccessKey,
      }
      const settings = { ...settingsFrom({ DAYBOOK_DATA: data, ...variables }), model: scriptedModel([reply.answer('Read.')]) }
      const { agent, close } = await openAgent(settings)
      const attachments = [{ name: 'notes.txt', content: new TextEncoder().encode('Costs were 7.') }]
      expect(await agent.run('c1', 'Costs?', { attachments }).result).toMatchObject({ answer: 'Read.' })
      await close()
      expect(existsSync(join(data, 'blobs'))).toBe(false)
      expect(existsSync(join(data, 'hosted'))).toBe(false)
      const keys: string[] = []
      for await (const key of createS3Objects({ ...s3.options, prefix: 'team' }).list('daybook')) keys.push(key)
      expect(keys.length).toBeGreaterThan(0)
    } finally {
      await s3.stop()
    }
  })

  it.each([
    [{ DAYBOOK_S3_BUCKET: 'b' }, 'DAYBOOK_S3_ACCESS_KEY_ID'],
    [{ DAYBOOK_S3_ACCESS_KEY_ID: 'a' }, 'DAYBOOK_S3_BUCKET'],
  ])('says what is missing: %o', async (variables, missing) => {
    await expect(openStore(settingsFrom({ DAYBOOK_DATA: newFolder(), ...variables }))).rejects.toThrow(missing)
  })
})

describe('store=memory', () => {
  it('runs an agent that writes nothing to disk', async () => {
    const data = join(newFolder(), 'data')
    const settings = { ...settingsFrom({ DAYBOOK_DATA: data, DAYBOOK_STORE: 'memory' }), model: scriptedModel([reply.answer('Read.')]) }
    const { agent, close } = await openAgent(settings)
    const attachments = [{ name: 'notes.txt', content: new TextEncoder().encode('Costs were 7.') }]
    const turn = agent.run('c1', 'Costs?', { attachments })
    expect(await turn.result).toMatchObject({ answer: 'Read.' })
    expect((await agent.archive.list({ limit: 10 })).conversations).toHaveLength(1)
    await close()
    expect(existsSync(data)).toBe(false)
  })

  it('can not be combined with workspaces in git', async () => {
    const settings = settingsFrom({ DAYBOOK_STORE: 'memory', DAYBOOK_WORKSPACE: 'git' })
    const store = await openStore(settings)
    await expect(openWorkspaces(settings, store.blobs)).rejects.toThrow('set store=sqlite, or workspace=custom')
  })
})

it.each(['rough', 'o200k'])('tokenCounter=%s decides how prompts are estimated', async (tokenCounter) => {
  const model = scriptedModel([reply.answer('Counted.')])
  const settings = { ...settingsFrom({ DAYBOOK_STORE: 'memory', DAYBOOK_TOKEN_COUNTER: tokenCounter }), model }
  const { agent, close } = await openAgent(settings)
  await agent.run('c1', 'word '.repeat(400)).result
  const { parts } = await agent.archive.prompt('c1', (await agent.archive.timeline('c1')).turn_ids[0] ?? '', 0)
  const tokens = parts.find(({ text }) => text?.includes('word word'))?.tokens ?? 0
  await close()
  if (tokenCounter === 'rough')
    expect(tokens).toBeGreaterThan(500) // the text has 2,000 characters, and four characters count as one token
  else expect(tokens).toBeLessThan(450) // the encoding needs about one token per word
})

describe('programs', () => {
  const catalog = async (variables: Record<string, string>) => {
    const model = scriptedModel([reply.answer('Done.')])
    const { agent, close } = await openAgent({ ...settingsFrom({ DAYBOOK_STORE: 'memory', ...variables }), model })
    await agent.run('c1', 'Go.').result
    await close()
    return model.requests.find(({ role }) => role === 'decision')?.system ?? ''
  }

  it('can be switched off', async () => expect(await catalog({ DAYBOOK_SANDBOX: 'off' })).not.toContain('execute_code'))

  it('are offered to the model exactly if this machine can isolate them, with the limits of the settings', async () => {
    const settings = settingsFrom({ DAYBOOK_PROGRAMS_SECONDS: '77', DAYBOOK_PROGRAMS_MEMORY_MB: '64', DAYBOOK_PROGRAMS_DISK_MB: '32' })
    const { sandbox } = await checkSandbox(settings)
    const text = await catalog({ DAYBOOK_PROGRAMS_SECONDS: '77' })
    expect(text.includes('exec_tools.execute_code_')).toBe(sandbox !== undefined)
    if (!sandbox) return
    expect(text).toContain('seconds, 77 if not given, at most 77')
    expect(sandbox.limits).toMatchObject({
      defaultSeconds: 77,
      maxSeconds: 77,
      memoryBytes: 2 ** 26,
      newBytes: 2 ** 25,
      fileBytes: 2 ** 25,
    })
  })
})

it('telemetry=opentelemetry makes spans with the provider that the program has registered', async () => {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  try {
    for (const telemetry of ['off', 'opentelemetry']) {
      const model = scriptedModel([reply.answer('Traced.')])
      const settings = settingsFrom({ DAYBOOK_STORE: 'memory', DAYBOOK_SANDBOX: 'off', DAYBOOK_TELEMETRY: telemetry })
      const { agent, close } = await openAgent({ ...settings, model })
      await agent.run('c1', 'Hello.').result
      await close()
      expect(exporter.getFinishedSpans().some(({ name }) => name === 'invoke_agent daybook')).toBe(telemetry === 'opentelemetry')
    }
  } finally {
    trace.disable()
  }
})
