import { describe, expect, it } from 'vitest'
import { divergenceText } from '../../src/agent/replay/divergence.ts'
import { replay } from '../../src/agent/replay/replay.ts'
import type { EntryEvent } from '../../src/core/event.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { Hosting } from '../../src/ports/hosting.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import { hostingOn } from '../support/hosting.ts'
import { pausedTool, slowTool } from '../support/scenario-tools.ts'
import { openTestStore } from '../support/stores.ts'

const conversationId = 'c1'

const folds = async (harness: Harness) =>
  (await harness.journal()).flatMap((change) => (change.type === 'event.folded' ? [change.turn_id] : []))

const texts = async (harness: Harness) =>
  (await harness.journal()).flatMap((change) =>
    change.type === 'blocks.appended' ? change.blocks.flatMap(({ type, text }) => (type.startsWith('user.') ? [text] : [])) : [],
  )

/** Calls `act` once, at the first entry for which `when` is true. */
function once(when: (change: Change) => boolean, act: () => void): HarnessOptions['onEntry'] {
  let done = false
  return (_, { change }: EntryEvent) => {
    if (done || !when(change)) return
    done = true
    act()
  }
}

const accepted = (change: Change) => change.type === 'event.accepted'

/** Runs a turn whose tool runs until `finish` is called, and sends a followup with a signal meanwhile. */
async function withFollowup(replies: readonly Reply[], onEntry?: HarnessOptions['onEntry']) {
  const { tool, finish } = pausedTool()
  const harness = createHarness({ replies: [reply.call('paused.work'), ...replies], tools: [tool], ...(onEntry && { onEntry }) })
  const first = harness.agent.run(conversationId, 'First.')
  for await (const event of first) if (event.type === 'status' && event.status === 'tool.started') break
  const stop = new AbortController()
  const second = harness.agent.run(conversationId, 'Second.', { signal: stop.signal }).result
  second.catch(() => {})
  return { harness, first: first.result, second, stop, finish }
}

