import { mkdirSync } from 'node:fs'
import { z } from 'zod'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { childKey, conversationKey, type Scope } from '../../src/core/scope.ts'
import { budgetName } from '../../src/core/shared-budget.ts'
import { prompt } from '../../src/testing/blocks.ts'
import { appended, owner } from '../../src/testing/conformance/store/fixture.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { openStorage, openWorkspaces, type StoreSettings } from '../../src/wiring/storage.ts'

/** A text that occurs in all data of the user who is deleted, and nowhere else. */
export const marker = 'zimtstern-7304'
export const doomed: Scope = { tenant: 'umbrella', project: 'web', user: `ann-${marker}` }
export const other: Scope = { tenant: 'acme', project: 'web', user: 'bob' }
const shared = `The same in conversations of both users. ${'ab'.repeat(6_000)}`

/** An agent with the storage of the settings. Its tool `mail.send` asks for an approval, and `wait.until` runs until it is stopped. */
export async function openPlanted(settings: StoreSettings, replies: readonly string[] = [], onRunning: () => void = () => {}) {
  mkdirSync(settings.data, { recursive: true })
  const { store, hosting } = await openStorage(settings)
  const workspaces = await openWorkspaces(settings, store.blobs)
  const clock = createSystemClock()
  const send = defineTool({
    id: 'mail.send',
    description: 'Sends a mail.',
    params: z.object({ text: z.string() }),
    approval: true,
    run: async () => 'sent',
  })
  const wait = defineTool({
    id: 'wait.until',
    description: 'Waits.',
    params: z.object({}),
    async run(_, { signal }) {
      onRunning()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return 'stopped'
    },
  })
  const agent = createAgentFrom({ model: scriptedModel(replies), store, clock, workspaces, hosting, tools: [send, wait] })
  const close = async () => {
    await agent.close()
    await store.close()
  }
  return { agent, store, close }
}

const writes = (text: string) => [
  reply.call('react.write', { path: `files/${text}.md`, channel: 'canvas', content: `${text}\n`, kind: 'file' }),
  reply.call('react.write', { path: `outputs/${text}.txt`, channel: 'canvas', content: shared, kind: 'file' }),
  reply.answer(`Done: ${text}`),
  reply.call('mail.send', { text: `mail of ${text}` }),
]

/** Makes conversations of two users with data of every kind: files, a wait, offers, schedules, a sub-agent, an index with vectors. */
export async function plant(settings: StoreSettings): Promise<void> {
  const { agent, store, close } = await openPlanted(settings, [...writes(marker), ...writes('kept')])
  for (const [scope, text] of [
    [doomed, marker],
    [other, 'kept'],
  ] as const) {
    const key = (name: string) => conversationKey(scope, `${name}-${text}`)
    await agent.archive.create(key('files'), `About ${text}`)
    const attachments = [
      { name: `${text}.txt`, content: `${text} in a file` },
      { name: 'same.txt', content: shared },
    ]
    await agent.run(key('files'), `${text} ${`${text} `.repeat(2_000)}`, { attachments }).result
    await agent.archive.rename(key('files'), `${text} renamed`)
    await agent.run(key('waits'), `send a mail about ${text}`).result
    await agent.schedule(key('files'), `later ${text}`, { every: 86_400, scheduleId: `daily-${text}` })
    await store.budgets?.setLimits(budgetName('user', key('files')), { tokens: 1_000 })
    await store.budgets?.setLimits(budgetName('conversation', key('files')), { tokens: 1_000 })
    await agent.archive.create(key('offers'), `Offers ${text}`)
    await store.offer(key('offers'), { event_id: `event-${text}`, kind: 'external', ts: '2030-01-01T00:00:00.000Z', text: `alert ${text}` })
    const claim = await store.claim(childKey(key('files'), '1'), owner('sub-agent'))
    await store.append(claim, [appended([prompt(`asked by ${text}`)])])
    await store.release(claim)
  }
  for (let served = 0; served < 2; served++) {
    const { claim } = await store.work.claimNext(owner('worker'), { maxAttempts: 5 }) // the store notes when a tenant was served
    if (claim) await store.release(claim)
  }
  await addVectors(store)
  await close()
}

async function addVectors({ memory }: Awaited<ReturnType<typeof openPlanted>>['store']): Promise<void> {
  if (!memory) return
  await memory.catchUp()
  const model = await memory.vectors.choose({ name: 'numbers', dimensions: 2 })
  const missing = (await memory.vectors.missing(model, 1_000)) ?? []
  await memory.vectors.save(
    model,
    missing.map(({ owner: key, number }) => ({ owner: key, number, vector: Float32Array.from([1, number]) })),
  )
}
