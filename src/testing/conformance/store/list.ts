import { childKey, childPrefix, conversationKey } from '../../../core/scope.ts'
import type { ConversationInfo, ListQuery } from '../../../ports/store/list.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { minute, prompt } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { accepted, appended, type CreateStore, closed, compacted, folded, opened, owner, writeConversation } from './fixture.ts'

const names = (heads: readonly ConversationInfo[]) => heads.map(({ conversationId }) => conversationId)
/** What the list shows for a conversation without entries. */
const idle = {
  title: null,
  startedAt: null,
  lastActivityAt: null,
  lastSeq: 0,
  openTurn: null,
  waiting: [],
  waits: [],
  dueAt: null,
  offers: 0,
}
const titled = (title: string, at: number) => ({ type: 'title.set' as const, ts: minute(at), title })

async function pages(store: ConversationStore, query: ListQuery, between: () => Promise<unknown> = async () => undefined) {
  const found: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) })
    found.push(...names(page.conversations))
    cursor = page.next
    await between()
  } while (cursor !== undefined)
  return found
}

/** Tests of the list of conversations. */
export function describeList({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('the list', () => {
    it('shows title, times, last entry, open turn and waiting followups of each conversation, most recently active first', async () => {
      const { store } = await create()
      await writeConversation(store, 'old', [opened('t1', 1), appended([prompt('x', 't1', 2)]), titled('Rome', 3), closed('t1', 4)])
      await writeConversation(store, 'new', [appended([prompt('x', 't1', 7)]), opened('t1', 8)])
      await store.claim('empty', owner('a'))
      expect((await store.list({})).conversations).toEqual([
        { ...idle, conversationId: 'new', startedAt: minute(7), lastActivityAt: minute(8), lastSeq: 2, openTurn: 't1' },
        { ...idle, conversationId: 'old', title: 'Rome', startedAt: minute(1), lastActivityAt: minute(4), lastSeq: 4 },
        { ...idle, conversationId: 'empty' },
      ])
    })

    it('returns every conversation exactly once across pages while new conversations appear', async () => {
      const { store } = await create()
      // the first four conversations have the same time
      for (let n = 0; n < 7; n++) await writeConversation(store, `c${n}`, [titled('t', n < 4 ? 10 : n)])
      await store.claim('never used', owner('a'))
      const all = ['c0', 'c1', 'c2', 'c3', 'c6', 'c5', 'c4', 'never used']
      expect(await pages(store, {})).toEqual(all)
      for (const limit of [1, 2, 3, 8]) {
        let extra = 0
        const newer = () => writeConversation(store, `newer-${limit}-${extra}`, [titled('t', 100 + extra++)])
        const found = (await pages(store, { limit }, newer)).filter((name) => !name.startsWith('newer'))
        expect(found).toEqual(all)
      }
    })

    it('moves a conversation to the front when an entry is appended to it', async () => {
      const { store } = await create()
      const first = await writeConversation(store, 'a', [titled('t', 1)])
      await writeConversation(store, 'b', [titled('t', 2)])
      await store.append(first, [titled('t', 3)])
      expect(names((await store.list({})).conversations)).toEqual(['a', 'b'])
    })

    it('searches titles in any case and any script, and treats % and _ as plain characters', async () => {
      const { store } = await create()
      const titles = ['Weather in Rome', 'ÉTÉ À PARIS', '100% sure_thing', 'plain', 'half \ud83d of a pair']
      for (const [n, title] of titles.entries()) await writeConversation(store, title === 'plain' ? 'plain' : `c${n}`, [titled(title, n)])
      const search = async (text: string) => names((await store.list({ search: text })).conversations)
      expect(await search('rome')).toEqual(['c0'])
      expect(await search('été à')).toEqual(['c1'])
      expect(await search('e\u0301te\u0301')).toEqual(['c1'])
      expect(await search('%')).toEqual(['c2'])
      expect(await search('_')).toEqual(['c2'])
      expect(await search('\\')).toEqual([])
      expect(await search('half \ufffd')).toEqual(['c4'])
      expect((await search('')).length).toBe(5)
    })

    it('returns with open: true only conversations that have an open turn or a waiting followup', async () => {
      const { store } = await create()
      await writeConversation(store, 'open', [opened('t1', 1)])
      await writeConversation(store, 'done', [opened('t1', 2), closed('t1', 3)])
      await writeConversation(store, 'waiting', [opened('t1', 4)], [closed('t1', 5), accepted('e1', 6)])
      await writeConversation(store, 'answered', [accepted('e1', 7)], [opened('t2', 8), folded(['e1'], 8, 't2')], [closed('t2', 9)])
      for (const [n, kind] of (['steer', 'feedback', 'external'] as const).entries()) {
        await writeConversation(store, `only ${kind}`, [opened('t1', 10), closed('t1', 11), accepted('e1', 12 + n, kind)])
      }
      expect(names((await store.list({ open: true })).conversations)).toEqual(['waiting', 'open'])
      expect(await pages(store, { open: true, limit: 1 })).toEqual(['waiting', 'open'])
    })

    it('names a followup as waiting from its acceptance until a turn reads it, even after a compaction', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1', 1), appended([prompt('x', 't1', 1)])])
      const waiting = async () => (await store.list({})).conversations.map((head) => head.waiting)
      await store.append(claim, [accepted('e1', 2), accepted('e2', 3, 'feedback'), accepted('\ud83d "e3"', 4)])
      expect(await waiting()).toEqual([['e1', '\ud83d "e3"']])
      await store.append(claim, [accepted('e1', 5), compacted('b_1', 2), closed('t1', 6)])
      expect(await waiting()).toEqual([['e1', '\ud83d "e3"']])
      await store.append(claim, [folded(['e2', '\ud83d "e3"', 'never'], 7), accepted('e4', 8)])
      expect(await waiting()).toEqual([['e1', 'e4']])
      await store.append(claim, [folded(['e4'], 9), folded(['e1'], 9)])
      expect(await waiting()).toEqual([[]])
      expect((await store.list({ open: true })).conversations).toEqual([])
    })

    it('imports a conversation without its waiting followups', async () => {
      const { store } = await create()
      await writeConversation(store, 'c1', [opened('t1', 1), appended([prompt('x', 't1', 1)]), closed('t1', 2), accepted('e1', 3)])
      await store.importBundle(await store.exportBundle('c1'), { as: 'copy' })
      expect(names((await store.list({ open: true })).conversations)).toEqual(['c1'])
    })

    it('filters by prefix, and treats % and _ in the prefix as plain characters', async () => {
      const { store } = await create()
      for (const [n, name] of ['a/b/1', 'a/b/2', 'a/bc/1', 'A/b/1', 'a%b', 'a_b'].entries())
        await writeConversation(store, name, [titled('t', n)])
      const begun = async (prefix: string) => names((await store.list({ prefix })).conversations)
      expect(await begun('a/b/')).toEqual(['a/b/2', 'a/b/1'])
      expect(await begun('a%')).toEqual(['a%b'])
      expect(await begun('a_')).toEqual(['a_b'])
      expect((await begun('')).length).toBe(6)
      expect(names((await store.list({ plain: true })).conversations)).toEqual(['a_b', 'a%b'])
    })

    it('leaves out the conversations of sub-agents with `top`, and finds them by their prefix', async () => {
      const { store } = await create()
      const child = childKey('c1', '0123456789ab')
      const foreign = conversationKey({ tenant: 'acme', project: 'web', user: 'ann' }, 'c1')
      const all = ['c1', child, childKey(child, 'ba9876543210'), foreign, childKey(foreign, '0123456789ab')]
      for (const [n, name] of all.entries()) await writeConversation(store, name, [opened('t1', n)])
      const listed = async (query: ListQuery) => names((await store.list(query)).conversations)
      expect(await listed({ top: true })).toEqual([foreign, 'c1'])
      expect(await listed({ top: true, plain: true })).toEqual(['c1'])
      expect(await listed({ top: true, prefix: 'acme/web/ann/' })).toEqual([foreign])
      expect(await listed({ top: true, open: true })).toEqual([foreign, 'c1'])
      expect(await listed({ prefix: childPrefix('c1') })).toEqual([all[2], all[1]])
      expect((await listed({})).length).toBe(5)
    })

    it('returns from head what the list shows for a conversation, and undefined for a missing one', async () => {
      const { store } = await create()
      const shown = async (name: string) => (await store.list({})).conversations.find(({ conversationId }) => conversationId === name)
      await store.claim('empty', owner('a'))
      const claim = await writeConversation(store, '../%_ "é"', [opened('t1', 1), appended([prompt('x', 't1', 1)]), titled('Rome', 2)])
      await store.append(claim, [accepted('e1', 3), compacted('b_1', 2, 't1', 4)])
      expect(await store.head('empty')).toEqual(await shown('empty'))
      expect(await store.head('../%_ "é"')).toEqual({
        conversationId: '../%_ "é"',
        title: 'Rome',
        startedAt: minute(1),
        lastActivityAt: minute(4),
        lastSeq: 5,
        openTurn: 't1',
        waiting: ['e1'],
        offers: 0,
        waits: [],
        dueAt: null,
      })
      await store.append(claim, [folded(['e1'], 5, 't1'), closed('t1', 6), titled('half \ud83d of a pair', 7)])
      expect(await store.head('../%_ "é"')).toEqual(await shown('../%_ "é"'))
      await store.importBundle(await store.exportBundle('../%_ "é"'), { as: 'copy' })
      expect(await store.head('copy')).toEqual(await shown('copy'))
      await store.delete('copy')
      for (const missing of ['copy', 'Empty', 'empt', 'empty\ud83d', '']) expect(await store.head(missing)).toBe(undefined)
      await store.close()
      await expect(store.head('empty')).rejects.toMatchObject({ code: 'store.closed' })
    })

    it('rejects a cursor that it did not return', async () => {
      const { store } = await create()
      await expect(store.list({ cursor: 'bm9uc2Vuc2U' })).rejects.toMatchObject({ name: 'Failure' })
    })
  })
}
