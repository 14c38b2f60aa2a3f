import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import { prompt } from '../../../testing/blocks.ts'
import { appended, journalOf, owner } from '../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createPostgresStore, migratePostgres } from './store.ts'

describe.skipIf(!hasPostgres)('names and rights', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()))
  })
  afterAll(() => server?.stop())
  async function open(url = server?.url ?? '') {
    const store = await createPostgresStore({ url, clock: createFixedClock(), leaseTime: 'clock', maxConnections: 2 })
    opened.push(store)
    return store
  }
  const query = async (sql: string, url = server?.url) => {
    const client = new pg.Client({ connectionString: url ?? '' })
    await client.connect()
    await client.query(sql)
    await client.end()
  }

  it.each([
    ['the character U+0000', 'a\0b'],
    ['more bytes than an index of PostgreSQL allows', randomBytes(900).toString('hex')],
    ['more bytes than an index allows together with its folder', `${randomBytes(700).toString('hex')}/c`],
  ])('a name with %s is rejected before anything is written', async (_, name) => {
    const store = await open()
    const claim = await store.claim('source', owner('a'))
    if (((await store.head('source'))?.lastSeq ?? 0) === 0) await store.append(claim, [appended([prompt('a')])])
    await expect(store.claim(name, owner('a'))).rejects.toMatchObject({ code: 'change.invalid' })
    await expect(store.importBundle(await store.exportBundle('source'), { as: name })).rejects.toMatchObject({ code: 'change.invalid' })
    const other = { ...claim, conversationId: name }
    await expect(store.append(other, [appended([prompt('a')])])).rejects.toMatchObject({ code: 'conversation.missing' })
    await expect(store.renew(other)).rejects.toMatchObject({ code: 'conversation.missing' })
    await store.release(other)
    expect([await store.head(name), await store.loadVisible(name), await journalOf(store, name)]).toEqual([undefined, undefined, []])
    expect((await store.list({ prefix: name })).conversations).toEqual([])
  })

  it('the longest name can be used for everything', async () => {
    const store = await open()
    const name = `${randomBytes(500).toString('hex')}/${randomBytes(99).toString('hex')}`
    const claim = await store.claim(name, owner('a'))
    await store.append(claim, [appended([prompt('a')]), { type: 'title.set', ts: '2026-01-01T00:00:00.000Z', title: name }])
    expect((await store.list({ prefix: name })).conversations).toHaveLength(1)
    expect(await store.delete(name)).toBe(true)
  })

  it('a user without the right to the schema is told what to do, and one with rights may use the tables of another', async () => {
    const url = (await server?.createDatabase()) ?? ''
    await migratePostgres({ url })
    await query('CREATE ROLE guest LOGIN; CREATE ROLE member LOGIN')
    const as = (role: string) => Object.assign(new URL(url), { username: role }).href
    await expect(open(as('guest'))).rejects.toMatchObject({
      code: 'store.failed',
      message: expect.stringMatching(/grant .* schema daybook/),
    })
    await query(
      `GRANT USAGE ON SCHEMA daybook TO member; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA daybook TO member;
       GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA daybook TO member`,
      url,
    )
    const store = await open(as('member'))
    await store.append(await store.claim('c1', owner('a')), [appended([prompt('a')])])
    expect(await journalOf(store, 'c1')).toHaveLength(1)
    expect(await store.delete('c1')).toBe(true)
    await expect(migratePostgres({ url: as('guest') })).rejects.toMatchObject({ message: expect.stringContaining('grant') })
    expect(await migratePostgres({ url: as('member') })).toMatchObject({ from: expect.any(Number) })
  })
})
