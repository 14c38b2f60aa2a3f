import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { createFileBlobs } from '../adapters/blobs/file.ts'
import { createDiskFiles } from '../adapters/files/disk.ts'
import { createFileObjects } from '../adapters/hosting/file-objects.ts'
import { createHosting } from '../adapters/hosting/hosting.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import { createCustomWorkspaces } from '../adapters/workspace/custom/custom.ts'
import { Failure } from '../core/failure.ts'
import { LEASE_MS } from '../ports/store.ts'
import { owner } from '../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../testing/fixed-clock.ts'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import { defineTool } from '../tools/define.ts'
import type { Call } from '../tools/tool.ts'

const root = mkdtempSync(join(tmpdir(), 'daybook-deletion-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** All files below a folder, except drafts. */
const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)

/** An agent with its blobs, workspaces and hosted files in a folder. Its tool `slow.make` runs `work`. */
function agentOnDisk(work: (call: Call) => Promise<unknown>) {
  const folder = mkdtempSync(join(root, 'agent-'))
  const clock = createFixedClock()
  const blobs = createFileBlobs({ folder: join(folder, 'blobs') })
  const store = createMemoryStore({ blobs, clock })
  const workspaces = createCustomWorkspaces({
    blobs,
    openFiles: (name) => createDiskFiles({ folder: join(folder, 'workspaces', name) }),
    removeFiles: async (name) => rmSync(join(folder, 'workspaces', name), { recursive: true, force: true }),
  })
  const hosting = createHosting({ objects: createFileObjects({ files: createDiskFiles({ folder: join(folder, 'hosted') }) }), blobs })
  const slow = defineTool({ id: 'slow.make', description: 'Makes a file.', params: z.object({}), run: (_, call) => work(call) })
  const replies = [
    reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: 'the report\n', kind: 'file' }),
    reply.call('slow.make', {}),
    reply.answer('Done.'),
  ]
  const harness = createHarness({ replies, clock, store, workspaces, hosting, tools: [slow], settings: { stopGraceMs: 20 } })
  return { ...harness, folder }
}

it('deletes a conversation during a turn: stops the turn, and a tool that does not stop brings nothing back', async () => {
  const started = Promise.withResolvers<void>()
  const late = Promise.withResolvers<unknown>()
  const deleted = Promise.withResolvers<void>()
  const { agent, store, folder } = agentOnDisk(async (call) => {
    const { files } = await call.workspace()
    started.resolve()
    await deleted.promise
    const attempts = await Promise.allSettled([
      files.write(`${call.origin.turnId}/files/late.txt`, Buffer.from('late')),
      call.workspace().then((workspace) => workspace.files.write(`${call.origin.turnId}/files/later.txt`, Buffer.from('later'))),
      call.blobs.put(Buffer.from('a late blob')),
    ])
    late.resolve(attempts.map(({ status }) => status))
    return 'too late'
  })
  const turn = agent.run('c1', 'go')
  await started.promise
  expect(filesBelow(folder).length).toBeGreaterThan(0)
  await agent.archive.delete('c1')
  expect(await store.head('c1')).toBeUndefined()
  deleted.resolve()
  expect(await late.promise).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await turn.result).toMatchObject({ exitReason: 'cancelled' })
  await sleep(50)
  expect(filesBelow(folder)).toEqual([])
  expect(await store.head('c1')).toBeUndefined()
  await agent.close()
})

it('a tool that makes a file while its conversation is deleted leaves neither the file nor its blob', async () => {
  const started = Promise.withResolvers<void>()
  const { agent, folder } = agentOnDisk(async (call) => {
    await call.blobs.put(Buffer.from('of the tool'))
    started.resolve()
    await sleep(5)
    const { files } = await call.workspace()
    await files.write(`${call.origin.turnId}/outputs/made.txt`, Buffer.from('made'))
    const file = { filename: `${call.origin.turnId}/outputs/made.txt`, description: 'made', visibility: 'external' }
    return { artifact_type: 'files', files: [file] }
  })
  const turn = agent.run('c1', 'go')
  await started.promise
  await agent.archive.delete('c1')
  await turn.result
  await sleep(50)
  expect(filesBelow(folder)).toEqual([])
  await agent.close()
})

