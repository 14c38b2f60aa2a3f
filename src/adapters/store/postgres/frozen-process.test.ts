import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { startPostgresProxy } from '../../../../test/support/postgres-proxy.ts'
import { createOwner } from '../../../agent/conversation/claim.ts'
import type { OfferedEvent } from '../../../ports/store.ts'
import { opened, owner } from '../../../testing/conformance/store/fixture.ts'
import { createSystemClock } from '../../clock/system.ts'
import { createPostgresStore } from './store.ts'

const clock = createSystemClock()
const message = (id: string): OfferedEvent => ({ event_id: id, kind: 'followup', ts: clock.now(), text: 'Hello.' })
const limits = { maxAttempts: 3 }
const limited = { ...limits, runningPerTenant: 10 }

describe.skipIf(!hasPostgres)('a process that is frozen within a transaction', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const cleanUp: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const work of cleanUp.splice(0).reverse()) await work()
  })
  afterAll(() => server?.stop())
  let schemas = 0

  /** A store of a process that can be frozen, and the store of another process on the same tables. */
  async function open() {
    const schema = `frozen_${++schemas}`
    const proxy = await startPostgresProxy(server?.url ?? '')
    cleanUp.push(() => proxy.close())
    const other = await createPostgresStore({ url: server?.url ?? '', schema, clock, maxConnections: 2 })
    cleanUp.push(() => other.close())
    const frozen = await createPostgresStore({ url: `${proxy.url}?application_name=${schema}`, schema, clock, maxConnections: 2 })
    /** Whether the frozen process still has an open transaction. */
    const isInTransaction = async () => {
      const client = new pg.Client(server?.url ?? '')
      await client.connect()
      const found = await client.query(
        `SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND application_name = 'daybook: ${schema}'`,
      )
      await client.end()
      return found.rows.length > 0
    }
    return { proxy, frozen, other, isInTransaction }
  }

  it.each([
    ['UPDATE conversations SET epoch', limits],
    ['count(*)', limited],
    ['UPDATE conversations SET epoch', limited],
    ['COMMIT', limited],
  ])('while it claims work does not keep other processes from claiming (frozen before %s, %o)', async (statement, limits) => {
    const { proxy, frozen, other } = await open()
    for (const id of ['c1', 'c2', 'c3']) await other.offer(id, message('e1'), { create: true })
    expect((await other.work.claimNext(owner('other'), limits)).claim?.conversationId).toBe('c1')
    proxy.freezeAt(statement)
    frozen.work.claimNext(owner('frozen'), limits).catch(() => {}) // its connection ends with the test
    await expect.poll(() => proxy.state.isFrozen).toBe(true)
    expect((await other.work.claimNext(owner('other'), limits)).claim?.conversationId).toBe('c2')
    expect((await other.work.claimNext(owner('other'), limits)).claim?.conversationId).toBe('c3')
  })

  it('while it offers a message does not keep other processes from the conversations of a dead process', async () => {
    const { proxy, frozen, other, isInTransaction } = await open()
    const alive = createOwner(clock)
    const dead = { ...alive, id: 'dead', pid: 2 ** 22 + 1 } // higher than any pid of Linux
    for (const id of ['c1', 'c2']) {
      await other.offer(id, message('e1'), { create: true })
      await other.claim(id, dead)
    }
    proxy.freezeAt('COMMIT')
    frozen.offer('c1', message('e2')).catch(() => {}) // its connection ends with the test
    await expect.poll(() => proxy.state.isFrozen).toBe(true)
    expect((await other.work.claimNext(alive, limits)).claim?.conversationId).toBe('c2')
    expect(await isInTransaction()).toBe(true) // the claim has not waited for the end of this transaction
  })

  it('while it offers a message does not stop the turn of the conversation until its lease has ended', async () => {
    const { proxy, frozen, other } = await open()
    const claim = await other.claim('c1', owner('other'))
    proxy.freezeAt('COMMIT')
    frozen.offer('c1', message('e1')).catch(() => {}) // its connection ends with the test
    await expect.poll(() => proxy.state.isFrozen).toBe(true)
    await other.append(claim, [opened('t1')])
    expect(await other.findOwner('c1', owner('third'))).toMatchObject({ id: 'other' })
  }, 60_000)
})
