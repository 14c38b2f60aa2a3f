import { describe, expect, it } from 'vitest'
import { type FailureSide, failingStore } from '../../../test/support/crash/failing-store.ts'
import { decisions } from '../../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { type ConversationStore, LEASE_MS } from '../../ports/store.ts'
import { accepted } from '../../testing/conformance/store/fixture.ts'
import { createFixedClock, type FixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'

const conversationId = 'c1'

interface Storage {
  readonly clock: FixedClock
  readonly store: ConversationStore
}

function createStorage(): Storage {
  const clock = createFixedClock()
  return { clock, store: createMemoryStore({ blobs: createMemoryBlobs(), clock }) }
}

/** The text of each message and answer, with its block type. */
const dialogue = async (harness: Harness) =>
  blocksOf(await harness.timeline()).flatMap(({ type, text }) =>
    type.startsWith('user.') || type === 'assistant.completion' ? [[type, text]] : [],
  )

/**
 * Runs a turn in a process whose nth append fails. While `turn.closed` is written, a second message arrives. Returns false when one of the
 * two messages failed.
 */
async function runUntilFailure({ clock, store }: Storage, at: { readonly append: number; readonly side: FailureSide }): Promise<boolean> {
  const failing = failingStore(store, at)
  let second: Promise<unknown> | undefined
  const append: ConversationStore['append'] = async (claim, changes) => {
    const entries = await failing.append(claim, changes)
    if (second === undefined && changes.some(({ type }) => type === 'turn.closed')) {
      second = dying.agent.run(conversationId, 'Second.').result
      // waits until the commit of the second message is queued after `turn.closed`
      for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
    }
    return entries
  }
  const dying = createHarness({ store: { ...failing, append }, clock, replies: [reply.answer('One.'), reply.answer('Two.')] })
  const [one] = await Promise.allSettled([dying.say('First.')])
  const [two] = await Promise.allSettled([second])
  clock.advance(LEASE_MS + 1)
  return one.status === 'fulfilled' && two.status === 'fulfilled'
}

/** A store with a closed turn and events that were accepted after this turn, by a process that then died. */
async function storeWithWaiting(...events: readonly Parameters<typeof accepted>[]) {
  const { clock, store } = createStorage()
  await createHarness({ store, clock, replies: [reply.answer('One.')] }).say('First.')
  const claim = await store.claim(conversationId, { id: 'dead', host: 'elsewhere', pid: 1 })
  await store.append(
    claim,
    events.map((event) => accepted(...event)),
  )
  clock.advance(LEASE_MS + 1)
  return { clock, store }
}

const first = [
  ['user.prompt', 'First.'],
  ['assistant.completion', 'One.'],
]

describe('a followup that was accepted after its turn was closed', () => {
  it('becomes the next turn, whichever append the process died at', async () => {
    const ends = new Set<string>()
    for (const side of ['before', 'after'] as const) {
      for (let append = 1; ; append++) {
        const there = createStorage()
        const survived = await runUntilFailure(there, { append, side })
        if (survived) break // no append failed, because the turn has fewer appends
        const next = createHarness({ ...there, replies: [reply.answer('Two.')] })
        const left = await next.timeline()
        await next.agent.recover()
        const { inbox, openTurn } = await next.timeline()
        expect({ append, side, inbox, openTurn }).toEqual({ append, side, inbox: [], openTurn: undefined })
        const heard = (await next.journal()).some((change) => change.type === 'event.accepted')
        if (heard) expect(await dialogue(next)).toEqual([...first, ['user.prompt', 'Second.'], ['assistant.completion', 'Two.']])
        ends.add(left.openTurn ? 'in a turn' : left.inbox.length > 0 ? 'while it waited' : 'at rest')
      }
    }
    expect([...ends].sort()).toEqual(['at rest', 'in a turn', 'while it waited'])
  })

  it('is in the results of recover', async () => {
    const next = createHarness({ ...(await storeWithWaiting(['e1', 1])), replies: [reply.answer('Two.')] })
    expect((await next.store.list({ open: true })).conversations).toMatchObject([{ openTurn: null, waiting: ['e1'] }])
    expect(await next.agent.archive.head(conversationId)).toMatchObject({ openTurn: null, waiting: ['e1'] })
    expect(await next.agent.recover()).toMatchObject({ results: [{ answer: 'Two.', exitReason: 'complete' }], skipped: [] })
    expect((await next.store.list({ open: true })).conversations).toEqual([])
    expect(await next.agent.recover()).toEqual({ results: [], skipped: [] })
    expect(decisions(next)).toBe(1)
  })

  it('is followed by the other waiting followups, in order', async () => {
    const next = createHarness({ ...(await storeWithWaiting(['e1', 1], ['e2', 2], ['e3', 3])), replies: [reply.answer('All.')] })
    await next.agent.recover()
    const others = [
      ['user.followup', 'said as e2'],
      ['user.followup', 'said as e3'],
    ]
    expect(await dialogue(next)).toEqual([...first, ['user.prompt', 'said as e1'], ...others, ['assistant.completion', 'All.']])
  })

  it('also starts with the next message, which becomes a followup of its turn', async () => {
    const next = createHarness({ ...(await storeWithWaiting(['e1', 1])), replies: [reply.answer('Both.')] })
    expect(await next.say('And that.')).toMatchObject({ answer: 'Both.' })
    const both = [
      ['user.prompt', 'said as e1'],
      ['user.followup', 'And that.'],
    ]
    expect(await dialogue(next)).toEqual([...first, ...both, ['assistant.completion', 'Both.']])
  })

  it('is answered once when it is sent again with the same event id', async () => {
    const next = createHarness({ ...(await storeWithWaiting(['e1', 1])), replies: [reply.answer('Two.')] })
    const { turnId } = await next.agent.send(conversationId, 'said as e1', { eventId: 'e1' })
    await next.agent.drain(60_000)
    expect(await dialogue(next)).toEqual([...first, ['user.prompt', 'said as e1'], ['assistant.completion', 'Two.']])
    expect((await next.journal()).at(-1)).toMatchObject({ type: 'turn.closed', turn_id: turnId })
    expect(await next.agent.send(conversationId, 'said as e1', { eventId: 'e1' })).toMatchObject({ how: 'known' })
    expect(decisions(next)).toBe(1)
  })

  it('is not touched while another process runs the conversation', async () => {
    const { store, clock } = await storeWithWaiting(['e1', 1])
    const { expiresAt } = await store.claim(conversationId, { id: 'other', host: 'elsewhere', pid: 1 })
    const next = createHarness({ store, clock, replies: [] })
    const skipped = [{ conversationId, until: expiresAt, owner: { host: 'elsewhere', pid: 1 } }]
    expect(await next.agent.recover()).toEqual({ results: [], skipped })
    expect((await next.timeline()).inbox).toHaveLength(1)
  })
})

it('waiting feedback, late steers and external events do not start a turn', async () => {
  const next = createHarness({
    ...(await storeWithWaiting(['e1', 1, 'feedback'], ['e2', 2, 'steer'], ['e3', 3, 'external'])),
    replies: [reply.answer('Two.')],
  })
  const before = await next.journal()
  expect(await next.agent.recover()).toEqual({ results: [], skipped: [] })
  expect(await next.journal()).toEqual(before)
  expect(decisions(next)).toBe(0)
})
