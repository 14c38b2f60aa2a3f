import { attachmentBlocks, internalNoteBlock, rangeSummaryBlock, userEventBlock } from '../../../core/block/index.ts'
import type { MemoryFilter, MemoryIndex, MemoryMatch } from '../../../ports/store/memory-index.ts'
import type { ConversationStore } from '../../../ports/store.ts'
import { blockOrigin, call, completion, minute, prompt } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, closed, compacted, opened, writeConversation } from './fixture.ts'

const all = ['assistant', 'user', 'attachment', 'summary', 'notes'] as const

/** A filter for one conversation. */
export const inConversation = (conversationId: string, fields: Partial<MemoryFilter> = {}): MemoryFilter => ({
  within: { conversationId },
  targets: all,
  now: minute(100),
  limit: 10,
  ...fields,
})

const pathsOf = (matches: readonly MemoryMatch[]) => matches.map(({ path }) => path)

/** The memory index of a store. The tests of this file are only for stores that have one. */
export function memoryOf({ memory }: ConversationStore): MemoryIndex {
  if (!memory) throw new TypeError('this store has no memory index')
  return memory
}

/** Turns `t1`, `t2`, … with one message and one answer each. The blocks are numbered from `first`. */
const turnsOf = (turns: readonly (readonly [string, string])[], first = 1) =>
  turns.flatMap(([asked, answered], n) => {
    const turnId = `t${n + 1}`
    return [
      opened(turnId, 2 * n),
      appended([prompt(asked, turnId, 2 * n)], first + 2 * n),
      appended([completion(answered, turnId, 2 * n + 1)], first + 2 * n + 1),
      closed(turnId, 2 * n + 1),
    ]
  })

