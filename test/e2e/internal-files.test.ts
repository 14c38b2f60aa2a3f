import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../src/adapters/blobs/memory.ts'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createMemoryStore } from '../../src/adapters/store/memory/store.ts'
import { createClient } from '../../src/client/client.ts'
import type { HostingHandles } from '../../src/ports/hosting.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { bearer, tokenOf } from '../support/hostile/fixture.ts'
import { hostingOn } from '../support/hosting.ts'
import { answered, closeServers, openServer, viewWhen } from '../support/server-fixture.ts'

afterEach(closeServers)

const roles = ['user', 'operator'] as const
type Role = (typeof roles)[number]

const claims = { tenant: 'acme', project: 'main', sub: 'ann' }

/** Runs a turn in which a tool hosts these files itself and declares them. The result has the handles of each file, by its name. */
async function hostFiles(files: Readonly<Record<string, 'internal' | 'external' | 'undeclared' | 'made internal'>>) {
  const clock = createSystemClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const { hosting } = hostingOn(store.blobs)
  const handles = new Map<string, HostingHandles>()
  const tool = defineTool({
    id: 'sample.host',
    description: 'Hosts files.',
    params: z.object({}),
    async run(_, { origin: { turnId, ts }, scope: owner }) {
      const rows: object[] = []
      for (const [filename, visibility] of Object.entries(files)) {
        const content = Buffer.from(`bytes of ${filename}`)
        const file = { owner, conversationId: 'c1', turnId, stage: 'file', mime: 'text/plain', ts, content } as const
        const hosted = await hosting.host({ ...file, physicalPath: `${turnId}/files/${filename}` })
        handles.set(filename, hosted)
        if (visibility === 'made internal') rows.push({ filename, visibility: 'external', rn: hosted.rn })
        const declared = visibility === 'made internal' ? 'internal' : visibility
        if (visibility !== 'undeclared') rows.push({ filename, visibility: declared, rn: hosted.rn })
      }
      return { ok: true, ret: { artifact_type: 'files', files: rows } }
    },
  })
  // what the agent reads gets further blocks with the name of the file
  const reads = ['report.md', 'sums.txt', 'plan.txt', 'notes.txt'].flatMap((name) => [
    (request: ModelRequest) => reply.call('react.read', { paths: [pathIn(request, name)] }),
    (request: ModelRequest) =>
      reply.call('react.read', { paths: [], items: [{ path: pathIn(request, name), offset_text_symbols: 2, max_text_symbols: 4 }] }),
  ])
  const attach = { path: 'files/report.md', channel: 'canvas', content: 'bytes of report.md', kind: 'file' }
  const { server } = await openServer({
    clock,
    store,
    hosting,
    tools: [tool],
    replies: [reply.call('sample.host', {}), reply.call('react.write', attach), ...reads, reply.answer('Done.')],
    server: { auth: bearer },
  })
  const tokens = { user: tokenOf(claims), operator: tokenOf({ ...claims, roles: ['operator'] }) }
  const fetchAs = (role: Role, path: string, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, { ...init, headers: { authorization: `Bearer ${tokens[role]}`, ...init.headers } })
  const download = (role: Role, handle: string, init: RequestInit = {}) =>
    fetchAs(role, `/v1/resources/${encodeURIComponent(handle)}`, init)
  const client = createClient({ baseUrl: server.url, token: tokens.user })
  await client.conversations.create({ id: 'c1', title: 'Files' })
  await client.send('c1', 'Go.', { files: [{ name: 'notes.txt', content: new Blob(['bytes of notes.txt']) }] })
  await viewWhen(client, 'c1', answered)
  return { fetchAs, download, client, handles, hosting }
}

const pathIn = (request: ModelRequest, name: string) =>
  new RegExp(`fi:[\\w-]+\\.\\w+/${name}`).exec(JSON.stringify(request))?.[0] ?? `fi:none.files/${name}`

it('users download the files that they see, by any handle; only operators download internal ones', async () => {
  const { download, client, handles } = await hostFiles({
    'plan.txt': 'internal',
    'sums.txt': 'external',
    'draft.txt': 'undeclared',
    'old.txt': 'made internal',
  })
  const { files } = await client.files('c1')
  const seen = files.filter(({ filename }) => filename !== 'old.txt')
  expect(seen.map(({ filename }) => filename).sort()).toEqual(['notes.txt', 'report.md', 'sums.txt'])
  for (const { rn, filename } of seen) expect(await (await download('user', rn)).text()).toBe(`bytes of ${filename}`)

  for (const name of ['plan.txt', 'draft.txt', 'old.txt']) {
    const { rn, key, hosted_uri, blob } = handles.get(name) as HostingHandles
    for (const handle of [rn, key, hosted_uri]) {
      const refused = await download('user', handle)
      expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'resource.missing' }])
      expect(await (await download('operator', handle)).text()).toBe(`bytes of ${name}`)
    }
    const tag = `"${blob.sha256}"`
    const attempts = [
      { method: 'HEAD' },
      { headers: { range: 'bytes=0-3' } },
      { headers: { 'if-none-match': tag } },
      { headers: { 'if-match': '"x"' } },
    ]
    for (const attempt of attempts) {
      const refused = await download('user', rn, attempt)
      expect([refused.status, refused.headers.get('etag')]).toEqual([404, null])
    }
  }
})

it('the same holds in a fork of the conversation', async () => {
  const { download, client } = await hostFiles({ 'plan.txt': 'internal', 'sums.txt': 'external' })
  await client.conversations.fork('c1', { id: 'c2' })
  const { files } = await client.files('c2')
  expect(files.map(({ filename }) => filename)).toContain('report.md')
  for (const { rn, filename } of files) expect(await (await download('user', rn)).text()).toBe(`bytes of ${filename}`)
})

it('metrics are for operators', async () => {
  const { fetchAs } = await hostFiles({})
  expect(await (await fetchAs('operator', '/metrics')).text()).toContain('daybook_requests_total')
  const refused = await fetchAs('user', '/metrics')
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'role.refused' }])
})

it('users can use a conversation with the name "import"; only an import needs an operator', async () => {
  const { fetchAs, client } = await hostFiles({})
  await client.conversations.create({ id: 'import' })
  expect(await client.conversations.get('import')).toMatchObject({ id: 'import' })
  expect(await client.conversations.change('import', { title: 'Rome' })).toMatchObject({ title: 'Rome' })
  await client.conversations.delete('import')
  const json = { 'content-type': 'application/json' }
  expect((await fetchAs('user', '/v1/conversations/import', { method: 'POST', headers: json, body: '{}' })).status).toBe(403)
})
