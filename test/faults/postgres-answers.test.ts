import { afterAll, describe, expect, it } from 'vitest'
import { createPostgresStore } from '../../src/adapters/store/postgres/store.ts'
import type { Claim, ConversationStore } from '../../src/ports/store.ts'
import { prompt } from '../../src/testing/blocks.ts'
import { accepted, appended, compacted, journalOf, opened, owner } from '../../src/testing/conformance/store/fixture.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { hasPostgres, startPostgres } from '../support/postgres.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'

/*
 * A connection to the server can be lost at every request: before the server has got the request, or after it has answered. In both cases
 * each operation must end as if nothing had happened, because the store finds out whether its work was committed.
 */
describe.skipIf(!hasPostgres)('an operation whose connection is lost', async () => {
  const server = hasPostgres ? await startPostgres() : undefined
  const proxy = server && (await startPostgresProxy(server.url))
  const stores: ConversationStore[] = []
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await proxy?.close()
    await server?.stop()
  })
  const clock = createFixedClock()
  const open = async (url: string | undefined) => {
    // one connection only: an operation that needs a second one would wait for itself
    const store = await createPostgresStore({ url: url ?? '', clock, maxConnections: 1 })
    stores.push(store)
    return store
  }
  /** A store whose connections may be cut, and one on the same tables whose connections stay. */
  const both = async () => ({ cut: await open(proxy?.url), direct: await open(server?.url) })

  const event = (id: string) => ({ event_id: id, kind: 'followup', ts: clock.now(), text: id }) as const
  const large = 'a long text '.repeat(2_000)
  /** The operations on a conversation. Each attempt has a conversation of its own. */
  const operations: Readonly<Record<string, (store: ConversationStore, id: string, claim: Claim) => Promise<unknown>>> = {
    'an append': (store, _, claim) => store.append(claim, [appended([prompt('b')], 2), opened('t1')]),
    'an append with a large text': (store, id, claim) => store.append(claim, [appended([prompt(`${id} ${large}`)], 2)]),
    'an append that takes an offer': (store, _, claim) =>
      store.append(claim, [accepted('e1', 1)], { takes: [{ eventId: 'e1', outcome: 'accepted' }] }),
    'an append that only takes an offer': (store, _, claim) => store.append(claim, [], { takes: [{ eventId: 'e1', outcome: 'refused' }] }),
    'an append that compacts': (store, _, claim) => store.append(claim, [compacted('b_1', 2)]),
    'an offer': (store, id) => store.offer(id, event('e2')),
    'an import': async (store, id) => store.importBundle(await store.exportBundle(id), { as: `${id} copy` }),
    'a claim': async (store, id) => (await store.claim(`${id} new`, owner('a'))).ownerId,
    'a renewal': (store, _, claim) => store.renew(claim),
    'a release': (store, _, claim) => store.release(claim),
    'a deletion': (store, id) => store.delete(id, { owner: owner('a') }),
    'a blob': async (store, id) => store.blobs.has((await store.blobs.put(new TextEncoder().encode(`${id} ${large}`))).sha256),
  }

  /** What is stored of an attempt in the end, with the same name for each attempt. */
  async function contentsOf(store: ConversationStore, id: string) {
    const { conversations } = await store.list({ prefix: id, limit: 100 })
    const contents = await Promise.all(
      conversations.map(async (info) => ({
        info,
        journal: await journalOf(store, info.conversationId),
        offers: await store.readOffers(info.conversationId),
        owner: await store.findOwner(info.conversationId, owner('z')),
      })),
    )
    return JSON.stringify(contents).replaceAll(id, 'ID')
  }

  it.each(Object.entries(operations))('%s ends as if it had not been lost', async (name, operation) => {
    const { cut, direct } = await both()
    /** Makes an attempt. No request has the number 0. */
    const attempt = async (request: number, side: 'before' | 'after') => {
      const id = `${name} ${String(request).padStart(2, '0')} ${side}`
      const claim = await direct.claim(id, owner('a'))
      await direct.append(claim, [appended([prompt('a')])])
      await direct.offer(id, event('e1'))
      await cut.head(id) // the connection is open
      proxy?.cutAt(request, side)
      const result = JSON.stringify((await operation(cut, id, claim)) ?? null).replaceAll(id, 'ID')
      const { wasCut } = proxy?.state ?? {}
      proxy?.cutAt(0, side) // no request has this number
      return { wasCut, outcome: { result, contents: await contentsOf(direct, id) } }
    }
    const { outcome: expected } = await attempt(0, 'after')
    let cuts = 0
    for (const side of ['before', 'after'] as const) {
      for (let request = 1; ; request++) {
        const { wasCut, outcome } = await attempt(request, side)
        if (!wasCut) break // the operation has fewer requests
        expect({ request, side, ...outcome }).toEqual({ request, side, ...expected })
        cuts++
      }
    }
    expect(cuts).toBeGreaterThan(1)
  })

  it('is known to be done if another owner has taken the conversation meanwhile', async () => {
    const { cut, direct } = await both()
    const claim = await cut.claim('c1', owner('a'))
    const takeOver = async () => void (await direct.claim('c1', owner('b'), { takeOver: 'always' }))
    await cut.append(claim, [appended([prompt('a')])])
    proxy?.cutAt(1, 'after', takeOver)
    expect(await cut.append(claim, [appended([prompt('b')], 2)])).toMatchObject([{ seq: 2 }])
    expect(await journalOf(direct, 'c1')).toHaveLength(2)
    await expect(cut.append(claim, [appended([prompt('c')], 3)])).rejects.toMatchObject({ code: 'conversation.superseded' })
  })

  it('is known not to be done if another owner has taken the conversation before', async () => {
    const { cut, direct } = await both()
    const claim = await cut.claim('c2', owner('a'))
    const takeOver = async () => void (await direct.claim('c2', owner('b'), { takeOver: 'always' }))
    await cut.append(claim, [appended([prompt('a')])])
    proxy?.cutAt(1, 'before', takeOver)
    await expect(cut.append(claim, [appended([prompt('b')], 2)])).rejects.toMatchObject({ code: 'conversation.superseded' })
    expect(await journalOf(direct, 'c2')).toHaveLength(1)
  })

  /** Byte counts to try: all near the beginning, where the short messages are, and then some, until there are no more bytes. */
  const counts = function* () {
    for (let count = 1; ; count += count < 40 ? 1 : 13) yield count
  }

  it.each(['requests', 'answers'] as const)('is repeated or known to be done if its %s are cut within any message', async (of) => {
    const { cut, direct } = await both()
    const texts: string[] = []
    let claim = await direct.claim(`bytes of ${of}`, owner('a'))
    let cuts = 0
    for (const count of counts()) {
      await cut.head(claim.conversationId) // the connection is open
      if (cuts % 3 === 2) claim = await direct.claim(claim.conversationId, owner('a'))
      proxy?.cutAfterBytes(count, of)
      texts.push(`text ${count}`)
      const [entry] = await cut.append(claim, [appended([prompt(`text ${count}`)], texts.length)])
      expect(entry?.seq).toBe(texts.length)
      if (!proxy?.state.wasCut) break
      cuts++
    }
    proxy?.cutAfterBytes(0, of)
    const stored = (await journalOf(direct, claim.conversationId)).map(({ change }) =>
      change.type === 'blocks.appended' ? (change.blocks[0] as { text?: string }).text : undefined,
    )
    expect(stored).toEqual(texts)
    expect(cuts).toBeGreaterThan(24)
  })
})
