import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { fillInstallation, readInstallation, settingsOf, type TestPlace } from '../../../test/support/installation.ts'
import { hasPostgres, startPostgres } from '../../../test/support/postgres.ts'
import { startS3 } from '../../../test/support/s3-server.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { prompt } from '../../testing/blocks.ts'
import { appended, owner } from '../../testing/conformance/store/fixture.ts'
import { inConversation } from '../../testing/conformance/store/memory.ts'
import { openAgent } from '../open-agent.ts'
import { openStore } from '../store.ts'
import { type MoveProgress, moveInstallation } from './move.ts'
import { listTree } from './tree.ts'

describe.skipIf(!hasPostgres)('moving an installation', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const root = mkdtempSync(join(tmpdir(), 'daybook-move-'))
  const closers: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const close of closers) await close()
    await server?.stop()
    rmSync(root, { recursive: true, force: true })
  })
  const newFolder = () => join(mkdtempSync(join(root, 'd-')), 'data')
  const newDatabase = async () => (await server?.createDatabase()) ?? ''

  const filled: TestPlace = { data: newFolder() }
  await fillInstallation(filled)
  const content = await readInstallation(filled)

  it('copies everything from a folder to PostgreSQL, back to a folder, and on to other places of the same kind', async () => {
    const before = await hashesOf(filled.data)
    const [first, second] = [
      { data: newFolder(), databaseUrl: await newDatabase() },
      { data: newFolder(), databaseUrl: await newDatabase() },
    ]
    const [third, fourth] = [{ data: newFolder() }, { data: newFolder() }]
    const steps: MoveProgress[] = []
    const report = await moveInstallation({
      from: filled.data,
      to: first.databaseUrl,
      data: first.data,
      onProgress: (step) => steps.push(step),
    })
    expect(report).toMatchObject({ conversations: 8, isResumed: false, hostedFiles: 1 })
    expect(report.blobs).toBeGreaterThan(4)
    expect(report.entries).toBeGreaterThan(200)
    expect(report.workingFiles).toBeGreaterThan(0)
    expect(JSON.stringify(content)).toContain('"text":"month,sales') // the hosted file was found by its name
    expect(new Set(steps.map(({ step }) => step))).toEqual(new Set(['blobs', 'conversations', 'hosted files', 'working files', 'checking']))
    expect(await hashesOf(filled.data)).toEqual(before)
    expect(await readInstallation(first)).toEqual(content)
    await moveInstallation({ from: first.databaseUrl, to: third.data, data: first.data })
    expect(await readInstallation(third)).toEqual(content)
    expect(existsSync(join(third.data, 'moving'))).toBe(false)
    await moveInstallation({ from: third.data, to: fourth.data, data: newFolder() })
    expect(await readInstallation(fourth)).toEqual(content)
    await moveInstallation({ from: first.databaseUrl, to: second.databaseUrl, data: first.data })
    expect(await readInstallation({ ...second, data: first.data })).toEqual(content)
  })

  it('leaves texts that a memory search finds, although their index is not copied', async () => {
    const place = { data: newFolder(), databaseUrl: await newDatabase() }
    const back = { data: newFolder() }
    await moveInstallation({ from: filled.data, to: place.databaseUrl, data: place.data })
    await moveInstallation({ from: place.databaseUrl, to: back.data, data: place.data })
    const found = async (at: TestPlace) => {
      const store = await openStore(at)
      const within = { user: { tenant: 'local', project: 'default', user: 'local' } }
      const matches = (await store.memory?.search('sum of the sales', inConversation('', { within }))) ?? []
      await store.close()
      return matches.map(({ conversationId, text }) => `${conversationId}: ${text}`)
    }
    const expected = await found(filled)
    expect(expected).toContain('asked: What is the sum of the sales?')
    expect((await found(place)).sort()).toEqual(expected.toSorted())
    expect((await found(back)).sort()).toEqual(expected.toSorted())
  })

  it('leaves an installation that goes on as before: claims, turns, offers and unfinished deletions', async () => {
    const place = { data: newFolder(), databaseUrl: await newDatabase() }
    await moveInstallation({ from: filled.data, to: place.databaseUrl, data: place.data })
    const before = await openStore(filled)
    const old = await before.claim('waiting', owner('a'))
    await before.release(old)
    await before.close()
    const store = await openStore(place)
    const claim = await store.claim('waiting', owner('b'))
    expect(claim.epoch).toBeGreaterThan(old.epoch - 1)
    await store.release(claim)
    expect(await store.offer('offered', { event_id: 'e9', kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: 'new' })).toBe('offered')
    expect((await store.readOffers('offered')).map(({ event_id }) => event_id).at(-1)).toBe('e9')
    await expect(store.claim('doomed', owner('b'))).rejects.toMatchObject({ code: 'conversation.busy' })
    expect(await store.finishDeletions()).toEqual(['doomed'])
    await store.close()
    const { agent, close } = await openAgent(settingsOf(place))
    const { answer } = await agent.run('asked', 'And what is the largest of the sales in the file?').result
    expect(answer).toContain('20')
    await close()
  })

  it('keeps parked conversations, and the receipts of finished and unfinished deletions', async () => {
    const [first, second] = [{ data: newFolder() }, { data: newFolder() }]
    const database = { data: newFolder(), databaseUrl: await newDatabase() }
    const event = { event_id: 'e1', kind: 'followup' as const, ts: '2026-01-01T00:00:00.000Z', text: 'Hello' }
    const store = await openStore(first)
    await store.offer('parked', event, { create: true })
    const { claim } = await store.work.claimNext(owner('a'), { maxAttempts: 1 })
    if (claim) await store.release(claim) // the state after its process has died
    const parked = async () => {
      await store.work.claimNext(owner('a'), { maxAttempts: 1 })
      return (await store.work.summary()).parked
    }
    await expect.poll(parked).toBe(1)
    for (const id of ['old', 'new']) {
      await store.append(await store.claim(id, owner('a')), [appended([prompt(id)])])
      await store.receipts?.open(`subject of ${id}`, `receipt of ${id}`)
      const receiptId = `receipt of ${id}`
      const removeFiles = id === 'old' ? async () => {} : () => Promise.reject(new Error('the folder is in use'))
      await store.delete(id, { receipt: receiptId, removeFiles }).catch(() => {})
      if (id === 'old') await store.receipts?.finish(receiptId, { tenants: [], budgets: [], budgetPrefixes: [] })
    }
    const stateOf = async (place: TestPlace, opened?: ConversationStore) => {
      const read = opened ?? (await openStore(place))
      const [old, unfinished] = [await read.receipts?.find('subject of old'), await read.receipts?.find('subject of new')]
      const { conversations } = await read.list({})
      await read.close()
      return { old, unfinished, conversations }
    }
    const before = await stateOf(first, store)
    expect(before).toMatchObject({ old: { finishedAt: expect.any(String) }, unfinished: { unfinished: 1 } })
    expect(before.conversations.find(({ conversationId }) => conversationId === 'parked')?.parked).toBeDefined()
    await moveInstallation({ from: first.data, to: database.databaseUrl, data: database.data })
    expect(await stateOf(database)).toEqual(before)
    await moveInstallation({ from: database.databaseUrl, to: second.data, data: database.data })
    expect(await stateOf(second)).toEqual(before)
    const moved = await openStore(second)
    expect(await moved.finishDeletions()).toEqual(['new'])
    const finished = await moved.receipts?.finish('receipt of new', { tenants: [], budgets: [], budgetPrefixes: [] })
    await moved.close()
    expect(finished).toMatchObject({ finishedAt: expect.any(String), counts: { conversations: 1 } })
  })

  it('with dryRun, counts everything and writes nothing', async () => {
    const place = { data: newFolder(), databaseUrl: await newDatabase() }
    const planned = await moveInstallation({ from: filled.data, to: place.databaseUrl, data: place.data, dryRun: true })
    expect(await schemasOf(place.databaseUrl)).toEqual([])
    expect(existsSync(place.data)).toBe(false)
    expect(await moveInstallation({ from: filled.data, to: place.databaseUrl, data: place.data })).toEqual(planned)
    const folder = newFolder()
    await moveInstallation({ from: place.databaseUrl, to: folder, data: place.data, dryRun: true })
    expect(existsSync(folder)).toBe(false)
  })

  it('refuses a target with data of its own, and leaves it as it is', async () => {
    const [folder, url] = [newFolder(), await newDatabase()]
    for (const place of [{ data: folder }, { data: newFolder(), databaseUrl: url }]) {
      const store = await openStore(place)
      await store.append(await store.claim('mine', owner('a')), [appended([prompt('mine')])])
      await store.close()
      const to = place.databaseUrl ?? place.data
      await expect(moveInstallation({ from: filled.data, to, data: newFolder() })).rejects.toThrow('has data already')
      expect(Object.keys(await readInstallation(place))).toEqual(['mine', 'budgets', 'files'])
    }
    const other = newFolder()
    mkdirSync(join(other, 'workspaces'), { recursive: true })
    writeFileSync(join(other, 'workspaces', 'a'), 'of another installation')
    await expect(moveInstallation({ from: filled.data, to: other, data: newFolder() })).rejects.toThrow('files of another installation')
  })

  it('refuses a schema in which another program has tables, and uses an empty one of Daybook', async () => {
    const url = await newDatabase()
    await query(url, 'CREATE SCHEMA daybook; CREATE TABLE daybook.theirs (x int)')
    await expect(moveInstallation({ from: filled.data, to: url, data: newFolder() })).rejects.toThrow('has data already')
    const empty = { data: newFolder(), databaseUrl: await newDatabase() }
    await (await openStore(empty)).close()
    await moveInstallation({ from: filled.data, to: empty.databaseUrl, data: empty.data })
    expect(await readInstallation(empty)).toEqual(content)
  })

  it('refuses a source that a process uses, and blocks the start of a server on it', async () => {
    const [folder, url] = [newFolder(), await newDatabase()]
    await moveInstallation({ from: filled.data, to: folder, data: folder })
    await moveInstallation({ from: filled.data, to: url, data: filled.data })
    for (const place of [{ data: folder }, { data: filled.data, databaseUrl: url }]) {
      const from = place.databaseUrl ?? place.data
      const store = await openStore(place)
      const stop = store.watchOffers({ onOffered: () => {}, onError: () => {} }) // an idle server does the same
      await expect.poll(() => moveInstallation({ from, to: newFolder(), data: place.data }).catch(String)).toContain('in use')
      stop()
      await store.close()
      const during: Promise<unknown>[] = []
      const target = newFolder()
      const onProgress = ({ step }: MoveProgress) => {
        if (during.length === 0 && step === 'conversations') during.push(useDuringMove(place, target))
      }
      await moveInstallation({ from, to: target, data: place.data, onProgress })
      expect(await readInstallation({ data: target })).toEqual(content)
      await Promise.all(during)
    }
  })

  it('continues an interrupted move only from the same source, with what the source has become', async () => {
    const from = newFolder()
    await moveInstallation({ from: filled.data, to: from, data: from })
    for (const to of [newFolder(), await newDatabase()]) {
      const data = newFolder()
      const stop = new Error('stopped')
      const onProgress = ({ step, done }: MoveProgress) => {
        if (step === 'conversations' && done === 6) throw stop
      }
      await expect(moveInstallation({ from, to, data, onProgress })).rejects.toThrow('stopped')
      await expect(moveInstallation({ from: filled.data, to, data })).rejects.toThrow('unfinished move')
      const store = await openStore({ data: from })
      await store.delete('asked')
      const claim = await store.claim('tenant-0/p/u/c0', owner('a'))
      await store.append(claim, [appended([prompt('since then', 't9', 200)], claim.epoch + 1_000)])
      await store.release(claim)
      await store.close()
      const { isResumed } = await moveInstallation({ from, to, data })
      expect(isResumed).toBe(true)
      const place = to.startsWith('postgres') ? { data, databaseUrl: to } : { data: to }
      expect(await readInstallation(place)).toEqual(await readInstallation({ data: from }))
    }
  })

  it('copies large blobs between a folder, PostgreSQL and a bucket, and a damaged one stops the move', async () => {
    const s3 = await startS3(join(root, 's3-large'))
    closers.push(s3.stop)
    const { bucket: name, endpoint, accessKeyId, secretAccessKey } = s3.options
    const bucket = { bucket: name, endpoint, accessKeyId, secretAccessKey }
    const [data, url, inBucket, back] = [newFolder(), await newDatabase(), newFolder(), newFolder()]
    const content = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251))
    const store = await openStore({ data })
    const claim = await store.claim('c1', owner('a'))
    await store.append(claim, [appended([prompt('a')])])
    await store.release(claim)
    const blob = await store.blobs.put(content)
    await store.close()
    await moveInstallation({ from: data, to: url, data: inBucket })
    expect(await query(url, `SELECT count(*)::int AS n FROM daybook.blobs WHERE sha256 = '${blob.sha256}'`)).toEqual([{ n: 12 }])
    await moveInstallation({ from: url, to: inBucket, data: inBucket, s3: bucket, bucket: 'to' })
    await moveInstallation({ from: inBucket, to: back, data: back, s3: bucket, bucket: 'from' })
    const moved = await openStore({ data: back })
    expect(Buffer.compare(await moved.blobs.get(blob.sha256), content)).toBe(0)
    await moved.close()
    const file = join(data, 'blobs', blob.sha256.slice(0, 2), blob.sha256)
    writeFileSync(file, Buffer.alloc(content.length))
    const target = await newDatabase()
    await expect(moveInstallation({ from: data, to: target, data: newFolder() })).rejects.toMatchObject({ code: 'blob.damaged' })
    const rows = await query(target, `SELECT count(*)::int AS n FROM daybook_moving.blobs WHERE sha256 LIKE 'draft:%'`)
    expect(rows).toEqual([{ n: 0 }])
  })

  it('moves files to a bucket of S3 and back, and leaves them there if both sides use it', async () => {
    const s3 = await startS3(join(root, 's3'))
    closers.push(s3.stop)
    const { bucket: name, endpoint, accessKeyId, secretAccessKey } = s3.options
    const bucket = { bucket: name, endpoint, accessKeyId, secretAccessKey }
    const [data, url, back] = [newFolder(), await newDatabase(), newFolder()]
    await expect(moveInstallation({ from: filled.data, to: url, data, s3: bucket })).rejects.toThrow('--s3')
    await moveInstallation({ from: filled.data, to: url, data, s3: bucket, bucket: 'to' })
    expect(await query(url, 'SELECT count(*)::int AS n FROM daybook.blobs')).toEqual([{ n: 0 }])
    const both = await moveInstallation({ from: url, to: newFolder(), data, s3: bucket, bucket: 'both' })
    expect(both).toMatchObject({ blobs: 0, hostedFiles: 0, conversations: 8 })
    await moveInstallation({ from: url, to: back, data, s3: bucket, bucket: 'from' })
    expect(await readInstallation({ data: back })).toEqual(content)
    await expect(moveInstallation({ from: back, to: newFolder(), data, s3: bucket, bucket: 'to' })).rejects.toThrow('bucket has files')
  })

  it('goes on while the bucket is too busy to say which blobs it has', async () => {
    let refused = 0
    const s3 = await startS3(join(root, 's3-busy'), {
      isAnswered({ method, url = '' }, response) {
        if (method !== 'HEAD' || !url.includes('/daybook/blobs/') || refused > 0) return false
        refused++
        response.writeHead(503, { 'Retry-After': '20' }).end()
        return true
      },
    })
    closers.push(s3.stop)
    const { bucket: name, endpoint, accessKeyId, secretAccessKey } = s3.options
    const bucket = { bucket: name, endpoint, accessKeyId, secretAccessKey }
    const [to, back] = [newFolder(), newFolder()]
    await moveInstallation({ from: filled.data, to, data: to, s3: bucket, bucket: 'to' })
    expect(refused).toBe(1)
    await moveInstallation({ from: to, to: back, data: back, s3: bucket, bucket: 'from' })
    expect(await readInstallation({ data: back })).toEqual(content)
  })

  it('finds a copy that differs from its source, and does not make it available', async () => {
    const to = newFolder()
    const damage = ({ step }: MoveProgress) => {
      const blobs = join(to, 'blobs')
      const [folder = ''] = readdirSync(blobs).filter((each) => each.length === 2)
      const [file = ''] = readdirSync(join(blobs, folder))
      if (step === 'conversations') writeFileSync(join(blobs, folder, file), Buffer.alloc(statSync(join(blobs, folder, file)).size))
    }
    await expect(moveInstallation({ from: filled.data, to, data: to, onProgress: damage })).rejects.toMatchObject({ code: 'blob.damaged' })
    expect(existsSync(join(to, 'daybook.db'))).toBe(false)
  })

  it('refuses a source of an older format, a missing one, and the same place', async () => {
    await expect(moveInstallation({ from: newFolder(), to: newFolder(), data: root })).rejects.toThrow('nothing to move')
    await expect(moveInstallation({ from: await newDatabase(), to: newFolder(), data: root })).rejects.toThrow('no schema')
    await expect(moveInstallation({ from: filled.data, to: `${filled.data}/`, data: root })).rejects.toThrow('same place')
  })
})

/**
 * Uses the source of a move like a server that is started during the move. Data that such a server writes would be lost, so it has to wait
 * until the move has ended.
 */
async function useDuringMove(place: TestPlace, target: string): Promise<void> {
  const store = await openStore(place)
  await store.claim('asked', owner('late'))
  expect(existsSync(join(target, 'daybook.db'))).toBe(true)
  await store.close()
}

async function hashesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const { path, kind } of listTree(folder))
    if (kind === 'file')
      found.set(
        path,
        createHash('sha256')
          .update(readFileSync(join(folder, path)))
          .digest('hex'),
      )
  return found
}

const schemasOf = async (url: string) => query(url, `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'daybook%'`)

async function query(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
