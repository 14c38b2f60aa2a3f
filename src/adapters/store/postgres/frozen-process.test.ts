import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { startPostgresProxy } from '../../../../test/support/postgres-proxy.ts'
import type { OfferedEvent } from '../../../ports/store.ts'
import { owner } from '../../../testing/conformance/store/fixture.ts'
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
    const frozen = await createPostgresStore({ url: proxy.url, schema, clock, maxConnections: 2 })
    return { proxy, frozen, other }
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
})
