import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hasPostgres, startPostgres } from '../../test/support/postgres.ts'
import { startS3 } from '../../test/support/s3-server.ts'
import { createHosting } from '../adapters/hosting/hosting.ts'
import { uriMapping, withCheckedKeys } from '../adapters/hosting/objects.ts'
import { createS3Objects } from '../adapters/hosting/s3-objects.ts'
import { createPostgresBlobs } from '../adapters/store/postgres/blobs/blobs.ts'
import { createPostgresObjects } from '../adapters/store/postgres/blobs/objects.ts'
import { openDatabase } from '../adapters/store/postgres/database.ts'
import { effectiveSettings, environmentLayer, fileLayer } from '../config/config.ts'
import { prompt } from '../testing/blocks.ts'
import { describeHosting } from '../testing/conformance/hosting.ts'
import { appended, closed, compacted, opened, owner } from '../testing/conformance/store/fixture.ts'
import { reply, scriptedModel } from '../testing/scripted-model.ts'
import { defineTool } from '../tools/define.ts'
import { findUnreferencedBlobs, sweepUnreferencedBlobs } from './installation/unreferenced-blobs.ts'
import { openAgent } from './open-agent.ts'
import { openStore } from './store.ts'

describe.skipIf(!hasPostgres)('agents that share a PostgreSQL database', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const root = mkdtempSync(join(tmpdir(), 'daybook-shared-'))
  const closers: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const close of closers) await close()
    await server?.stop()
    rmSync(root, { recursive: true, force: true })
  })

  /** Opens an agent like a server on another machine, with a data folder of its own. */
  async function open(
    options: Parameters<typeof openAgent>[1] & { readonly model?: object; readonly s3?: object; readonly databaseUrl?: string } = {},
  ) {
    const data = mkdtempSync(join(root, 'd-'))
    const { model, s3, databaseUrl = server?.url ?? '', ...rest } = options
    const environment = { DAYBOOK_DATA: data, DAYBOOK_DATABASE_URL: databaseUrl, DAYBOOK_SANDBOX: 'off' }
    const settings = effectiveSettings([environmentLayer(environment), fileLayer('f', { ...(s3 && { s3 }) })]).settings
    const running = await openAgent({ ...settings, ...(model && { model }) }, rest)
    closers.push(running.close)
    return { ...running, data }
  }

  it('see the conversations and files of each other, and store nothing in their data folders', async () => {
    const [one, two] = [await open(), await open()]
    const file = { name: 'sales.csv', mime: 'text/csv', content: Buffer.from('month,sales\nJan,10\nFeb,20\n') }
    const { answer } = await one.agent.run('c1', 'What is the sum of the sales?', { attachments: [file] }).result
    expect(answer).toContain('30')
    expect(JSON.stringify(await two.agent.archive.timeline('c1'))).toContain('sum of the sales')
    expect(readdirSync(one.data)).not.toContain('daybook.db')
    expect(readdirSync(one.data)).not.toContain('blobs')
  })

  it('store blobs and files in a bucket of S3', async () => {
    const s3 = await startS3(join(root, 's3'))
    closers.push(s3.stop)
    const { bucket, endpoint, accessKeyId, secretAccessKey } = s3.options
    const [one, two] = [await open({ s3: { bucket, endpoint, accessKeyId, secretAccessKey } }), await open()]
    const file = { name: 'sales.csv', mime: 'text/csv', content: Buffer.from('month,sales\nJan,10\nFeb,30\n') }
    const { answer } = await one.agent.run('c4', 'What is the sum of the sales?', { attachments: [file] }).result
    expect(answer).toContain('40')
    const keys: string[] = []
    for await (const key of createS3Objects(s3.options).list('daybook')) keys.push(key)
    expect(keys.some((key) => key.startsWith('daybook/blobs/'))).toBe(true)
    await expect(two.agent.archive.exportBundle('c4')).rejects.toThrow('can not be exported') // the second agent has no bucket
  })

  it('remove old blobs without an entry, and keep all others', async () => {
    const s3 = await startS3(join(root, 's3-sweep'))
    closers.push(s3.stop)
    const { bucket, endpoint, accessKeyId, secretAccessKey } = s3.options
    for (const settings of [{}, { s3: { bucket, endpoint, accessKeyId, secretAccessKey } }]) {
      const storage = { data: root, databaseUrl: await server?.createDatabase(), ...settings }
      const store = await openStore(storage)
      const claim = await store.claim('c1', owner('a'))
      const large = 'a long text '.repeat(5_000)
      await store.append(claim, [appended([prompt(large)])])
      const left = await store.blobs.put(new TextEncoder().encode('left by a process that died'))
      expect(await findUnreferencedBlobs(storage)).toMatchObject({ old: { blobs: 0 }, young: { blobs: 1 } })
      expect(await sweepUnreferencedBlobs(storage)).toEqual({ blobs: 0, bytes: 0 })
      expect(await sweepUnreferencedBlobs(storage, { graceMs: -5_000 })).toEqual({ blobs: 1, bytes: left.size })
      expect(await store.blobs.has(left.sha256)).toBe(false)
      expect(JSON.stringify((await store.loadVisible('c1'))?.timeline)).toContain(large)
      await store.close()
    }
  })

  it('pass on what a newer version has written, and run no turn of that conversation', async () => {
    const { agent } = await open({ model: scriptedModel([reply.answer('Hello.')]) })
    await agent.run('c5', 'Hello').result
    const { last } = await plantNewerChange(server?.url ?? '', 'c5')
    const seen: unknown[] = []
    for await (const event of agent.follow('c5', { after: last - 1 })) {
      seen.push(event)
      break
    }
    expect(seen).toMatchObject([{ type: 'entry', seq: last, change: { type: 'turn.painted', colour: 'blue' } }])
    await expect(agent.run('c5', 'Again').result).rejects.toMatchObject({ code: 'conversation.newer' })
    expect(await agent.archive.head('c5')).toMatchObject({ lastSeq: last })
  })

  it('store a message for a conversation of a newer version if they share the work, so that a process of the newer version answers it', async () => {
    const databaseUrl = (await server?.createDatabase()) ?? ''
    const { agent } = await open({ databaseUrl, model: scriptedModel([reply.answer('Hello.')]) })
    await agent.run('c1', 'Hello').result
    const { last } = await plantNewerChange(databaseUrl, 'c1')
    agent.work()
    expect(await agent.send('c1', 'Again', { eventId: 'e1' })).toEqual({ how: 'followup', turnId: undefined, eventId: 'e1' })
    expect(await agent.send('c1', 'Again', { eventId: 'e1' })).toMatchObject({ how: 'known' })
    // a process of the newer version runs the conversation
    await query(
      databaseUrl,
      `UPDATE daybook.conversations SET owner_id = 'newer', owner_host = 'elsewhere', owner_pid = 1, owner_epoch = epoch,
      lease_expires_at = '2999-01-01T00:00:00.000Z'`,
    )
    expect(await agent.send('c1', 'While it runs', { eventId: 'e2' })).toMatchObject({ how: 'followup', eventId: 'e2' })
    expect(await agent.archive.head('c1')).toMatchObject({ lastSeq: last, offers: 2 })
  })

  it('resume the other turns when one belongs to a newer version, which they do not claim', async () => {
    const databaseUrl = (await server?.createDatabase()) ?? ''
    const store = await openStore({ data: root, databaseUrl })
    closers.push(store.close)
    for (const id of ['c1', 'c2']) {
      const claim = await store.claim(id, owner('a'))
      await store.append(claim, [opened('t1'), appended([prompt('Hello?')])])
      await store.release(claim)
    }
    await plantNewerChange(databaseUrl, 'c1')
    const epochs = () => query(databaseUrl, 'SELECT id, epoch FROM daybook.conversations ORDER BY id')
    const [before] = await epochs()
    const { agent } = await open({ databaseUrl, model: scriptedModel([reply.answer('Hello.')]) })
    const { results, skipped } = await agent.recover()
    expect(results).toMatchObject([{ answer: 'Hello.' }])
    expect(skipped).toMatchObject([{ conversationId: 'c1' }])
    expect((await epochs())[0]).toEqual(before)
    await agent.archive.delete('c1')
    expect(await store.head('c1')).toBe(undefined)
  })

  it('remove no history of a conversation of a newer version', async () => {
    const databaseUrl = (await server?.createDatabase()) ?? ''
    const store = await openStore({ data: root, databaseUrl })
    closers.push(store.close)
    for (const id of ['c1', 'c2']) {
      const claim = await store.claim(id, owner('a'))
      await store.append(claim, [
        opened('t1'),
        appended([prompt('a')]),
        closed('t1'),
        compacted('b_1', 2),
        opened('t2', 1),
        closed('t2', 1),
      ])
    }
    await plantNewerChange(databaseUrl, 'c1')
    const { entries } = await store.retain({ historyBefore: '2100-01-01T00:00:00.000Z' })
    expect(entries).toBeGreaterThan(0)
    const counts = 'SELECT id, count(*)::int FROM daybook.journal JOIN daybook.conversations ON key = conversation GROUP BY id ORDER BY id'
    expect(await query(databaseUrl, counts)).toEqual([
      { id: 'c1', count: 7 },
      { id: 'c2', count: 6 - entries },
    ])
  })

  it('answer a message to a turn that another agent runs, and follow it', async () => {
    const started = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const wait = defineTool({
      id: 'test.wait',
      description: 'Waits.',
      params: z.object({}),
      run: async () => {
        started.resolve()
        await go.promise
        return { ok: true as const, ret: 'waited' }
      },
    })
    const one = await open({ tools: [wait], model: scriptedModel([reply.call('test.wait', {}), reply.answer('Both are answered.')]) })
    const two = await open({ model: scriptedModel([]) })
    const first = one.agent.run('c2', 'Wait for me.')
    await started.promise
    const second = two.agent.run('c2', 'And this?')
    const seen: number[] = []
    const following = (async () => {
      for await (const event of second) if ('seq' in event && typeof event.seq === 'number') seen.push(event.seq)
    })()
    await expect.poll(async () => (await one.agent.archive.head('c2')).waiting.length, { timeout: 20_000 }).toBe(1)
    go.resolve()
    expect((await first.result).answer).toBe('Both are answered.')
    expect((await second.result).answer).toBe('Both are answered.')
    await following
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
  })

  describeHosting({ describe, it, expect }, 'PostgreSQL', async () => {
    const database = await openDatabase({ url: server?.url ?? '', schema: `hosting_${closers.length}`, maxConnections: 3 })
    closers.push(database.close)
    const objects = { ...uriMapping('postgres:///'), ...withCheckedKeys(createPostgresObjects(database)) }
    return createHosting({ objects, blobs: createPostgresBlobs(database) })
  })
})

async function query(url: string, sql: string): Promise<readonly object[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows
}

/** Adds an entry to a journal that only a newer version of Daybook can read. Returns its `seq`. */
async function plantNewerChange(url: string, conversationId: string): Promise<{ readonly last: number }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const newer = { type: 'turn.painted', ts: '2026-01-01T00:00:00.000Z', colour: 'blue' }
  const { rows } = await client.query('UPDATE daybook.conversations SET last_seq = last_seq + 1 WHERE id = $1 RETURNING key, last_seq', [
    conversationId,
  ])
  const [{ key, last_seq }] = rows
  await client.query('INSERT INTO daybook.journal VALUES ($1, $2, $3, $4, $5)', [
    key,
    last_seq,
    newer.type,
    newer.ts,
    JSON.stringify(newer),
  ])
  await client.end()
  return { last: last_seq }
}