/** Tests of the memory index: what was said can be found, and nothing else. */
export function describeMemory({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('the memory index', () => {
    it('finds messages, answers, files, notes and summaries by their words, as soon as they are appended', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      const file = { name: 'budget-2026.xlsx', mime: 'text/csv', size_bytes: 3, summary: 'spending per month' }
      await writeConversation(store, 'c1', [
        opened('t1'),
        appended([prompt('Which harbour did the sailors reach?')]),
        appended([userEventBlock('followup', 't1', minute(1), { messageId: 'm1', text: 'And the lighthouse keeper?' })], 2),
        appended(attachmentBlocks('t1', minute(1), file), 3),
        appended([internalNoteBlock(blockOrigin('a1'), 'fi:t1.files/notes.md', '[P] prefers metric units')], 4),
        appended([completion('They reached Lisbon.')], 5),
        appended([rangeSummaryBlock('t1', minute(2), { text: 'They talked about oceans.', coveredTurnIds: ['t1'] })], 6),
      ])
      const first = async (question: string) => (await memory.search(question, inConversation('c1')))[0]
      expect(await first('sailor')).toMatchObject({
        role: 'user',
        path: 'ar:t1.user.prompt',
        turnId: 't1',
        conversationId: 'c1',
        ts: minute(0),
      })
      expect(await first('lighthouse')).toMatchObject({ role: 'user', text: 'And the lighthouse keeper?' })
      expect(await first('budget-2026.xlsx')).toMatchObject({ role: 'attachment', path: 'fi:t1.user.attachments/budget-2026.xlsx' })
      expect(await first('metric')).toMatchObject({ role: 'notes', path: 'fi:t1.files/notes.md' })
      expect(await first('reaching lisbon')).toMatchObject({ role: 'assistant', path: 'ar:t1.assistant.completion' })
      expect(await first('ocean')).toMatchObject({ role: 'summary' })
      expect(await memory.search('submarine', inConversation('c1'))).toEqual([])
      expect(await memory.search('the of !?', inConversation('c1'))).toEqual([])
      expect(await memory.search('lisbon', inConversation('other'))).toEqual([])
    })

    it('finds what is appended to a running turn after a search has indexed the turn', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      const claim = await writeConversation(store, 'acme/web/ann/c1', [opened('t1'), appended([prompt('jasper one')])])
      const found = async () => {
        const within = { user: { tenant: 'acme', project: 'web', user: 'ann' } }
        return (await memory.search('jasper', inConversation('', { within }))).map(({ turnId }) => turnId).length
      }
      expect(await found()).toBe(1)
      for (let n = 2; n <= 3; n++) {
        await store.append(claim, [appended([prompt(`jasper ${n}`, `t1${n}`, n)], n)])
        expect(await found()).toBe(n)
      }
      await store.append(claim, [closed('t1', 4)])
      await store.append(claim, [{ type: 'title.set', ts: minute(5), title: 'Stones' }])
      await store.append(claim, [appended([prompt('jasper 4', 't4', 4)], 4)])
      expect(await found()).toBe(4)
    })

    it('filters by target and time, and leaves out the turn that searches', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      await writeConversation(store, 'c1', turnsOf(Array.from({ length: 4 }, (_, n) => [`amber ${n}`, `amber answer ${n}`] as const)))
      const search = async (fields: Partial<MemoryFilter>) => pathsOf(await memory.search('amber', inConversation('c1', fields))).sort()
      expect(await search({ targets: ['assistant'] })).toEqual([1, 2, 3, 4].map((n) => `ar:t${n}.assistant.completion`))
      expect(await search({ targets: ['user'], from: minute(2), to: minute(6) })).toEqual(['ar:t2.user.prompt', 'ar:t3.user.prompt'])
      expect(await search({ targets: ['user'], except: { conversationId: 'c1', turnId: 't3' }, from: minute(4) })).toEqual([
        'ar:t4.user.prompt',
      ])
      expect((await search({ limit: 2 })).length).toBe(2)
    })

    it('lists a turn by its number, and the turns of a period', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      await writeConversation(
        store,
        'c1',
        turnsOf([
          ['one', 'first'],
          ['two', 'second'],
          ['three', 'third'],
        ]),
      )
      expect(pathsOf(await memory.list({ ...inConversation('c1'), ordinal: 2 }))).toEqual([
        'ar:t2.user.prompt',
        'ar:t2.assistant.completion',
      ])
      for (const ordinal of [9, 0, -3, 1.5, 1e300, Number.NaN]) expect(await memory.list({ ...inConversation('c1'), ordinal })).toEqual([])
      const period = inConversation('c1', { from: minute(1), to: minute(4) })
      expect(pathsOf(await memory.list(period))).toEqual(['ar:t1.assistant.completion', 'ar:t2.user.prompt'])
      expect(pathsOf(await memory.list({ ...period, order: 'newest', limit: 1 }))).toEqual(['ar:t2.assistant.completion'])
    })

    it('does not find turns that called only tools for looking up, unless the filter includes them', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      await writeConversation(store, 'c1', [
        ...turnsOf([['my cat is called Minka', 'Noted.']]),
        opened('t2', 9),
        appended([prompt('What is my cat called?', 't2', 9), call('a1', 'react.memsearch', 't2'), call('a2', 'react.read', 't2')], 20),
        appended([completion('Your cat is called Minka.', 't2', 9)], 24),
        opened('t3', 9),
        appended(
          [prompt('Draw my cat', 't3', 9), call('a3', 'react.memsearch', 't3'), call('a4', 'exec_tools.execute_code_python', 't3')],
          30,
        ),
      ])
      const turns = async (fields: Partial<MemoryFilter> = {}) =>
        (await memory.search('cat', inConversation('c1', fields))).map(({ turnId }) => turnId).sort()
      expect(await turns()).toEqual(['t1', 't3'])
      expect(await turns({ withLookups: true })).toEqual(['t1', 't2', 't3'])
    })

    it('finds what a compaction has replaced, and does not store a block twice', async () => {
      const { store, blobs } = await create()
      const memory = memoryOf(store)
      const long = `The zebra. ${'Nothing else happened that day. '.repeat(900)} The okapi slept.`
      await writeConversation(
        store,
        'c1',
        [opened('t1'), appended([prompt(long), completion('Yes.')])],
        [compacted('b_2', 3), closed('t1')],
      )
      for (const word of ['zebra', 'okapi']) {
        const matches = await memory.search(word, inConversation('c1'))
        expect(pathsOf(matches)).toEqual(['ar:t1.user.prompt'])
        expect(matches[0]?.text.includes(word)).toBe(true)
      }
      await store.importBundle(await store.exportBundle('c1'), { as: 'c2' })
      const copies = await memory.search('okapi', inConversation('c2'))
      expect(copies.map(({ conversationId, path }) => [conversationId, path])).toEqual([['c2', 'ar:t1.user.prompt']])
      expect((await store.findByPath('c2', 'ar:t1.user.prompt')).length).toBe(1)
      expect(await blobs.has('0'.repeat(64))).toBe(false)
    })

    it('finds nothing of a deleted conversation, and nothing that retention has removed', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      await writeConversation(
        store,
        'c1',
        turnsOf([
          ['quartz one', 'a'],
          ['quartz two', 'b'],
        ]),
        [compacted('b_4', 5, 't3', 9), opened('t4', 9)],
      )
      await writeConversation(store, 'c2', turnsOf([['quartz three', 'c']]))
      const user = { tenant: 'local', project: 'default', user: 'local' }
      const found = async () =>
        (await memory.search('quartz', inConversation('', { within: { user } })))
          .map(({ conversationId, turnId }) => `${conversationId} ${turnId}`)
          .sort()
      expect(await found()).toEqual(['c1 t1', 'c1 t2', 'c2 t1'])
      await store.retain({ historyBefore: minute(8) })
      expect(await found()).toEqual(['c2 t1'])
      await store.delete('c2')
      expect(await found()).toEqual([])
      await writeConversation(store, 'c2', turnsOf([['quartz again', 'd']]))
      expect(await found()).toEqual(['c2 t1'])
    })

    it('searches the conversations of a user, and returns at most the allowed number of hits of each conversation', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      const ann = { tenant: 'acme', project: 'web', user: 'ann' }
      const five = Array.from({ length: 5 }, (_, n) => [`granite ${n}`, 'ok'] as const)
      for (const name of ['acme/web/ann/c1', 'acme/web/ann/c2', 'acme/web/anna/c1', 'c1'])
        await writeConversation(store, name, turnsOf(five))
      const names = async (fields: Partial<MemoryFilter>) =>
        (await memory.search('granite', inConversation('', { within: { user: ann }, ...fields })))
          .map(({ conversationId }) => conversationId)
          .sort()
      expect(await names({ limit: 50 })).toEqual([...Array(5).fill('acme/web/ann/c1'), ...Array(5).fill('acme/web/ann/c2')])
      expect(await names({ perConversation: 2 })).toEqual(['acme/web/ann/c1', 'acme/web/ann/c1', 'acme/web/ann/c2', 'acme/web/ann/c2'])
      expect((await memory.search('granite', inConversation('acme/web/ann/c1', { limit: 5 }))).length).toBe(5)
    })

    it('finds the words of a user whose name looks like the name of a conversation of a sub-agent', async () => {
      const { store } = await create()
      await writeConversation(store, 'acme/web/ann~call_1/c1', turnsOf([['basalt', 'ok']]))
      const within = { user: { tenant: 'acme', project: 'web', user: 'ann~call_1' } }
      expect((await memoryOf(store).search('basalt', inConversation('', { within }))).length).toBe(1)
    })

    it('does not find what sub-agents said, except in their own conversations', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      const ann = { tenant: 'acme', project: 'web', user: 'ann' }
      const [parent, child] = ['acme/web/ann/c1', 'acme/web/ann/c1~call_0123456789ab']
      await writeConversation(store, parent, turnsOf([['basalt of the user', 'ok']]))
      const claim = await writeConversation(store, child, turnsOf([['basalt of the sub-agent', 'ok']]))
      const found = async (within: MemoryFilter['within']) =>
        (await memory.search('basalt', inConversation('', { within }))).map(({ text }) => text)
      expect(await found({ user: ann })).toEqual(['basalt of the user'])
      expect(await found({ conversationId: child })).toEqual(['basalt of the sub-agent'])
      await store.release(claim)
      await store.delete(child)
      expect(await found({ conversationId: child })).toEqual([])
    })

    it('keeps vectors of one model, and removes them with their snippets', async () => {
      const { store } = await create()
      const { search, vectors } = memoryOf(store)
      await writeConversation(store, 'c1', turnsOf([['opal', 'ok']]))
      const claim = await writeConversation(store, 'c2', turnsOf([['flint', 'ok']]))
      await memoryOf(store).catchUp()
      const model = await vectors.choose({ name: 'one', dimensions: 2 })
      expect(await vectors.choose({ name: 'one', dimensions: 2 })).toBe(model)
      const missing = (await vectors.missing(model, 10)) ?? []
      const vectorOf = (text: string) => Float32Array.from(text === 'flint' ? [1, 0] : [0, 1])
      await vectors.save(
        model,
        missing.map(({ owner, number, text }) => ({ owner, number, vector: vectorOf(text) })),
      )
      expect(await vectors.progress()).toEqual({ name: 'one', dimensions: 2, done: 4, all: 4 })
      const within = { user: { tenant: 'local', project: 'default', user: 'local' } }
      const similar = async () =>
        (await search('unknown', inConversation('', { within, vector: { model, values: Float32Array.of(1, 0) } }))).map(({ text }) => text)
      expect(await similar()).toEqual(['flint'])
      expect(await search('unknown', inConversation('c1', { vector: { model, values: Float32Array.of(1, 0) } }))).toEqual([])
      await store.release(claim)
      await store.delete('c2')
      await vectors.save(
        model,
        missing.map(({ owner, number }) => ({ owner, number, vector: Float32Array.of(1, 0) })),
      )
      expect(await vectors.progress()).toMatchObject({ done: 2, all: 2 })
      const other = await vectors.choose({ name: 'one', dimensions: 3 })
      expect(other === model).toBe(false)
      expect(await vectors.missing(model, 10)).toBe(undefined)
      expect((await vectors.missing(other, 10))?.length).toBe(2)
    })

    it('accepts texts and ids of any kind', async () => {
      const { store } = await create()
      const memory = memoryOf(store)
      const strange = prompt('half \ud800 pair \u0000 zero 東京タワー')
      const claim = await writeConversation(store, '../x', [opened('t1'), appended([strange])])
      expect((await memory.search('東京', inConversation('../x'))).length).toBe(1)
      await store.release(claim)
      await store.delete('../x')
      expect(await memory.search('東京', inConversation('../x'))).toEqual([])
    })
  })
}
