import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createCustomWorkspaces } from '../../src/adapters/workspace/custom/custom.ts'
import { createGitWorkspaces } from '../../src/adapters/workspace/git/git.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { countAttempts } from '../support/attacks/count.ts'
import { bearer, tokenOf } from '../support/hostile/fixture.ts'
import { hostingOn } from '../support/hosting.ts'
import { leavingTool } from '../support/scenario-tools.ts'
import { answered, closeServers, openServer, viewWhen } from '../support/server-fixture.ts'
import { openFolderStore, openTestStore } from '../support/stores.ts'
import { foldersOnDisk } from '../support/workspace-folders.ts'

const folder = mkdtempSync(join(tmpdir(), 'daybook-foreign-'))
afterEach(closeServers)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const secret = 'MARZIPAN, which only Ann may read'
const published = 'OBSIDIAN, in a file of her workspace'
const refTo = (text: string) => ({ sha256: createHash('sha256').update(text).digest('hex'), size: Buffer.byteLength(text) })
const fetched = refTo(secret)
const left = refTo(published)

const clock = createSystemClock()
const systems = {
  'a store of one process, and custom': async () => {
    const store = await openTestStore({ clock })
    return { store, workspaces: createCustomWorkspaces({ ...foldersOnDisk(mkdtempSync(join(folder, 'w-'))), blobs: store.blobs }) }
  },
  'a store of a folder, and git': async () => {
    const root = mkdtempSync(join(folder, 'w-'))
    const store = await openFolderStore(folder, { clock })
    return { store, workspaces: createGitWorkspaces({ ...foldersOnDisk(root), root, blobs: store.blobs }) }
  },
}

const block = (number: number, more: object) => ({
  ...{ id: `b_${number}`, type: 'user.attachment', author: 'user', turn_id: 'turn_1', ts: '2026-01-01T00:00:00Z', mime: 'text/plain' },
  ...more,
})
const bundle = (blocks: readonly object[], more: object = {}) => ({
  format: 'daybook.bundle',
  version: 1,
  conversation_id: 'c',
  timeline: { version: 1, blocks },
  sources_pool: { sources_pool: [], next_sid: 1 },
  turn_logs: [{ turn_id: 'turn_1', ts: '2026-01-01T00:00:00Z', end_ts: '2026-01-01T00:00:01Z', blocks }],
  archive: [],
  blobs: {},
  ...more,
})
const file = { path: 'fi:turn_1.user.attachments/a.txt' }
const publish = (manifest: unknown, more: object = {}) =>
  block(1, {
    type: 'react.workspace.publish',
    author: 'agent',
    path: 'ar:turn_1.react.workspace.publish',
    mime: 'application/json',
    text: JSON.stringify({ status: 'published', workspace_implementation: 'custom', turn_id: 'turn_1', manifest, ...more }),
  })
const manifest = (more: object = {}) => ({ depth: 0, weight: 1, files: { 'a.txt': { ...left, ...more } } })

/** References to Ann's bytes, wherever a bundle can have one. The bytes themselves are not in the bundle. */
const attempts: Readonly<Record<string, object>> = {
  'the blob of a block': bundle([block(1, { ...file, blob: fetched })]),
  'the blob of a block in the archive': bundle([], { archive: [block(1, { ...file, blob: fetched })], turn_logs: [] }),
  'the blob of a block with bytes of its own': bundle([block(1, { ...file, blob: fetched, base64: btoa('mine') })]),
  'kept blobs of a block': bundle([block(1, { ...file, text: 'x', meta: { keeps: [fetched] } })]),
  'kept blobs that the bundle has with other bytes': bundle([block(1, { ...file, meta: { keeps: [fetched] } })], {
    blobs: { [fetched.sha256]: btoa('mine') },
  }),
  'a blob with no bytes': bundle([block(1, { ...file, blob: { ...fetched, size: 0 } })], { blobs: { [fetched.sha256]: '' } }),
  'a payload without blobs': { version: 1, blocks: [block(1, { ...file, blob: fetched })] },
  'the mark of a long text in meta': bundle([block(1, { ...file, text: 'x', meta: { payload: { $blob: fetched } } })]),
  'the mark of a long text in a payload': bundle([block(1, { ...file, text: 'x', payload: { $blob: fetched } })]),
  'the mark of a long text in a source': bundle([], {
    sources_pool: { sources_pool: [{ sid: 1, url: 'https://x.test', content: { $blob: fetched }, note: { $blob: fetched } }], next_sid: 2 },
  }),
  'a manifest': bundle([publish(manifest())]),
  'a manifest of a recorded file': bundle([publish(manifest({ recorded: 'turn_1' }))]),
  'a manifest that is a blob': bundle([publish(left)]),
  'a manifest with a parent': bundle([publish({ ...manifest(), parent: 'turn_1' })]),
  'a version in git': bundle([
    publish(undefined, {
      workspace_implementation: 'git',
      version_ref: 'refs/daybook/versions/acme/main/ann/plans/turn_1',
      commit_sha: 'a'.repeat(40),
    }),
  ]),
}

