import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../../test/support/command-line.ts'
import { createFileBlobs } from '../../../adapters/blobs/file.ts'
import { createSystemClock } from '../../../adapters/clock/system.ts'
import { createSqliteStore } from '../../../adapters/store/sqlite/store.ts'
import { conversationKey } from '../../../core/scope.ts'
import type { Owner } from '../../../ports/store.ts'
import { minute, prompt } from '../../../testing/blocks.ts'
import { appended, opened, waitingTurn, writeConversation } from '../../../testing/conformance/store/fixture.ts'
import { openStore } from '../../../wiring/store.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const ann = { tenant: 'acme', project: 'web', user: 'ann' }

/** Fills the store of the command line. */
async function withStore(work: (store: Awaited<ReturnType<typeof openStore>>) => Promise<unknown>): Promise<void> {
  const store = await openStore({ data: join(line.folder, 'data') })
  await work(store)
  await store.close()
}

it('delete-user deletes only with --yes, and prints a receipt, also as JSON', async () => {
  await withStore(async (store) => {
    for (const key of [conversationKey(ann, 'c1'), conversationKey({ ...ann, user: 'bob' }, 'c2')])
      await store.release(await writeConversation(store, key, [appended([prompt('hello')])]))
  })
  const user = ['delete-user', 'ann', '--tenant', 'acme', '--project', 'web']
  const refused = await line.run('admin', ...user)
  expect(refused.exitCode).not.toBe(0)
  expect(refused.text).toContain('this deletes the user ann in acme/web, for ever: add --yes')

  const { exitCode, text } = await line.run('admin', ...user, '--yes')
  expect(exitCode).toBe(0)
  expect(text).toMatch(/^receipt [0-9a-f]{12}, /)
  expect(text).toMatch(/table conversations +1\n/)
  expect(text).toMatch(/table journal +1\n/)
  expect(text).toContain('daybook/tenants/acme/projects/web/files/ann\n')
  expect(text).toContain('back-ups: ')
  const again = JSON.parse((await line.run('admin', ...user, '--yes', '--json')).output)
  expect(text).toContain(again.receipt_id)
  const tenant = JSON.parse((await line.run('admin', 'delete-tenant', 'acme', '--yes', '--json')).output)
  expect(tenant.tables).toMatchObject({ conversations: 1, journal: 1 })
  await withStore(async (store) => expect((await store.list({})).conversations).toEqual([]))
})

/** Opens a turn, and holds its lease until the year 2100. */
async function holdForLong(key: string, holder: Owner): Promise<void> {
  const data = join(line.folder, 'data')
  const clock = { ...createSystemClock(), now: () => '2100-01-01T00:00:00.000Z' }
  const store = await createSqliteStore({ file: join(data, 'daybook.db'), blobs: createFileBlobs({ folder: join(data, 'blobs') }), clock })
  await store.append(await store.claim(key, holder), [opened('t1'), appended([prompt('hello', 't1')])])
  await store.close()
}

it('tenants and work show all tenants, release takes a lease only from a dead process or with --force, and list shows what is parked', async () => {
  expect((await line.run('admin', 'tenants')).text).toBe('nothing is stored')
  const key = conversationKey(ann, 'c1')
  const other = { id: 'other', host: 'elsewhere', pid: 4711 }
  await withStore(async (store) => {
    await store.offer('failing', { event_id: 'e1', kind: 'followup', ts: minute(1), text: 'Hi.' }, { create: true })
    const next = await store.work.claimNext(other, { maxAttempts: 1 })
    if (next.claim) await store.release(next.claim, { failed: 'no answer' })
    const parkedAttempts = async () => {
      await store.work.claimNext(other, { maxAttempts: 1 })
      return (await store.head('failing'))?.parked?.attempts
    }
    await expect.poll(parkedAttempts).toBe(1) // after the pause of the first failure
    const waiting = await store.claim(conversationKey(ann, 'c2'), other)
    await store.append(waiting, [
      opened('t1'),
      waitingTurn('t1', 2, [{ wait_id: 'w1', kind: 'approval', call_id: 'x', question: 'May it?' }]),
    ])
    await store.release(waiting)
  })
  await holdForLong(key, other)
  const tenants = JSON.parse((await line.run('admin', 'tenants', '--json')).output)
  expect(tenants).toMatchObject([
    { tenant: 'acme', users: 1, conversations: 2, openTurns: 2, waiting: 1, parked: 0 },
    { tenant: 'local', users: 1, conversations: 1, parked: 1 },
  ])
  expect((await line.run('admin', 'tenants')).text).toMatch(/^tenant +users .*\nacme +1 +2 +2 +1 +0 /)
  const { text } = await line.run('admin', 'work')
  expect(text).toContain('parked: their turns failed too often; to try one again: daybook retry <conversation>\n  failing ')
  expect(text).toContain('acme/web/ann/c2  May it?')
  expect(text).toContain('acme/web/ann/c1  process 4711 on elsewhere')
  expect((await line.run('list')).text).toContain('failing  (parked: daybook retry failing)')

  const refused = await line.run('admin', 'release', key)
  expect(refused).toMatchObject({ exitCode: 1, text: expect.stringContaining('process 4711 on elsewhere holds acme/web/ann/c1') })
  expect((await line.run('admin', 'release', key, '--force')).text).toContain('the lease has ended')
  expect((await line.run('admin', 'release', key)).text).toContain('nothing to release')
  expect((await line.run('admin', 'release', 'acme/web/ann/none')).exitCode).toBe(1)
  expect(JSON.parse((await line.run('admin', 'work', '--json')).output)).toMatchObject({ leases: [], parked: [{ id: 'failing' }] })
  expect(await line.run('admin', 'work', '--server', 'http://127.0.0.1:1')).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('without --server'),
  })
})
