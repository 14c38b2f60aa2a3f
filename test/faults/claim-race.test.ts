import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { createSystemClock } from '../../src/adapters/clock/system.ts'
import type { WorkLimits } from '../../src/ports/store/work-list.ts'
import { openFolderStore } from '../support/stores.ts'

const script = join(import.meta.dirname, 'claim-race-child.ts')
const PROCESSES = 4

const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const work of cleanUp.splice(0).reverse()) await work()
})

/** Stores a message for each conversation. Then several processes claim at the same time, until there is nothing to claim. */
async function race(ids: readonly string[], limits: WorkLimits) {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-claim-race-'))
  cleanUp.push(() => rmSync(folder, { recursive: true, force: true }))
  const clock = createSystemClock()
  const time = clock.now()
  const store = await openFolderStore(folder, { clock: { ...clock, now: () => time } })
  cleanUp.push(() => store.close())
  for (const id of ids) await store.offer(id, { event_id: 'e1', kind: 'followup', ts: time, text: 'Hello.' }, { create: true })
  const children = Array.from({ length: PROCESSES }, () => fork(script, [folder, time, JSON.stringify(limits)]))
  cleanUp.push(() =>
    Promise.all(
      children.map(async (child) => {
        const exited = once(child, 'exit')
        child.disconnect()
        await exited
      }),
    ),
  )
  await Promise.all(children.map((child) => once(child, 'message')))
  const answers = children.map((child) => once(child, 'message'))
  for (const child of children) child.send('go')
  const claims = (await Promise.all(answers)).map(([list]) => list as { readonly conversationId: string; readonly epoch: number }[])
  return { claims, store }
}

it('processes that claim at the same time get each conversation once, and each claim has an epoch of its own', async () => {
  const ids = Array.from({ length: 80 }, (_, n) => `tenant${n % 5}/p/u/c${n}`)
  const { claims, store } = await race(ids, { maxAttempts: 3 })
  const all = claims.flat()
  expect(all.map(({ conversationId }) => conversationId).sort()).toEqual([...ids].sort())
  expect(new Set(all.map(({ epoch }) => epoch)).size).toBe(ids.length)
  expect(await store.work.summary()).toMatchObject({ waiting: 0, running: ids.length, parked: 0 })
})

it('processes that claim at the same time never run more conversations of a tenant than allowed', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `tenant${n % 4}/p/u/c${n}`)
  const { claims, store } = await race(ids, { maxAttempts: 3, runningPerTenant: 3 })
  const claimed = Object.groupBy(claims.flat(), ({ conversationId }) => conversationId.split('/')[0] ?? '')
  expect(Object.values(claimed).map((list) => new Set(list?.map(({ conversationId }) => conversationId)).size)).toEqual([3, 3, 3, 3])
  expect(claims.flat()).toHaveLength(12)
  expect(await store.work.summary()).toMatchObject({ waiting: 28, running: 12 })
})