it('a message that arrives during a deletion is refused, and does not create the conversation again', async () => {
  const started = Promise.withResolvers<void>()
  const { agent, store } = agentOnDisk(async (call) => {
    started.resolve()
    await new Promise((resolve) => call.signal.addEventListener('abort', resolve))
    return 'stopped'
  })
  agent.run('c1', 'go').result.catch(() => {})
  await started.promise
  const [deletion, message] = await Promise.allSettled([agent.archive.delete('c1'), agent.send('c1', 'more')])
  expect(deletion.status).toBe('fulfilled')
  expect(message).toMatchObject({ status: 'rejected', reason: { code: 'conversation.missing' } })
  expect(await store.head('c1')).toBeUndefined()
  await agent.close()
})

it('does not delete a conversation that another owner holds, even if no turn is open', async () => {
  const { agent, store } = createHarness({ replies: [] })
  await agent.archive.create('c1', 'Kept')
  await store.claim('c1', owner('other'))
  await expect(agent.archive.delete('c1')).rejects.toMatchObject({ code: 'conversation.busy' })
  expect(await agent.archive.head('c1')).toMatchObject({ title: 'Kept' })
})

it('a deletion that fails midway is finished by the next delete, by create, by recover and by retain', async () => {
  for (const finish of ['delete', 'create', 'recover', 'retain'] as const) {
    const { agent, store, workspaces, folder } = agentOnDisk(async () => 'made')
    await agent.run('c1', 'go').result
    const failing = { ...workspaces, remove: () => Promise.reject(new Failure('workspace.failed', 'the disk is gone')) }
    const broken = createHarness({ replies: [], store, workspaces: failing }).agent
    await expect(broken.archive.delete('c1')).rejects.toMatchObject({ code: 'workspace.failed' })
    expect(await store.head('c1')).toBeUndefined()
    expect((await store.list({})).conversations).toEqual([])
    await expect(broken.run('c1', 'again').result).rejects.toMatchObject({ code: 'conversation.busy' })
    if (finish === 'delete') await agent.archive.delete('c1')
    if (finish === 'create') await agent.archive.create('c1')
    if (finish === 'recover') await agent.recover()
    if (finish === 'retain') await agent.archive.retain({})
    expect(filesBelow(folder)).toEqual([])
    await expect(
      agent.archive.head('c1').then(
        () => 'there',
        () => 'gone',
      ),
    ).resolves.toBe(finish === 'create' ? 'there' : 'gone')
    await agent.close()
  }
})

it('retain deletes the files of idle conversations too', async () => {
  const { agent, folder, clock } = agentOnDisk(async () => 'made')
  await agent.run('c1', 'go').result
  clock.advance(60_000)
  expect(await agent.archive.retain({ conversationsIdleSince: clock.now() })).toMatchObject({ conversations: 1 })
  expect(filesBelow(folder)).toEqual([])
  await agent.close()
})

it('a turn whose conversation another process has deleted is cancelled, and the files that it has written since are removed', async () => {
  const deleted = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const { agent, store, folder, clock } = agentOnDisk(async (call) => {
    started.resolve()
    await deleted.promise
    const { files } = await call.workspace()
    await files.write(`${call.origin.turnId}/files/late.txt`, Buffer.from('late'))
    return 'too late'
  })
  const turn = agent.run('c1', 'go')
  await started.promise
  clock.advance(LEASE_MS) // the process was suspended, and its lease has expired
  await store.delete('c1', { owner: owner('other') })
  deleted.resolve()
  expect(await turn.result).toMatchObject({ exitReason: 'cancelled' })
  expect(filesBelow(join(folder, 'workspaces'))).toEqual([])
  expect(filesBelow(join(folder, 'hosted'))).toEqual([])
  await agent.close()
})
