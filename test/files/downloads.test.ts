import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createAgent, openStore } from '../../src/index.ts'
import type { ConversationStore } from '../../src/ports/store.ts'
import { createHandler } from '../../src/server/index.ts'
import { reply, scriptedModel } from '../../src/testing/index.ts'

const folder = await mkdtemp(join(tmpdir(), 'daybook-downloads-'))
afterAll(() => rm(folder, { recursive: true }))

const replies = [
  reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: 'Rain in May', kind: 'file' }),
  reply.answer('The report is ready.'),
]
const openAgent = (store?: ConversationStore) => createAgent({ model: scriptedModel(replies), ...(store && { store }) })

/** The response of a server of the agent for the file with this handle. */
async function download(agent: ReturnType<typeof openAgent>, rn: string): Promise<Response> {
  const handler = createHandler(agent, { recover: false })
  return handler(new Request(`http://localhost/v1/resources/${encodeURIComponent(rn)}`, { headers: { host: 'localhost' } }))
}

it.each([
  ['of a folder', () => openStore({ data: join(folder, 'one') })],
  ['in memory', () => openStore({ data: join(folder, 'unused'), store: 'memory' })],
  ['that createAgent makes', () => undefined],
])('users can download the files of an agent with the store %s, and not after the conversation was deleted', async (_, open) => {
  const store = await open()
  const agent = openAgent(store)
  const { files } = await agent.run('rain', 'Write a report.').result
  const rn = files[0]?.rn ?? ''
  expect(files).toMatchObject([{ filename: 'report.md', rn: expect.stringContaining('report.md') }])
  expect(await (await download(agent, rn)).text()).toBe('Rain in May')

  await agent.archive.delete('rain')
  expect((await download(agent, rn)).status).toBe(404)
  await agent.close()
  await store?.close()
})

it('another process on the same folder finds the files', async () => {
  const first = await openStore({ data: join(folder, 'two') })
  const agent = openAgent(first)
  const [file] = (await agent.run('rain', 'Write a report.').result).files
  await agent.close()
  await first.close()

  const second = await openStore({ data: join(folder, 'two') })
  const other = openAgent(second)
  expect(await (await download(other, file?.rn ?? '')).text()).toBe('Rain in May')
  await other.close()
  await second.close()
})

it('a store of the application has no place for files, unless the application names one', async () => {
  const { createMemoryStore } = await import('../../src/adapters/store/memory/store.ts')
  const { createMemoryBlobs } = await import('../../src/adapters/blobs/memory.ts')
  const { createSystemClock } = await import('../../src/adapters/clock/system.ts')
  const agent = openAgent(createMemoryStore({ blobs: createMemoryBlobs(), clock: createSystemClock() }))
  const [file] = (await agent.run('rain', 'Write a report.').result).files
  expect(file?.rn).toBeUndefined()
  await agent.close()
})
