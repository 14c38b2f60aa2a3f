import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { messageText } from '../support/load/load-model.ts'
import { type ServerChoices, startServerProcess } from '../support/load/server-process.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'

describe.skipIf(!hasPostgres)('two servers on one database', async () => {
  const postgres = hasPostgres ? await startPostgres() : undefined
  afterAll(() => postgres?.stop())
  const cleanUp: (() => unknown)[] = []
  afterEach(async () => {
    for (const work of cleanUp.splice(0).reverse()) await work()
  })

  async function startTwo(choices: ServerChoices) {
    const folder = mkdtempSync(join(tmpdir(), 'daybook-limits-'))
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }))
    const start = async () => {
      const server = await startServerProcess(folder, { database: postgres?.url, ...choices })
      cleanUp.push(server.stop)
      return server
    }
    return [await start(), await start()] as const
  }

  const send = (url: string, conversation: string, id: string) =>
    fetch(`${url}/v1/conversations/${conversation}/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': id },
      body: JSON.stringify({ text: messageText(id) }),
    })
  const create = (url: string, id: string) =>
    fetch(`${url}/v1/conversations`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ id }) })

  /** How many requests pass at most: the limit, a share for each of two servers, and what comes back in the time since `startedAt`. */
  const atMost = (perMinute: number, startedAt: number) =>
    perMinute + 2 * Math.max(1, Math.ceil(perMinute / 20)) + Math.ceil(((performance.now() - startedAt) / 60_000) * perMinute)

  it('share the limit of requests, and tell what is left', async () => {
    const [one, two] = await startTwo({ limits: { requestsPerMinute: 40 } })
    const startedAt = performance.now()
    const statuses: number[] = []
    let last: Response | undefined
    for (let n = 0; n < 100; n++) {
      last = await fetch(`${(n % 2 === 0 ? one : two).url}/v1/conversations`)
      statuses.push(last.status)
    }
    const passed = statuses.filter((status) => status === 200).length
    expect(passed).toBeGreaterThanOrEqual(40)
    expect(passed).toBeLessThanOrEqual(atMost(40, startedAt))
    expect(last?.status).toBe(429)
    expect(last?.headers.get('ratelimit-policy')).toBe('"requests";q=40;w=60')
    expect(last?.headers.get('ratelimit')).toMatch(/^"requests";r=0;t=\d+$/)
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('share the limit even if all requests come at the same time', async () => {
    const [one, two] = await startTwo({ limits: { requestsPerMinute: 40 } })
    const startedAt = performance.now()
    const responses = await Promise.all(Array.from({ length: 120 }, (_, n) => fetch(`${(n % 2 === 0 ? one : two).url}/v1/conversations`)))
    const passed = responses.filter(({ status }) => status === 200).length
    expect(passed).toBeGreaterThanOrEqual(40)
    expect(passed).toBeLessThanOrEqual(atMost(40, startedAt))
  })

  it('share the limit of messages, whatever their conversations', async () => {
    const [one, two] = await startTwo({ limits: { turnsPerMinute: 10 } })
    const startedAt = performance.now()
    const responses: Response[] = []
    for (let n = 0; n < 30; n++) {
      await create(one.url, `m${n}`)
      responses.push(await send((n % 2 === 0 ? one : two).url, `m${n}`, `m${n}`))
    }
    const passed = responses.filter(({ status }) => status === 202)
    expect(passed.length).toBeGreaterThanOrEqual(10)
    expect(passed.length).toBeLessThanOrEqual(atMost(10, startedAt))
    expect(passed[0]?.headers.get('ratelimit')).toMatch(/^"turns";r=9;t=6, "requests";r=\d+;t=\d+$/)
    const refused = responses.find(({ status }) => status === 429)
    expect(refused?.headers.get('ratelimit')).toMatch(/^"turns";r=0;t=\d+, "requests";r=\d+;t=\d+$/)
  })

  it('share the limit of running turns, and messages to a running turn pass', async () => {
    const [one, two] = await startTwo({ limits: { runningTurns: 3 }, delayMs: 60_000 })
    for (let n = 0; n < 6; n++) await create(one.url, `r${n}`)
    for (let n = 0; n < 3; n++) expect((await send((n % 2 === 0 ? one : two).url, `r${n}`, `r${n}`)).status).toBe(202)
    await sleep(600) // for this time, a server may not know what others have accepted
    for (const [n, { url }] of [one, two].entries()) {
      const refused = await send(url, 'r3', 'r3')
      expect([refused.status, ((await refused.json()) as { title: string }).title]).toEqual([
        429,
        'Too many turns are running; wait until one has ended.',
      ])
      expect((await send(url, 'r0', `more${n}`)).status).toBe(202)
    }
  })

  it('count alone, each with the whole limit, while the database does not answer, and the table has no names', async () => {
    const proxy = await startPostgresProxy(postgres?.url ?? '')
    cleanUp.push(proxy.close)
    const folder = mkdtempSync(join(tmpdir(), 'daybook-limits-'))
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }))
    const server = await startServerProcess(folder, { database: proxy.url, limits: { requestsPerMinute: 40 } })
    cleanUp.push(server.stop)
    expect((await fetch(`${server.url}/v1/conversations`)).status).toBe(200)
    proxy.freezeAt('rate_limits')
    const startedAt = performance.now()
    const statuses: number[] = []
    for (let n = 0; n < 60; n++) statuses.push((await fetch(`${server.url}/v1/conversations`)).status)
    expect(proxy.state.isFrozen).toBe(true)
    const passed = statuses.filter((status) => status === 200).length
    expect(passed).toBeGreaterThanOrEqual(39)
    expect(passed).toBeLessThanOrEqual(40 + Math.ceil(((performance.now() - startedAt) / 60_000) * 40))
    const client = new pg.Client({ connectionString: postgres?.url })
    await client.connect()
    const { rows } = await client.query(
      `SELECT string_agg(format('%I', table_schema), ',') AS schemas FROM information_schema.tables WHERE table_name = 'rate_limits'`,
    )
    const [schema] = (rows[0] as { schemas: string }).schemas.split(',')
    const stored = await client.query(`SELECT * FROM ${schema}.rate_limits`)
    expect(JSON.stringify(stored.rows)).not.toContain('local')
    await client.end()
  })
})
