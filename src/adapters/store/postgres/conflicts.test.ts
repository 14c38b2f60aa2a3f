import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { hasPostgres, startPostgres } from '../../../../test/support/postgres.ts'
import type { Claim, ConversationStore } from '../../../ports/store.ts'
import { prompt } from '../../../testing/blocks.ts'
import { appended, journalOf, owner } from '../../../testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../../testing/fixed-clock.ts'
import { createPostgresStore } from './store.ts'

describe.skipIf(!hasPostgres)('many processes at once', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()))
  })
  afterAll(() => server?.stop())
  const openAll = (url: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const store = await createPostgresStore({ url, clock: createFixedClock(), leaseTime: 'clock', maxConnections: 4 })
        opened.push(store)
        return store
      }),
    )
  const query = async (url: string, sql: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query(sql)
    await client.end()
    return rows
  }
  const settled = async (work: Promise<unknown>) => {
    const [result] = await Promise.allSettled([work])
    return result.status === 'fulfilled' ? 'done' : ((result.reason as { code?: string }).code ?? String(result.reason))
  }

  it('append, delete and offer with large texts, claim and remove blobs without a deadlock', async () => {
    const url = (await server?.createDatabase()) ?? ''
    const stores = await openAll(url, 4)
    const ids = ['c1', 'c2', 'c3']
    const large = (n: number) => `${n % 5} `.repeat(6_000) // conversations share blobs
    const outcomes = new Set<string>()
    const works = stores.flatMap((store, index) =>
      ids.map(async (id, at) => {
        for (let n = 0; n < 25; n++) {
          const me = owner(`${index} ${at} ${n}`)
          let claim: Claim | undefined
          outcomes.add(await settled(store.claim(id, me, { takeOver: 'always' }).then((taken) => (claim = taken))))
          const next = (await store.head(id))?.lastSeq ?? 0
          if (claim) outcomes.add(await settled(store.append(claim, [appended([prompt(large(n))], next + 1)])))
          outcomes.add(
            await settled(store.offer(id, { event_id: me.id, kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: large(n) })),
          )
          if (n % 4 === 0) outcomes.add(await settled(store.delete(id)))
          if (n % 5 === 0) {
            const blobs = await Promise.all([1, 2, 3].map((k) => store.blobs.put(Buffer.from(large(n + k)))))
            outcomes.add(await settled(store.releaseBlobs(n % 2 ? blobs : blobs.reverse())))
          }
        }
      }),
    )
    await Promise.all(works)
    expect([...outcomes].sort()).toEqual(expect.arrayContaining(['done']))
    const known = ['done', 'conversation.superseded', 'conversation.missing', 'conversation.busy', 'change.invalid']
    expect([...outcomes].filter((outcome) => !known.includes(outcome))).toEqual([])
    for (const id of ids) {
      const seqs = (await journalOf(stores[0] as (typeof stores)[0], id)).map(({ seq }) => seq)
      expect(seqs).toEqual(seqs.map((_, index) => index + 1))
    }
    await Promise.all(opened.splice(0).map((each) => each.close())) // the server updates its counts when a connection ends
    await expect
      .poll(async () => await query(url, 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()'))
      .toEqual([{ deadlocks: '0' }])
  })

  it('claim what they have released, and find what other processes have done since', async () => {
    const url = (await server?.createDatabase()) ?? ''
    const [one, two] = (await openAll(url, 2)) as [ConversationStore, ConversationStore]
    const runTurn = async (store: ConversationStore, id: string) => {
      const claim = await store.claim('c1', owner(id))
      await store.append(claim, [appended([prompt(id)], claim.found.lastSeq + 1)])
      await store.release(claim)
      return claim
    }
    const first = await runTurn(one, 'a')
    const again = await runTurn(one, 'a')
    expect(again.found).toEqual({ epoch: first.epoch, lastSeq: 1, offers: 0 })
    const others = await runTurn(two, 'b')
    expect(others.found).toEqual({ epoch: again.epoch, lastSeq: 2, offers: 0 })
    expect((await runTurn(one, 'a')).found).toEqual({ epoch: others.epoch, lastSeq: 3, offers: 0 })

    await two.offer('c1', { event_id: 'e1', kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: 'Hello' })
    const offered = await one.claim('c1', owner('a'))
    expect(offered.found).toMatchObject({ lastSeq: 4, offers: 1 })
    await one.release(offered)

    const held = await two.claim('c1', owner('b'))
    expect(await settled(one.claim('c1', owner('a')))).toBe('conversation.busy')
    expect(await settled(one.append(offered, []))).toBe('conversation.superseded')
    await two.release(held)
    await two.delete('c1')
    expect((await runTurn(one, 'a')).found).toMatchObject({ lastSeq: 0, offers: 0 })
  })
})
