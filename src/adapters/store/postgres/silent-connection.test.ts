import { createServer, connect as open, type Socket } from 'node:net'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { prompt } from '../../../testing/blocks.ts'
import { appended, journalOf, owner } from '../../../testing/conformance/store/fixture.ts'
import { createSystemClock } from '../../clock/system.ts'
import { connectDatabase } from './database.ts'
import { createPostgresStore } from './store.ts'

/**
 * A proxy that can make all connections of this moment silent: they stay open, and the lost bytes do not arrive. Connections that are
 * opened later work.
 */
async function startSilentProxy(url: string) {
  const target = new URL(url)
  const links = new Set<{ readonly ends: readonly Socket[]; loses?: 'requests' | 'answers' }>()
  const proxy = createServer((client) => {
    const server = open(Number(target.port), target.hostname)
    const link: { readonly ends: readonly Socket[]; loses?: 'requests' | 'answers' } = { ends: [client, server] }
    links.add(link)
    client.on('data', (data) => link.loses === 'requests' || server.write(data))
    server.on('data', (data) => link.loses === undefined && client.write(data))
    for (const socket of link.ends) {
      socket.on('error', () => {}) // `close` follows
      socket.on('close', () => link.loses === undefined && link.ends.map((end) => end.destroy()))
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as { port: number }
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    silence(lost: 'requests' | 'answers') {
      for (const link of links) link.loses = lost
    },
    async close() {
      for (const { ends } of links) for (const socket of ends) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

describe.skipIf(!hasPostgres)('a connection that becomes silent', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const cleanUp: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const work of cleanUp.splice(0).reverse()) await work()
  })
  afterAll(() => server?.stop())
  let schemas = 0

  async function openStore(parameters = 'query_timeout=500') {
    const proxy = await startSilentProxy(server?.url ?? '')
    cleanUp.push(() => proxy.close())
    const schema = `silent_${++schemas}`
    const url = `${proxy.url}?${parameters}`
    const store = await createPostgresStore({ url, schema, clock: createSystemClock(), maxConnections: 2 })
    cleanUp.push(() => store.close())
    const claim = await store.claim('c1', owner('a'))
    await store.append(claim, [appended([prompt('a')])])
    return { proxy, store, claim, url, schema }
  }

  it.each(['requests', 'answers'] as const)('does not stop an append, which is stored once (lost: %s)', async (lost) => {
    const { proxy, store, claim } = await openStore()
    proxy.silence(lost)
    expect(await store.append(claim, [appended([prompt('b')], 2)])).toMatchObject([{ seq: 2 }])
    proxy.silence(lost)
    const long = 'a long text '.repeat(2_000) // its append is a transaction
    expect(await store.append(claim, [appended([prompt(long)], 3)])).toMatchObject([{ seq: 3 }])
    expect(await journalOf(store, 'c1')).toHaveLength(3)
  })

  it('does not stop reads, claims and renewals, even if all connections of the process are silent', async () => {
    const { proxy, store, claim } = await openStore()
    await Promise.all([store.head('c1'), store.head('c1')])
    proxy.silence('answers')
    const [head, visible] = await Promise.all([
      store.head('c1'),
      store.loadVisible('c1'),
      store.renew(claim),
      store.claim('c2', owner('a')),
      ...Array.from({ length: 10 }, () => store.head('c1')),
    ])
    expect(head).toMatchObject({ lastSeq: 1 })
    expect(visible).toMatchObject({ lastSeq: 1 })
  })

  it('is reported as a server that does not answer, if the work can not be repeated', async () => {
    const { proxy, url, schema } = await openStore()
    const database = await connectDatabase({ url, schema })
    cleanUp.push(() => database.close())
    proxy.silence('requests')
    await expect(database.statements.all('SELECT 1 AS one')).rejects.toMatchObject({
      message: expect.stringContaining('the server has not answered'),
      details: { connectionLost: true },
    })
    expect(await database.statements.all('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it('is not assumed before a time-out of the server would have ended the statement', async () => {
    const settings = encodeURIComponent('-c statement_timeout=1500')
    const { url, schema } = await openStore(`query_timeout=200&options=${settings}`)
    const database = await connectDatabase({ url, schema })
    cleanUp.push(() => database.close())
    await expect(database.statements.all('SELECT pg_sleep(3)')).rejects.toMatchObject({ cause: { code: '57014' } })
    const long = await connectDatabase({ url, schema }, { statement_timeout: '0' })
    cleanUp.push(() => long.close())
    expect(await long.statements.all('SELECT 1 AS one FROM pg_sleep(2)')).toEqual([{ one: 1 }])
  })
})
