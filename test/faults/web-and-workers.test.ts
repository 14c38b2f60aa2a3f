import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { LEASE_MS } from '../../src/ports/store.ts'
import { createConversationRecord } from '../support/load/conversation-record.ts'
import { noteWriters } from '../support/load/journal-writers.ts'
import { createLoadClient, type LoadClient } from '../support/load/load-client.ts'
import { messageText } from '../support/load/load-model.ts'
import { advanceClock } from '../support/load/movable-clock.ts'
import { readMetrics } from '../support/load/read-metrics.ts'
import { type ServerChoices, type ServerProcess, startServerProcess } from '../support/load/server-process.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'

describe.skipIf(!hasPostgres)('servers with the roles web and worker on one database', async () => {
  const postgres = hasPostgres ? await startPostgres() : undefined
  afterAll(() => postgres?.stop())
  const cleanUp: (() => unknown)[] = []
  afterEach(async () => {
    for (const work of cleanUp.splice(0).reverse()) await work()
  })

  /** A folder whose servers share tables of their own. */
  function open(defaults: ServerChoices = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'daybook-roles-'))
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }))
    const errors: string[] = []
    return {
      folder,
      errors,
      async start(choices: ServerChoices): Promise<ServerProcess> {
        const server = await startServerProcess(folder, { database: postgres?.url, ...defaults, ...choices })
        cleanUp.push(server.stop)
        return server
      },
      connect(server: ServerProcess): LoadClient {
        const client = createLoadClient({ url: () => server.url, onError: (what) => errors.push(what), survivesLoss: true })
        cleanUp.push(client.close)
        return client
      },
      effects: () => readFileSync(join(folder, 'effects'), 'utf8').split('\n').filter(Boolean),
    }
  }

  const followed = (client: LoadClient, conversationId: string) => {
    const record = createConversationRecord()
    client.follow(conversationId, { onEvent: record.read })
    return record
  }

  it('a web server accepts messages without a turn, and a worker that starts later answers them', async () => {
    const { start, connect, effects, errors } = open()
    const web = await start({ role: 'web' })
    const client = connect(web)
    await client.create('c1')
    const record = followed(client, 'c1')
    const response = await fetch(`${web.url}/v1/conversations/c1/turns`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'm1' },
      body: JSON.stringify({ text: messageText('m1') }),
    })
    expect([response.status, await response.json()]).toEqual([
      202,
      { status: 'followup_accepted', conversation_id: 'c1', turn_id: null, event_id: 'm1' },
    ])
    const sentAt = Date.now()
    await sleep(300)
    expect(record.readsOf('m1').reads).toBe(0)
    const before = await readMetrics(web.url)
    expect(before.get(`daybook_replica_info{replica="${hostname()}-${web.pid}",role="web"}`)).toBe(1)
    expect(before.get('daybook_work_waiting')).toBe(1)
    expect(before.get('daybook_work_longest_wait_seconds')).toBeGreaterThan(0)
    expect(before.get('daybook_work_running')).toBe(0)
    const waited = Date.now() - sentAt
    const worker = await start({ role: 'worker' })
    await record.untilAnswered('m1')
    const after = await readMetrics(worker.url)
    expect(after.get(`daybook_replica_info{replica="${hostname()}-${worker.pid}",role="worker"}`)).toBe(1)
    expect(after.get('daybook_event_delay_seconds_count')).toBe(1)
    expect(after.get('daybook_event_delay_seconds_sum')).toBeGreaterThanOrEqual(waited / 1000)
    await expect.poll(async () => (await readMetrics(web.url)).get('daybook_work_waiting')).toBe(0)
    await client.send('c1', 'm2', messageText('m2'))
    await record.untilAnswered('m2')
    expect(effects().map((line) => line.split(' ')[1])).toEqual(['m1', 'm2'])
    expect((await fetch(`${worker.url}/v1/conversations/c1`)).status).toBe(404)
    expect((await fetch(`${worker.url}/health`)).status).toBe(200)
    expect(errors).toEqual([])
  })

  it('workers that are killed with work in the table lose no message and run no effect twice', async () => {
    const { start, connect, effects, errors } = open({ delayMs: 20 })
    const web = await start({ role: 'web' })
    const workers = [await start({ role: 'worker', conversations: 4 }), await start({ role: 'worker', conversations: 4 })]
    const client = connect(web)
    const ids = Array.from({ length: 20 }, (_, n) => `c${n}`)
    for (const id of ids) await client.create(id)
    const records = new Map(ids.map((id) => [id, followed(client, id)]))
    for (const number of [1, 2, 3]) for (const id of ids) await client.send(id, `${id}-${number}`, messageText(`${id}-${number}`))
    for (let kill = 0; kill < 4; kill++) {
      await sleep(150)
      await workers[kill % 2]?.restart()
    }
    for (const [id, record] of records) {
      for (const number of [1, 2, 3]) await record.untilAnswered(`${id}-${number}`)
      expect([record.missed, record.doubled]).toEqual([0, 0])
      for (const number of [1, 2, 3]) expect(record.readsOf(`${id}-${number}`)).toMatchObject({ reads: 1, closed: 1 })
    }
    const noted = effects().map((line) => line.split(' ')[1])
    expect(noted.length).toBe(new Set(noted).size)
    expect(errors).toEqual([])
  })

  it('a worker that is frozen longer than its lease writes nothing when it wakes up', async () => {
    const { folder, start, connect, effects, errors } = open({ delayMs: 400, movableClock: true })
    const web = await start({ role: 'web' })
    const writers = await noteWriters(folder, postgres?.url ?? '')
    const frozen = await start({ role: 'worker' })
    const client = connect(web)
    const ids = ['c0', 'c1', 'c2']
    for (const id of ids) await client.create(id)
    const records = ids.map((id) => followed(client, id))
    for (const id of ids) await client.send(id, `${id}-1`, messageText(`${id}-1`))
    await expect.poll(() => records.every((record, n) => record.readsOf(`c${n}-1`).reads === 1)).toBe(true) // the turns have begun
    frozen.signal('SIGSTOP')
    await start({ role: 'worker' })
    const closed = () => records.filter((record, n) => record.readsOf(`c${n}-1`).closed === 1).length
    const isCounted = async () => (await readMetrics(web.url)).get('daybook_work_running') === ids.length - closed()
    await expect.poll(isCounted).toBe(true)
    advanceClock(folder, LEASE_MS + 1_000)
    for (const [n, record] of records.entries()) await record.untilAnswered(`c${n}-1`) // when the leases have ended
    const lastSeqs = records.map(({ lastSeq }) => lastSeq)
    frozen.signal('SIGCONT')
    // the worker has seen that its conversations are lost
    await expect.poll(async () => (await readMetrics(frozen.url)).get('daybook_running_turns'), { timeout: 60_000 }).toBe(0)
    expect(records.map(({ lastSeq, doubled, missed }) => [lastSeq, doubled, missed])).toEqual(lastSeqs.map((seq) => [seq, 0, 0]))
    for (const [n, record] of records.entries()) expect(record.readsOf(`c${n}-1`)).toMatchObject({ reads: 1, closed: 1, answers: 1 })
    for (const id of ids) await client.send(id, `${id}-2`, messageText(`${id}-2`))
    for (const [n, record] of records.entries()) await record.untilAnswered(`c${n}-2`)
    expect(effects().filter((line) => line.endsWith('-2')).length).toBe(3)
    const { count, missing, unnoted } = await writers.rows()
    expect({ stale: await writers.staleRows(), missing, unnoted }).toEqual({ stale: 0, missing: 0, unnoted: 0 })
    expect(count).toBe(records.reduce((sum, { lastSeq }) => sum + lastSeq, 0))
    expect(errors).toEqual([])
  })
})
