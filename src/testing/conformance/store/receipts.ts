import { LEASE_MS } from '../../../ports/store.ts'
import { prompt } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, closed, opened, owner, type StoreFixture, writeConversation } from './fixture.ts'

/** Tests of receipts: everything that a deletion removes is counted once, even if another process finishes the deletion. */
export function describeReceipts({ describe, it, expect }: TestRunner, create: CreateStore): void {
  const receiptsOf = ({ store }: StoreFixture) => store.receipts as NonNullable<typeof store.receipts>

  /** Writes a conversation with three entries. Its content is a blob. */
  async function write({ store }: StoreFixture, id: string, content: string): Promise<void> {
    const block = { ...prompt('', 't1'), text: undefined, base64: Buffer.from(content).toString('base64') }
    const claim = await writeConversation(store, id, [opened('t1'), appended([block as never]), closed('t1')])
    await store.release(claim)
  }

  const names = { tenants: ['acme'], budgets: ['user/acme/web/ann'], budgetPrefixes: ['conversation/acme/web/ann/'] }

  describe('receipts', () => {
    it('count the rows and blobs of all deletions that name the receipt, and the blobs that stay because other conversations need them', async () => {
      const fixture = await create()
      const { store } = fixture
      await write(fixture, 'acme/web/ann/c1', 'content a')
      await write(fixture, 'acme/web/ann/c2', 'content b')
      await write(fixture, 'acme/web/bob/c3', 'content b')
      const receipts = receiptsOf(fixture)
      const { receiptId } = await receipts.open('subject', 'receipt-1')
      expect(receiptId).toBe('receipt-1')
      const countFiles = async () => ({ 'files.working': 2 })
      for (const id of ['acme/web/ann/c1', 'acme/web/ann/c2']) await store.delete(id, { receipt: receiptId, countFiles })
      const finished = await receipts.finish(receiptId, names)
      expect(finished).toMatchObject({ receiptId, unfinished: 0 })
      expect(finished.finishedAt === undefined).toBe(false)
      expect(finished.counts).toMatchObject({ conversations: 2, journal: 6, 'files.working': 4, 'files.blobs': 1, 'kept.blobs': 1 })
      expect(await receipts.finish(receiptId, names)).toEqual(finished)
      expect(await receipts.find('subject')).toEqual(finished)
      expect(await receipts.find('another')).toBe(undefined)
    })

    it('a blob that two deleted conversations share is counted once, as removed', async () => {
      const fixture = await create()
      for (const id of ['c1', 'c2']) await write(fixture, id, 'content a')
      const receipts = receiptsOf(fixture)
      await receipts.open('subject', 'receipt-1')
      for (const id of ['c1', 'c2']) await fixture.store.delete(id, { receipt: 'receipt-1' })
      const { counts } = await receipts.finish('receipt-1', names)
      expect(counts['files.blobs']).toBe(1)
      expect(counts['kept.blobs']).toBe(undefined)
    })

    it('a deletion that failed is counted once, even if another owner finishes it without naming the receipt', async () => {
      const fixture = await create()
      const { store, clock } = fixture
      await write(fixture, 'c1', 'content a')
      const receipts = receiptsOf(fixture)
      await receipts.open('subject', 'receipt-1')
      let counted = 0
      const countFiles = async () => {
        counted++
        return { 'files.hosted': 3 }
      }
      const removeFiles = () => Promise.reject(new Error('the disk is gone'))
      const options = { owner: owner('a'), receipt: 'receipt-1', countFiles, removeFiles }
      await expect(store.delete('c1', options)).rejects.toMatchObject({ message: 'the disk is gone' })
      expect(await receipts.open('subject', 'receipt-2')).toMatchObject({ receiptId: 'receipt-1', unfinished: 1 })
      clock.advance(LEASE_MS)
      expect(await store.finishDeletions({ owner: owner('b'), countFiles })).toEqual(['c1'])
      expect(counted).toBe(1)
      const { counts, unfinished } = await receipts.finish('receipt-1', names)
      expect(unfinished).toBe(0)
      expect(counts).toMatchObject({ conversations: 1, journal: 3, 'files.hosted': 3, 'files.blobs': 1 })
    })

    it('after the end of a receipt, the same subject gets another one', async () => {
      const fixture = await create()
      const receipts = receiptsOf(fixture)
      await receipts.open('subject', 'receipt-1')
      await receipts.finish('receipt-1', names)
      expect(await receipts.open('subject', 'receipt-2')).toMatchObject({ receiptId: 'receipt-2', counts: {}, unfinished: 0 })
      expect(await receipts.find('subject')).toMatchObject({ receiptId: 'receipt-2' })
    })

    it('a deletion without a receipt is counted nowhere', async () => {
      const fixture = await create()
      await write(fixture, 'c1', 'short')
      const receipts = receiptsOf(fixture)
      await receipts.open('subject', 'receipt-1')
      await fixture.store.delete('c1', { countFiles: () => Promise.reject(new Error('not needed')) })
      expect(await receipts.find('subject')).toMatchObject({ counts: {} })
    })
  })
}
