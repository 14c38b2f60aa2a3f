import fc from 'fast-check'
import { expect, it } from 'vitest'
import { journals } from '../../../../test/support/generators/changes.ts'
import type { Entry } from '../../../ports/store.ts'
import { createJournal, type MemoryConversation, newConversation } from './conversation.ts'
import { createIdleJournals } from './idle-journals.ts'

it('a journal has the same entries, however often it was packed in between', () => {
  let packed = 0
  fc.assert(
    fc.property(journals(), fc.array(fc.nat(20)), fc.array(fc.nat(20)), (changes, packAt, readAt) => {
      const journal = createJournal(() => {})
      const entries: Entry[] = []
      for (const [index, change] of changes.entries()) {
        // the entry has the form in which a store on disk returns it
        const entry = JSON.parse(JSON.stringify({ seq: index + 1, change })) as Entry
        entries.push(entry)
        journal.add(entry)
        if (packAt.includes(index)) journal.pack()
        if (readAt.includes(index)) expect(journal.entries()).toEqual(entries)
        if (packAt.includes(index)) packed++
      }
      expect(journal.entries()).toEqual(entries)
    }),
  )
  expect(packed).toBeGreaterThan(50)
})

it('a packed journal counts as nothing until it is read', () => {
  let unpacked = 0
  const journal = createJournal(() => unpacked++)
  for (let seq = 1; seq <= 600; seq++)
    journal.add({ seq, change: { type: 'title.set', ts: '2026-01-01T00:00:00Z', title: `Title ${seq}` } })
  const { bytes } = journal
  journal.pack()
  expect([journal.bytes, unpacked]).toEqual([0, 0])
  journal.add({ seq: 601, change: { type: 'title.set', ts: '2026-01-01T00:00:00Z', title: 'Last' } })
  expect([unpacked, journal.entries().length, unpacked]).toEqual([0, 601, 1])
  expect(journal.bytes).toBeGreaterThan(bytes)
})

it('the conversations that were not used for the longest time are packed first, and the last one never', () => {
  const idle = createIdleJournals({ low: 1_000, high: 3_000 })
  const conversations = Array.from({ length: 6 }, () => newConversation(() => {}))
  for (const conversation of conversations) {
    conversation.journal.add({ seq: 1, change: { type: 'title.set', ts: '2026-01-01T00:00:00Z', title: 'x' } })
    conversation.journal.add({ seq: 2, change: { type: 'title.set', ts: '2026-01-01T00:00:00Z', title: 'y' } })
    idle.rest(conversation)
  }
  const isPacked = ({ journal }: MemoryConversation) => journal.bytes === 0
  expect(conversations.map(isPacked)).toEqual([true, true, true, true, false, false])
  const alone = createIdleJournals({ low: 0, high: 0 })
  const [, , , , kept] = conversations as [never, never, never, never, MemoryConversation]
  alone.rest(kept)
  expect(isPacked(kept)).toBe(false)
})