/** Everything that Eve can learn of a conversation: all views, and what the model reads when she asks for the files. */
async function readEverything(eve: Client, id: string): Promise<string> {
  const { files } = await eve.files(id)
  const resources = await Promise.all(files.map(({ rn }) => eve.resource(rn).then((content) => content.text())))
  return JSON.stringify([await eve.timeline(id), await eve.conversations.export(id), await eve.sources(id), files, resources])
}

it.for(Object.entries(systems))(
  'a hash in a bundle gives no access to the bytes of another tenant: %s',
  async ([, createSystem], context) => {
    countAttempts(context, Object.keys(attempts).length)
    const { store, workspaces } = await createSystem()
    const read = (path: string) => reply.call('react.read', { paths: [path] })
    const asking = [
      read(file.path),
      read('fi:turn_1.files/a.txt'),
      reply.call('react.pull', { paths: ['fi:turn_1.files'] }),
      reply.call('react.checkout', { mode: 'replace', paths: ['fi:turn_1.files'] }),
      reply.answer('Done.'),
    ]
    const replies = [
      reply.call('sample.leave', { files: { 'a.txt': published } }),
      reply.answer('Kept.'),
      ...Object.keys(attempts).flatMap(() => asking),
    ]
    const model = scriptedModel(replies)
    const { server, lines } = await openServer({
      store,
      workspaces,
      model,
      hosting: hostingOn(store.blobs).hosting,
      tools: [leavingTool()],
      server: { auth: bearer },
    })
    const client = (tenant: string) =>
      createClient({ baseUrl: server.url, token: tokenOf({ tenant, project: 'main', sub: 'x', roles: ['operator'] }) })
    const [ann, eve] = [client('acme'), client('rival')]
    await ann.conversations.create({ id: 'plans', title: 'Plans' })
    await ann.send('plans', 'keep this', {
      files: [secret, published].map((text, index) => ({ name: `${index}.txt`, content: new Blob([text]) })),
    })
    await viewWhen(ann, 'plans', answered)
    for (const { sha256 } of [fetched, left]) expect(await store.blobs.has(sha256)).toBe(true) // the attack is possible
    const before = model.requests.length

    let imported = 0
    for (const [index, attempt] of Object.values(attempts).entries()) {
      const id = `c${index}`
      const outcome = await eve.conversations.import(attempt, id).catch((error: unknown) => error)
      if (outcome instanceof Error) {
        expect(outcome).toMatchObject({ status: 422, code: 'bundle.invalid' })
        continue
      }
      imported++
      await eve.send(id, 'Show me the files.')
      await viewWhen(eve, id, ({ turns }) => turns.some(({ answers }) => answers.some(({ text }) => text === 'Done.')))
      expect(await readEverything(eve, id)).not.toMatch(/MARZIPAN|OBSIDIAN/)
      await eve.conversations.fork(id, { id: `${id}-fork` })
      expect(await readEverything(eve, `${id}-fork`)).not.toMatch(/MARZIPAN|OBSIDIAN/)
    }
    expect(imported).toBeGreaterThan(4)
    expect(JSON.stringify(model.requests.slice(before))).not.toMatch(/MARZIPAN|OBSIDIAN/)
    expect(JSON.stringify(model.requests.slice(before))).toContain('Show me the files.')
    expect(lines.join('\n')).not.toMatch(/MARZIPAN|OBSIDIAN/)
  },
)
