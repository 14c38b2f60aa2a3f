import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { conversationKey } from '../../core/scope.ts'
import { prompt } from '../../testing/blocks.ts'
import { appended, writeConversation } from '../../testing/conformance/store/fixture.ts'
import { openStore } from '../../wiring/store.ts'

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
