import { describe, expect, it } from 'vitest'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness } from '../../testing/harness.ts'
import { type Reply, reply } from '../../testing/scripted-model.ts'

const other = { id: 'other', host: 'elsewhere', pid: 1 }

/** An agent whose claim another process takes, and gives back, just before the next append after `loseClaim`. */
function createAgent(replies: readonly Reply[]) {
  const clock = createFixedClock()
  const kept = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  let isLost = false
  const store: ConversationStore = {
    ...kept,
    async append(claim, changes, options) {
      if (isLost) {
        isLost = false
        await kept.release(await kept.claim(claim.conversationId, other, { takeOver: 'always' }))
      }
      return kept.append(claim, changes, options)
    },
  }
  const problems: unknown[] = []
  const harness = createHarness({ replies, clock, store, onProblem: (problem) => void problems.push(problem) })
  const loseClaim = () => {
    isLost = true
  }
  const messages = async () =>
    blocksOf(await harness.timeline()).flatMap(({ type, text }) => (type === 'user.prompt' || type === 'user.followup' ? [text] : []))
  return { ...harness, problems, loseClaim, messages, wasLost: () => !isLost }
}

/** A reply during which the test acts once. */
function replyDuring(act: () => Promise<unknown>): Reply {
  let acted = false
  return {
    text: reply.answer('Done.'),
    chunks: 4,
    async onChunk() {
      if (acted) return
      acted = true
      await act()
    },
  }
}

describe('a claim that another process takes while a message arrives', () => {
  it('keeps a message that was about to start a turn, and answers it once', async () => {
    const { agent, loseClaim, messages, wasLost } = createAgent([reply.answer('Hello.'), reply.answer('Fine.')])
    await agent.run('c1', 'Hi.').result
    loseClaim()
    expect(await agent.send('c1', 'How are you?', { eventId: 'e1' })).toMatchObject({ how: 'followup', eventId: 'e1' })
    expect(await agent.untilClosed('c1', 'e1')).toMatchObject({ answer: 'Fine.' })
    expect(wasLost()).toBe(true)
    expect(await messages()).toEqual(['Hi.', 'How are you?'])
    await agent.close()
  })

  it('gives the caller of `run` the answer of the turn that another claim runs', async () => {
    const { agent, loseClaim, wasLost } = createAgent([reply.answer('Hello.'), reply.answer('Fine.')])
    await agent.run('c1', 'Hi.').result
    loseClaim()
    expect(await agent.run('c1', 'How are you?').result).toMatchObject({ answer: 'Fine.' })
    expect(wasLost()).toBe(true)
    await agent.close()
  })

  it('keeps a message behind unfinished work', async () => {
    const { agent, store, loseClaim, wasLost, messages } = createAgent([reply.answer('Hello.'), reply.answer('One.'), reply.answer('Two.')])
    await agent.run('c1', 'Hi.').result
    await store.offer('c1', { event_id: 'e1', kind: 'followup', ts: '2026-01-01T00:00:00.000Z', text: 'First.' })
    loseClaim()
    await agent.send('c1', 'Second.', { eventId: 'e2' })
    await agent.untilClosed('c1', 'e2')
    expect(wasLost()).toBe(true)
    expect(await messages()).toEqual(['Hi.', 'First.', 'Second.'])
    await agent.close()
  })

  it('keeps a message and an event for a running turn', async () => {
    const during = replyDuring(async () => {
      loseClaim()
      await agent.send('c1', 'And you?', { eventId: 'e1' })
      await agent.notify('c1', 'The door is open.', { eventId: 'e2' })
    })
    const { agent, loseClaim, messages, wasLost, journal } = createAgent([
      during,
      ...Array.from({ length: 4 }, () => reply.answer('Done.')),
    ])
    await agent.send('c1', 'Hi.', { eventId: 'e0' })
    await agent.untilClosed('c1', 'e0')
    await agent.untilClosed('c1', 'e1')
    expect(wasLost()).toBe(true)
    expect(await messages()).toEqual(['Hi.', 'And you?'])
    const accepted = (await journal()).flatMap((change) => (change.type === 'event.accepted' ? [change.event.event_id] : []))
    expect(accepted.sort()).toEqual(['e0', 'e1', 'e2'])
    await agent.close()
  })

  it('says that a steer did not reach the turn, and the turn can go on', async () => {
    let steered: unknown
    const during = replyDuring(async () => {
      loseClaim()
      steered = await agent.steer('c1', 'Be short.')
      await agent.recover()
    })
    const { agent, loseClaim, wasLost } = createAgent([during, ...Array.from({ length: 4 }, () => reply.answer('Done.'))])
    await agent.send('c1', 'Hi.', { eventId: 'e0' })
    await agent.untilClosed('c1', 'e0')
    expect(wasLost()).toBe(true)
    expect(steered).toBe(false)
    await agent.close()
  })
})
