import { setTimeout as sleep } from 'node:timers/promises'
import { createOwner, isBusy } from '../../agent/conversation/claim.ts'
import { blockId } from '../../core/block/index.ts'
import type { Change } from '../../core/timeline/change.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Claim, ConversationStore, Owner } from '../../ports/store.ts'
import { prompt } from '../blocks.ts'
import { appended, compacted } from '../conformance/store/fixture.ts'
import { type Violation, violation } from './scenario.ts'
import type { Task, TaskResult } from './tasks.ts'

// The work of child processes that call the store directly, without an agent.

const LARGE_TEXT = 'A text that is stored as a blob. '.repeat(400)
const BUSY_PAUSE_MS = 50
const COMPACT_EVERY = 4

/** Claims a conversation. Tries again as long as another process has the claim. */
async function claimWhenFree(store: ConversationStore, conversationId: string, owner: Owner): Promise<Claim> {
  for (;;) {
    try {
      return await store.claim(conversationId, owner)
    } catch (error) {
      if (!isBusy(error)) throw error
      await sleep(BUSY_PAUSE_MS)
    }
  }
}

/**
 * Appends groups of entries to all conversations at the same time, so that appends may share a transaction. It runs until the process is
 * killed.
 */
export async function appendGroups(
  store: ConversationStore,
  clock: Clock,
  { conversations, group }: Extract<Task, { do: 'write' }>,
  onAppended: () => void,
): Promise<TaskResult> {
  const owner = createOwner(clock)
  await Promise.all(
    conversations.map(async (conversationId) => {
      const claim = await claimWhenFree(store, conversationId, owner)
      const saved = await store.loadVisible(conversationId)
      let next = saved?.timeline.nextBlock ?? 1
      for (let number = 1; ; number++) {
        const compacts = number % COMPACT_EVERY === 0
        const changes = Array.from({ length: group }, (_, index): Change => {
          const id = next++
          if (compacts && index === group - 1) return compacted(blockId(id - 2), id)
          return appended([prompt(`entry ${id} of ${conversationId}${id % 3 === 0 ? LARGE_TEXT : ''}`)], id)
        })
        await store.append(claim, changes)
        onAppended()
      }
    }),
  )
  return {}
}

/** Claims each conversation once, by its name or from the work list. Each process begins with another conversation. */
export async function claimAll(
  store: ConversationStore,
  clock: Clock,
  { conversations, from }: Extract<Task, { do: 'claim' }>,
): Promise<TaskResult> {
  const owner = createOwner(clock)
  const claims: Claim[] = []
  const errors: string[] = []
  if (from === 'work list') {
    for (;;) {
      const { claim } = await store.work.claimNext(owner, { maxAttempts: 3 })
      if (!claim) break
      claims.push(claim)
      if (claims.length > conversations.length * 4) break // a faulty store may return the same conversations again and again
    }
  } else {
    for (const conversationId of conversations) {
      try {
        claims.push(await store.claim(conversationId, owner))
      } catch (error) {
        if (!isBusy(error)) throw error
      }
    }
  }
  for (const claim of claims) {
    try {
      const saved = await store.loadVisible(claim.conversationId)
      await store.append(claim, [appended([prompt('mine')], saved?.timeline.nextBlock ?? 1)])
    } catch (error) {
      errors.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { claimed: claims.map(({ conversationId, epoch }) => ({ conversationId, epoch })), errors }
}

export async function offerAll(
  store: ConversationStore,
  clock: Clock,
  { conversationId, eventIds }: Extract<Task, { do: 'offer' }>,
  onOffered: () => void,
): Promise<TaskResult> {
  for (const event_id of eventIds) {
    await store.offer(conversationId, { event_id, kind: 'followup', ts: clock.now(), text: `said as ${event_id}` }, { create: true })
    onOffered()
  }
  return {}
}

/** Accepts offers, a few at a time, as the owner of a conversation does. */
export async function takeOffers(
  store: ConversationStore,
  clock: Clock,
  conversationId: string,
  { onTaken, isOver }: { onTaken(): void; isOver(): boolean },
): Promise<TaskResult> {
  const claim = await claimWhenFree(store, conversationId, createOwner(clock))
  let sequence = (await store.loadVisible(conversationId))?.timeline.lastEvent?.sequence ?? 0
  while (!isOver()) {
    const offers = (await store.readOffers(conversationId)).slice(0, 3)
    if (offers.length === 0) await sleep(5)
    else {
      const changes = offers.map((event): Change => ({ type: 'event.accepted', event: { ...event, sequence: ++sequence } }))
      await store.append(claim, changes, { takes: offers.map(({ event_id: eventId }) => ({ eventId, outcome: 'accepted' })) })
      onTaken()
    }
  }
  return {}
}

/**
 * Takes all offers that are left, and reports offers that the store returned again although they were taken. It claims the conversation
 * even if a dead process still has its lease.
 */
export async function takeRest(store: ConversationStore, conversationId: string): Promise<readonly Violation[]> {
  const claim = await store.claim(conversationId, { id: 'rest', host: 'host-of-rest', pid: 4711 }, { takeOver: 'always' })
  let sequence = (await store.loadVisible(conversationId))?.timeline.lastEvent?.sequence ?? 0
  const taken = new Set<string>()
  for (;;) {
    const offers = await store.readOffers(conversationId)
    const again = offers.filter(({ event_id }) => taken.has(event_id))
    if (again.length > 0) return again.map(({ event_id }) => violation('doubled', `the offer ${event_id} came back after it was taken`))
    if (offers.length === 0) break
    const changes = offers.map((event): Change => ({ type: 'event.accepted', event: { ...event, sequence: ++sequence } }))
    await store.append(claim, changes, { takes: offers.map(({ event_id: eventId }) => ({ eventId, outcome: 'accepted' })) })
    for (const { event_id } of offers) taken.add(event_id)
  }
  await store.release(claim)
  return []
}
