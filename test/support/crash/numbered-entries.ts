import { expect } from 'vitest'
import { blocksOfChange } from '../../../src/core/timeline/change.ts'
import type { ConversationStore, Owner } from '../../../src/ports/store.ts'
import { prompt } from '../../../src/testing/blocks.ts'
import { accepted, appended, journalOf } from '../../../src/testing/conformance/store/fixture.ts'

/*
 * Entries that contain their own number, so that a lost or repeated entry is noticed. Every fifth entry has a text that is stored as a
 * blob, and every seventh entry takes an offer.
 */
const isLarge = (number: number) => number % 5 === 0
const takesOffer = (number: number) => number % 7 === 0
const textOf = (name: string, number: number) => `${name} ${number}${isLarge(number) ? ' and more'.repeat(2_000) : ''}`
const eventOf = (number: number) => `event-${number}`

/** Appends entries to a conversation until `isOver` returns true. Continues after the last entry of an earlier process. */
export async function appendNumbered(
  store: ConversationStore,
  name: string,
  owner: Owner,
  { onAppended, isOver }: { onAppended(seq: number): void; isOver(): boolean },
): Promise<void> {
  const claim = await store.claim(name, owner)
  const start = (await store.loadVisible(name))?.lastSeq ?? 0
  for (let number = start + 1; !isOver(); number++) {
    const eventId = eventOf(number)
    const isOffered = takesOffer(number)
    const change = isOffered ? accepted(eventId, number) : appended([prompt(textOf(name, number))], number)
    if (isOffered && change.type === 'event.accepted') await store.offer(name, change.event)
    const entries = await store.append(claim, [change], isOffered ? { takes: [{ eventId, outcome: 'accepted' }] } : {})
    if (entries[0]?.seq !== number) throw new Error(`${name}: entry ${number} got the number ${entries[0]?.seq}`)
    onAppended(number)
  }
  await store.release(claim)
}

/** Checks that a conversation has each entry once, in order, and that each offer was taken. Returns the number of its entries. */
export async function checkNumbered(store: ConversationStore, name: string): Promise<number> {
  const entries = await journalOf(store, name)
  const numbers = entries.map((_, index) => index + 1)
  expect(entries.map(({ seq }) => seq)).toEqual(numbers)
  expect(entries.map(({ change }) => (change.type === 'event.accepted' ? change.event.event_id : blocksOfChange(change)[0]?.text))).toEqual(
    numbers.map((number) => (takesOffer(number) ? eventOf(number) : textOf(name, number))),
  )
  for (const number of numbers.filter(takesOffer)) expect(await store.findOffer(name, eventOf(number))).toBe('accepted')
  return entries.length
}
