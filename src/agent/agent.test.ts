import { describe, expect, it } from 'vitest'
import { slowTool, weather } from '../../test/support/scenario-tools.ts'
import { blockTypes, decisions } from '../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import type { ConversationStore } from '../ports/store.ts'
import { createFixedClock } from '../testing/fixed-clock.ts'
import { createHarness, type Harness } from '../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../testing/scripted-model.ts'

const conversationId = 'c1'
const stalled = { text: '<channel:thinking>Let me', stall: true } as const

/** Closes the agent at the first event that matches, and creates another agent with the same store. */
async function closedAt(
  harness: Harness,
  matches: (event: { readonly type: string; readonly status?: string }) => boolean,
  replies: readonly Reply[],
) {
  const run = harness.agent.run(conversationId, 'Do it.')
  let closing: Promise<void> | undefined
  for await (const event of run) if (matches(event)) closing ??= harness.agent.close()
  await closing
  return {
    result: await run.result,
    next: createHarness({ store: harness.store, clock: harness.clock, tools: [slowTool(), weather()], replies }),
  }
}

describe('closing an agent', () => {
  it('leaves the turn open when the model was writing; the next agent calls the model again', async () => {
    const harness = createHarness({ replies: [stalled] })
    const before = async () => (await harness.journal()).length
    const { result, next } = await closedAt(harness, ({ type }) => type === 'lane.delta', [reply.answer('Done.')])
    const entries = await before()
    expect(result).toMatchObject({ exitReason: 'cancelled', answer: '' })
    expect((await next.timeline()).openTurn).toMatchObject({ turn_id: result.turnId })
    expect(await next.agent.recover()).toMatchObject({ results: [{ turnId: result.turnId, answer: 'Done.' }] })
    expect((await next.journal()).slice(0, entries).map(({ type }) => type)).not.toContain('turn.closed')
    expect((await next.timeline()).openTurn).toBeUndefined()
  })

  it('leaves a tool call without a result; the next agent records that its outcome is unknown', async () => {
    const harness = createHarness({ tools: [slowTool()], replies: [reply.call('slow.work')] })
    const { next } = await closedAt(harness, ({ status }) => status === 'tool.started', [reply.answer('Then not.')])
    expect(await blockTypes(next)).not.toContain('react.tool.result')
    expect(await next.agent.recover()).toMatchObject({ results: [{ answer: 'Then not.' }] })
    expect(JSON.stringify(await next.journal())).toContain('outcome_unknown')
  })

  it('does not wait for the title', async () => {
    const harness = createHarness({ replies: [], model: scriptedModel([stalled], { title: null }) })
    const { next, result } = await closedAt(harness, ({ type }) => type === 'entry', [reply.answer('Done.')])
    expect(result.exitReason).toBe('cancelled')
    expect(await next.agent.recover()).toMatchObject({ results: [{ answer: 'Done.' }] })
    expect((await next.timeline()).title).toBe('A scripted conversation')
  })

  it('rejects every later message', async () => {
    const harness = createHarness({ replies: [] })
    await harness.agent.close()
    await expect(harness.agent.send(conversationId, 'x')).rejects.toMatchObject({ code: 'store.closed' })
    expect(await harness.agent.stop(conversationId)).toBe(false)
    await harness.agent.close()
  })

  it('stores a followup that has arrived just before, even if the store is slow', async () => {
    const inner = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
    const storing = Promise.withResolvers<void>()
    const append: ConversationStore['append'] = async (...given) => {
      if (given[1].some(({ type }) => type === 'event.accepted')) {
        storing.resolve()
        // As with a store on another machine, a later request may finish before this one.
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return inner.append(...given)
    }
    const harness = createHarness({ replies: [stalled], store: { ...inner, append } })
    const run = harness.agent.run(conversationId, 'Do it.')
    for await (const event of run) if (event.type === 'lane.delta') break
    const sent = harness.agent.send(conversationId, 'And that.', { eventId: 'second' })
    await storing.promise
    await harness.agent.close()
    expect(await sent).toMatchObject({ how: 'followup' })
    expect(JSON.stringify(await harness.journal())).toContain('And that.')
  })

  it('keeps an accepted followup for the turn when it is resumed', async () => {
    const harness = createHarness({ tools: [slowTool()], replies: [reply.call('slow.work')] })
    const run = harness.agent.run(conversationId, 'Do it.')
    let second: Promise<unknown> | undefined
    for await (const event of run) {
      if (event.type === 'status' && event.status === 'tool.started') second = harness.agent.run(conversationId, 'And that.').result
      if (event.type === 'entry' && event.change.type === 'event.accepted') void harness.agent.close()
    }
    expect(await second).toMatchObject({ exitReason: 'cancelled' })
    const next = createHarness({ store: harness.store, clock: harness.clock, tools: [slowTool()], replies: [reply.answer('Both.')] })
    await next.agent.recover()
    expect(await blockTypes(next)).toContain('user.followup')
    expect(decisions(next)).toBe(1)
  })
})

describe('an unfinished turn', () => {
  it('is resumed by the next message, which becomes a followup of it', async () => {
    const harness = createHarness({ replies: [stalled] })
    const { next, result } = await closedAt(harness, ({ type }) => type === 'lane.delta', [reply.answer('Both.')])
    expect(await next.say('And that.')).toMatchObject({ turnId: result.turnId, answer: 'Both.' })
    expect(await blockTypes(next)).toContain('user.followup')
  })

  it('is resumed by feedback, which waits for the turn after it', async () => {
    const harness = createHarness({ replies: [stalled] })
    const { next, result } = await closedAt(harness, ({ type }) => type === 'lane.delta', [reply.answer('Done.'), reply.answer('Thanks.')])
    await next.agent.feedback(conversationId, 'Nice try.', { turnId: result.turnId, reaction: 'ok' })
    expect(await next.say('Go on.')).toMatchObject({ ok: true })
    expect((await next.timeline()).openTurn).toBeUndefined()
    expect((await next.timeline()).inbox).toMatchObject([{ kind: 'feedback' }])
  })
})
