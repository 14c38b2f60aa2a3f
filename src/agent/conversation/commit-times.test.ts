import { expect, it } from 'vitest'
import type { Claim, ConversationStore, Entry } from '../../ports/store.ts'
import { createCommitTimes } from './ledger.ts'

const claim: Claim = {
  conversationId: 'c',
  ownerId: 'me',
  epoch: 1,
  expiresAt: '2026-01-01T00:00:00.000Z',
  found: { epoch: 0, lastSeq: 0, offers: 0 },
}

it('counts the commits that wait for longer than a time, until they have succeeded or failed', async () => {
  const clock = { ms: 1_000 }
  const commits = createCommitTimes(() => clock.ms)
  const appends: PromiseWithResolvers<readonly Entry[]>[] = []
  const append: ConversationStore['append'] = () => {
    const next = Promise.withResolvers<readonly Entry[]>()
    appends.push(next)
    return next.promise
  }
  const journal = commits.measured({ append })
  expect(commits.countOver(0)).toBe(0)
  const first = journal.append(claim, [])
  clock.ms += 300
  const second = journal.append(claim, [])
  clock.ms += 100
  expect([0, 99, 100, 399, 400].map((ms) => commits.countOver(ms))).toEqual([2, 2, 1, 1, 0])

  appends[0]?.resolve([])
  expect(await first).toEqual([])
  expect(commits.countOver(0)).toBe(1)
  appends[1]?.reject(new Error('the disk is full'))
  await expect(second).rejects.toThrow('the disk is full')
  expect(commits.countOver(0)).toBe(0)
})
