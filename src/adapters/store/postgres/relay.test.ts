import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { startSilentProxy } from '../../../../test/support/silent-proxy.ts'
import type { Relay } from '../../../ports/store/relay.ts'
import { describeRelay } from '../../../testing/conformance/relay.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createPostgresStore } from './store.ts'

describe.skipIf(!hasPostgres)('with a real server', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const url = server?.url ?? ''
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
  })
  afterAll(() => server?.stop())
  let schemas = 0

  async function open(schema: string, address = url): Promise<Relay> {
    const store = await createPostgresStore({ url: address, schema, clock: createFixedClock(), maxConnections: 2 })
    opened.push(store)
    return store.relay as Relay
  }

  /** Ends all other connections to the server. */
  async function cutConnections(): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname IS NOT NULL')
    await client.end()
  }

  describeRelay({ describe, it, expect }, 'the relay of PostgreSQL', async () => {
    const schema = `relay_${++schemas}`
    return { open: () => open(schema), cutConnections }
  })

  it('carries no message to the replicas of another schema', async () => {
    const [one, other] = [await open('mine'), await open('theirs')]
    const received: string[] = []
    const connected = Promise.withResolvers<void>()
    const sending = Promise.withResolvers<void>()
    one.listen(['all'], { onMessage: () => {}, onConnected: sending.resolve })
    other.listen(['all'], { onMessage: (text) => void received.push(text), onConnected: connected.resolve })
    await Promise.all([connected.promise, sending.promise])
    await one.send('all', 'not for them')
    await other.send('all', 'for them')
    await expect.poll(() => received).toEqual(['for them'])
  })

  it('does not send while there is no connection', async () => {
    const relay = await open('unconnected')
    await expect(relay.send('all', 'x')).rejects.toThrow('no connection')
  })

  it('replaces a connection that was dropped silently, and keeps the connections of others that are idle', async () => {
    const proxy = await startSilentProxy(url)
    const [dropped, other] = [await open('silent', proxy.url), await open('silent')]
    const [connections, messages] = [{ dropped: 0, other: 0 }, [] as string[]]
    dropped.listen(['all'], { onMessage: (text) => void messages.push(text), onConnected: () => void connections.dropped++ })
    other.listen(['all', 'one'], { onMessage: (text) => void messages.push(text), onConnected: () => void connections.other++ })
    await expect.poll(() => connections).toEqual({ dropped: 1, other: 1 })
    proxy.drop()
    const lost = dropped.send('one', 'lost').then(
      () => 'sent',
      () => 'failed',
    )
    await expect.poll(() => connections.dropped).toBe(2)
    expect(await lost).toBe('failed')
    expect(messages).toEqual([])
    await other.send('all', 'a')
    await expect.poll(() => messages).toEqual(['a', 'a'])
    await dropped.send('one', 'b')
    await expect.poll(() => messages).toEqual(['a', 'a', 'b'])
    expect(connections.other).toBe(1)
    await Promise.all(opened.splice(0).map((store) => store.close()))
    await proxy.close()
  })

  it('has one connection for each `listen`, even after the server was away for a while', async () => {
    const relay = await open('restarted')
    let connections = 0
    relay.listen(['all'], { onMessage: () => {}, onConnected: () => void connections++ })
    await expect.poll(() => connections).toBe(1)
    const client = () => new pg.Client({ connectionString: url })
    const listening = async () => {
      const asking = client()
      await asking.connect()
      const { rows } = await asking.query(`SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN daybook_live_%'`)
      await asking.end()
      return rows.length
    }
    for (let restart = 1; restart <= 3; restart++) {
      await server?.restart(1_000)
      await expect.poll(() => connections).toBeGreaterThan(restart)
    }
    await expect.poll(listening).toBe(1)
    expect(connections).toBe(4)
  })
})