describe('aborting the signal of a followup', () => {
  it('withdraws the message while it waits, and the turn goes on', async () => {
    const received = Promise.withResolvers<void>()
    const { harness, first, second, stop, finish } = await withFollowup([reply.answer('One.')], once(accepted, received.resolve))
    await received.promise
    stop.abort()
    await expect(second).rejects.toMatchObject({
      name: 'AbortError',
      message: expect.stringContaining('withdrawn'),
      cause: stop.signal.reason,
    })
    finish()
    expect(await first).toMatchObject({ exitReason: 'complete', answer: 'One.' })
    expect([await texts(harness), await folds(harness)]).toEqual([['First.'], [null]])
    expect((await harness.timeline()).inbox).toEqual([])
    const [turn] = await replay(harness.store, conversationId, { tools: [pausedTool().tool] })
    expect(turn?.divergence && divergenceText(turn.divergence)).toBeUndefined()
  })

  it('withdraws it, too, when it aborts while the message is being delivered', async () => {
    const { harness, first, second, stop, finish } = await withFollowup([reply.answer('One.')])
    stop.abort()
    await expect(second).rejects.toMatchObject({ name: 'AbortError' })
    finish()
    expect(await first).toMatchObject({ answer: 'One.' })
    expect(await texts(harness)).toEqual(['First.'])
  })

  it('withdraws it, too, while the turn stores its files', async () => {
    const { tool, finish } = pausedTool()
    const store = await openTestStore({ clock: createFixedClock() })
    const { hosting } = hostingOn(store.blobs)
    const stop = new AbortController()
    let second: Promise<unknown> = Promise.resolve()
    const slowHosting: Hosting = {
      ...hosting,
      async host(file) {
        stop.abort()
        await second.catch(() => {})
        return hosting.host(file)
      },
    }
    const replies = [reply.call('paused.work'), reply.answer('One.')]
    const harness = createHarness({ replies, tools: [tool], store, hosting: slowHosting })
    const first = harness.agent.run(conversationId, 'First.')
    for await (const event of first) if (event.type === 'status' && event.status === 'tool.started') break
    const attachments = [{ name: 'a.txt', mime: 'text/plain', content: 'a' }]
    second = harness.agent.run(conversationId, 'Second.', { attachments, signal: stop.signal }).result
    second.catch(() => {})
    while ((await harness.timeline()).inbox.length === 0) await new Promise((resolve) => setImmediate(resolve))
    finish()
    await expect(second).rejects.toMatchObject({ name: 'AbortError', message: expect.stringContaining('withdrawn') })
    expect(await first.result).toMatchObject({ exitReason: 'complete', answer: 'One.' })
    expect([await texts(harness), await folds(harness)]).toEqual([['First.'], [null]])
  })

  it('ends the wait when a turn of another caller has read the message, and that turn goes on', async () => {
    const folded = Promise.withResolvers<void>()
    const resume = Promise.withResolvers<void>()
    const answer = { text: reply.answer('Both.'), onChunk: () => resume.promise }
    const { harness, first, second, stop, finish } = await withFollowup(
      [answer],
      once(({ type }) => type === 'event.folded', folded.resolve),
    )
    finish()
    await folded.promise
    stop.abort()
    await expect(second).rejects.toMatchObject({ name: 'AbortError', message: expect.stringMatching(/part of a turn.*continues/) })
    resume.resolve()
    expect(await first).toMatchObject({ exitReason: 'complete', answer: 'Both.' })
    expect(await texts(harness)).toEqual(['First.', 'Second.'])
  })

  it('stops the turn that the message itself started', async () => {
    let second: Promise<unknown> | undefined
    const stop = new AbortController()
    const opened = once(
      (change) => change.type === 'turn.closed',
      () => {
        second = harness.agent.run(conversationId, 'Second.', { signal: stop.signal }).result
      },
    )
    const stalls = { text: '<channel:thinking>Let me', stall: true, onChunk: () => queueMicrotask(() => stop.abort()) } as const
    const harness = createHarness({ replies: [reply.answer('One.'), stalls], ...(opened && { onEntry: opened }) })
    await harness.say('First.')
    expect(await second).toMatchObject({ exitReason: 'steer' })
  })

  it('does not stop a resumed turn of a process that died: it withdraws the message', async () => {
    const before = createHarness({ replies: [reply.call('slow.work')], tools: [slowTool()] })
    const crashed = before.agent.run(conversationId, 'First.')
    for await (const event of crashed) if (event.type === 'status' && event.status === 'tool.started') void before.agent.close()
    const received = Promise.withResolvers<void>()
    const resume = Promise.withResolvers<void>()
    const answer = { text: reply.answer('Resumed.'), onChunk: () => resume.promise }
    const stop = new AbortController()
    const harness = createHarness({
      replies: [answer],
      tools: [slowTool()],
      store: before.store,
      clock: before.clock,
      onEntry: once(accepted, () => stop.abort()) as NonNullable<HarnessOptions['onEntry']>,
    })
    const second = harness.agent.run(conversationId, 'Second.', { signal: stop.signal }).result
    second.catch(() => received.resolve())
    await received.promise
    resume.resolve()
    await expect(second).rejects.toMatchObject({ name: 'AbortError' })
    await harness.agent.drain(10_000)
    const journal = await harness.journal()
    expect(journal.at(-1)).toMatchObject({ type: 'turn.closed', exit_reason: 'complete' })
    expect(await texts(harness)).toEqual(['First.'])
  })
})

describe('aborting the signal of the message that started a turn', () => {
  it('stops that turn and not the next one', async () => {
    const stop = new AbortController()
    const closed = once(
      (change) => change.type === 'turn.closed',
      () => {
        void harness.agent.send(conversationId, 'Second.').catch(() => {})
        queueMicrotask(() => stop.abort())
      },
    )
    const harness = createHarness({ replies: [reply.answer('One.'), reply.answer('Two.')], ...(closed && { onEntry: closed }) })
    expect(await harness.agent.run(conversationId, 'First.', { signal: stop.signal }).result).toMatchObject({ answer: 'One.' })
    await harness.agent.drain(10_000)
    const exits = (await harness.journal()).flatMap((change) => (change.type === 'turn.closed' ? [change.exit_reason] : []))
    expect(exits).toEqual(['complete', 'complete'])
  })
})
