import type { ConversationStore } from '../../../ports/store.ts'
import { prompt } from '../../blocks.ts'
import type { TestRunner } from '../test-runner.ts'
import { appended, type CreateStore, owner } from './fixture.ts'

/** Watches a conversation. `told` is the list of all values that the listener received. */
function watchConversation(store: ConversationStore, conversationId: string) {
  const told: (number | undefined)[] = []
  const errors: unknown[] = []
  const waiting = new Set<() => void>()
  const onWritten = (lastSeq: number | undefined) => {
    told.push(lastSeq)
    for (const check of waiting) check()
  }
  const unwatch = store.watch(conversationId, { onWritten, onError: (error) => void errors.push(error) })
  /** Resolves when the listener has received this value. */
  const until = (lastSeq: number | undefined) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!told.includes(lastSeq)) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
    })
  return { told, errors, unwatch, until }
}

/** Tests of `watch`: it tells about new entries and deleted conversations. */
export function describeWatch({ describe, it, expect }: TestRunner, create: CreateStore): void {
  describe('watching', () => {
    it('tells every listener of a conversation the last entry after an append, in ascending order', async () => {
      const { store } = await create()
      const claim = await store.claim('c1', owner('a'))
      const [one, two] = [watchConversation(store, 'c1'), watchConversation(store, 'c1')]
      await store.append(claim, [appended([prompt('a')])])
      await one.until(1)
      await store.append(claim, [appended([prompt('b')], 2)])
      await store.append(claim, [appended([prompt('c')], 3), appended([prompt('d')], 4)])
      await Promise.all([one.until(4), two.until(4)])
      expect(one.told).toEqual([...one.told].sort())
      expect(two.told).toEqual(one.told)
      expect([...one.errors, ...two.errors]).toEqual([])
      one.unwatch()
      two.unwatch()
    })

    it('tells about a conversation that did not exist, that is deleted, and that is created again with fewer entries', async () => {
      const { store } = await create()
      const watching = watchConversation(store, 'c1')
      const claim = await store.claim('c1', owner('a'))
      await store.append(claim, [appended([prompt('a')]), appended([prompt('b')], 2)])
      await watching.until(2)
      await store.delete('c1')
      await watching.until(undefined)
      watching.told.length = 0
      const again = await store.claim('c1', owner('a'))
      await store.append(again, [appended([prompt('a')]), appended([prompt('b')], 2)])
      await watching.until(2)
      watching.told.length = 0
      await store.delete('c1')
      await store.append(await store.claim('c1', owner('a')), [appended([prompt('a')])])
      await watching.until(1)
      expect(watching.told.includes(undefined)).toBe(true)
      watching.unwatch()
    })

    it('does not report a conversation that does not exist yet as deleted', async () => {
      const { store } = await create()
      const watching = watchConversation(store, 'c1')
      await new Promise((resolve) => setTimeout(resolve, 50))
      await store.append(await store.claim('c1', owner('a')), [appended([prompt('a')])])
      await watching.until(1)
      expect(watching.told.includes(undefined)).toBe(false)
      watching.unwatch()
    })

    it('tells nothing about other conversations, and nothing after the watching has ended', async () => {
      const { store } = await create()
      const [claim, other] = [await store.claim('c1', owner('a')), await store.claim('c2', owner('a'))]
      const [left, elsewhere, watching] = [watchConversation(store, 'c1'), watchConversation(store, 'c2'), watchConversation(store, 'c1')]
      left.unwatch()
      left.unwatch()
      await store.append(claim, [appended([prompt('a')])])
      await watching.until(1)
      expect([left.told, elsewhere.told.filter((seq) => seq !== 0)]).toEqual([[], []])
      await store.append(other, [appended([prompt('a')])])
      await elsewhere.until(1)
      await store.close() // `close` succeeds although a listener is still watching
    })
  })
}
