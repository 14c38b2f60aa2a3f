import { LEASE_MS } from '../../../ports/store.ts'
import { minute, prompt } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, journalOf, opened, owner, writeConversation } from './fixture.ts'

const large = (letter: string) => letter.repeat(10_000)

/**
 * Tests of three kinds of deletions: deletions that fail, deletions that another owner finishes, and deletions that remove data outside of
 * the store.
 */
export function describeDeletion({ describe, it, expect }: TestRunner, create: CreateStore): void {
  const failing = () => Promise.reject(new Error('the disk is gone'))

  describe('deletion and checks', () => {
    it('check changes nothing while the store works, and fails after it was closed', async () => {
      const { store } = await create()
      const claim = await writeConversation(store, 'c1', [appended([prompt('x')])])
      await store.check()
      await store.append(claim, [appended([prompt('y')], 2)])
      expect(await journalOf(store, 'c1')).toMatchObject([{ seq: 1 }, { seq: 2 }])
      await store.close()
      await expect(store.check()).rejects.toMatchObject({ code: 'store.closed' })
    })

    it('does not delete a conversation that another owner holds', async () => {
      const { store, clock } = await create()
      const claim = await store.claim('c1', owner('a'))
      await store.append(claim, [appended([prompt('x')])])
      await expect(store.delete('c1', { owner: owner('b') })).rejects.toMatchObject({ code: 'conversation.busy' })
      expect(await journalOf(store, 'c1')).toMatchObject([{ seq: 1 }])
      clock.advance(LEASE_MS)
      expect(await store.delete('c1', { owner: owner('b') })).toBe(true)
      await expect(store.append(claim, [appended([prompt('y')], 2)])).rejects.toMatchObject({ code: 'conversation.missing' })
      await expect(store.renew(claim)).rejects.toMatchObject({ code: 'conversation.missing' })
    })

    it('removes files after the conversation is marked as deleted, and before its blobs', async () => {
      const { store, blobs } = await create()
      const mine = await blobs.put(Buffer.from('mine'))
      const bytes = Buffer.from('mine').toString('base64')
      const [block] = (appended([prompt('x')]) as { blocks: readonly object[] }).blocks
      await writeConversation(store, 'c1', [{ type: 'blocks.appended', blocks: [{ ...block, text: undefined, base64: bytes }] } as never])
      const seen: unknown[] = []
      const removeFiles = async (id: string) => {
        seen.push(id, await store.head(id), await blobs.has(mine.sha256))
      }
      await store.delete('c1', { removeFiles })
      expect(seen).toEqual(['c1', undefined, true])
      expect(await blobs.has(mine.sha256)).toBe(false)
    })

    it('a deletion that failed hides the conversation, keeps its id occupied, and can be finished', async () => {
      const { store, blobs } = await create()
      const claim = await writeConversation(store, 'c1', [opened('t1'), appended([prompt(large('a'), 't1')])])
      const bundle = await store.exportBundle('c1')
      await store.release(claim)
      await expect(store.delete('c1', { owner: owner('a'), removeFiles: failing })).rejects.toMatchObject({ message: 'the disk is gone' })
      expect(await store.head('c1')).toBe(undefined)
      expect(await store.loadVisible('c1')).toBe(undefined)
      expect(await journalOf(store, 'c1')).toEqual([])
      expect(await store.findByTurn('c1', 't1')).toEqual([])
      expect(await store.readTurnLog('c1', 't1')).toBe(undefined)
      expect((await store.list({})).conversations).toEqual([])
      expect((await store.list({ open: true })).conversations).toEqual([])
      await expect(store.exportBundle('c1')).rejects.toMatchObject({ code: 'conversation.missing' })
      await expect(store.append(claim, [appended([prompt('y')], 2)])).rejects.toMatchObject({ code: 'conversation.missing' })
      await expect(store.claim('c1', owner('a'))).rejects.toMatchObject({ code: 'conversation.busy' })
      await expect(store.claim('c1', owner('a'), { takeOver: 'always' })).rejects.toMatchObject({ code: 'conversation.busy' })
      await expect(store.importBundle(bundle)).rejects.toMatchObject({ code: 'conversation.busy' })
      const asked: string[] = []
      const removeFiles = async (id: string) => void asked.push(id)
      expect(await store.finishDeletions({ owner: owner('b'), removeFiles, conversationId: 'c2' })).toEqual([])
      expect(await store.finishDeletions({ owner: owner('b'), removeFiles })).toEqual(['c1'])
      expect(await store.finishDeletions({ owner: owner('b'), removeFiles })).toEqual([])
      expect(asked).toEqual(['c1'])
      await store.importBundle(bundle)
      expect(await store.findByTurn('c1', 't1')).toMatchObject([{ text: large('a') }])
      await store.delete('c1')
      expect(await store.delete('c1')).toBe(false)
      const { sha256 } = await blobs.put(Buffer.from(large('a')))
      await store.releaseBlobs([{ sha256, size: 10_000 }])
      expect(await blobs.has(sha256)).toBe(false) // no entry refers to this blob
    })

    it('does not take over a deletion on which a living owner works before the lease of this owner ends', async () => {
      const { store, clock } = await create()
      await store.release(await writeConversation(store, 'c1', [appended([prompt('x')])]))
      const started = Promise.withResolvers<void>()
      const stuck = Promise.withResolvers<void>()
      const removeFiles = () => {
        started.resolve()
        return stuck.promise
      }
      const deleting = store.delete('c1', { owner: owner('a'), removeFiles })
      await started.promise
      for (const other of ['a', 'b']) {
        expect(await store.finishDeletions({ owner: owner(other) })).toEqual([])
        await expect(store.delete('c1', { owner: owner(other) })).rejects.toMatchObject({ code: 'conversation.busy' })
      }
      clock.advance(LEASE_MS)
      expect(await store.finishDeletions({ owner: owner('b') })).toEqual(['c1'])
      await writeConversation(store, 'c1', [appended([prompt('a new one')])])
      stuck.resolve()
      await deleting
      // The lease of the first owner has ended, so it must not remove the new conversation.
      expect(await journalOf(store, 'c1')).toMatchObject([{ seq: 1 }])
    })

    it('retain removes the files of idle conversations, finishes failed deletions, and continues after a failure', async () => {
      const { store } = await create()
      for (const name of ['c1', 'c2', 'c3']) {
        await store.release(await writeConversation(store, name, [{ type: 'title.set', ts: minute(1), title: name }]))
      }
      await expect(store.delete('c1', { removeFiles: failing })).rejects.toMatchObject({ message: 'the disk is gone' })
      const asked: string[] = []
      const removeFiles = async (id: string) => {
        asked.push(id)
        if (id === 'c2' && asked.length < 4) throw new Error('not now')
      }
      await expect(store.retain({ conversationsIdleSince: minute(5) }, { removeFiles })).rejects.toMatchObject({
        message: '1 conversations could not be deleted completely',
      })
      expect(asked.sort()).toEqual(['c1', 'c2', 'c3'])
      expect((await store.list({})).conversations).toEqual([])
      expect(await store.retain({}, { removeFiles })).toMatchObject({ conversations: 0 })
      expect(await store.finishDeletions({ removeFiles })).toEqual([])
      await store.claim('c2', owner('a'))
    })
  })
}
