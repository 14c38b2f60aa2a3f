import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { isResultMetadata } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { LEASE_MS } from '../../ports/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { later } from '../../tools/outcome.ts'
import type { Tool } from '../../tools/tool.ts'

/** A store that two applications use, and the orders that the tools of the first one have made. */
function createShop() {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const orders: string[] = []
  const params = z.object({ part: z.string() })
  const define = (id: string, more: object, run: (given: { part: string }) => unknown): Tool =>
    defineTool({ id, description: 'Orders a part.', params, ...more, run })
  const order = define('parts.order', { approval: true }, ({ part }) => {
    orders.push(part)
    return 'ordered'
  })
  const print = define('parts.print', {}, () => later({ note: 'the printer' }))
  const hanging = define('parts.count', { repeatable: true }, () => new Promise(() => {}))
  const problems: string[] = []
  const process = (tools: readonly Tool[], replies: readonly string[]) =>
    createHarness({ clock, store, tools, replies, onProblem: ({ error }) => problems.push(String(error)) })
  return { clock, store, orders, problems, tools: { order, print, hanging }, process }
}

const ask = (toolId: string) => reply.call(toolId, { part: 'brakes' })

const results = async (harness: Harness) =>
  blocksOf(await harness.timeline()).flatMap((block) =>
    block.type === 'react.tool.result' && !isResultMetadata(block) ? [block.text ?? ''] : [],
  )
const callOf = async ({ agent }: Harness) => (await agent.waiting()).waits[0]?.callId ?? ''

describe('an agent without the tool of an unfinished call', () => {
  it('records an approval and leaves the turn to the agent that has the tool', async () => {
    const { tools, orders, problems, process } = createShop()
    const shop = process([tools.order], [ask('parts.order')])
    await shop.say('Order brakes.')
    const other = process([], [reply.answer('Must not be asked.')])
    expect(await other.agent.decide('c1', await callOf(other), { approved: true })).toBe('recorded')
    await other.agent.drain(5_000)
    expect(problems).toEqual([expect.stringContaining('parts.order')])
    expect(await other.agent.recover()).toMatchObject({ results: [], skipped: [{ conversationId: 'c1', missingTools: ['parts.order'] }] })
    expect([orders, await results(other)]).toEqual([[], []])
    const again = process([tools.order], [reply.answer('Ordered.')])
    expect(await again.agent.recover()).toMatchObject({ results: [{ answer: 'Ordered.' }], skipped: [] })
    expect([orders, await results(again)]).toEqual([['brakes'], ['ordered']])
  })

  it('resumes a turn whose process died while the tool ran, and says that the outcome is unknown', async () => {
    const { clock, tools, process } = createShop()
    const shop = process([tools.hanging], [ask('parts.count')])
    shop.agent.run('c1', 'Count brakes.').result.catch(() => {})
    await expect.poll(async () => blocksOf(await shop.timeline()).some(({ type }) => type === 'react.tool.call')).toBe(true)
    await shop.agent.close()
    clock.advance(LEASE_MS + 1)
    const other = process([], [reply.answer('I do not know.')])
    expect(await other.agent.missingTools('c1')).toEqual(['parts.count'])
    expect(await other.agent.recover()).toMatchObject({ results: [{ answer: 'I do not know.' }], skipped: [] })
    expect(await results(other)).toEqual([expect.stringContaining('outcome_unknown')])
  })

  it('goes on after a refusal, a late result or a stop, because these need no tool', async () => {
    const ends = {
      refusal: async (harness: Harness) => harness.agent.decide('c1', await callOf(harness), { approved: false }),
      result: async (harness: Harness) => harness.agent.complete('c1', await callOf(harness), { ok: true, output: 'by hand' }),
      stop: async (harness: Harness) => harness.agent.stop('c1'),
    }
    for (const end of Object.values(ends)) {
      const { tools, problems, process } = createShop()
      await process([tools.order], [ask('parts.order')]).say('Order brakes.')
      const other = process([], [reply.answer('Then not.')])
      await end(other)
      await expect.poll(async () => (await other.timeline()).openTurn).toBeUndefined()
      expect(await results(other)).toHaveLength(1)
      expect(problems).toEqual([])
    }
    const { tools, process } = createShop()
    await process([tools.print], [ask('parts.print')]).say('Print it.')
    const other = process([], [reply.answer('Printed.')])
    await other.agent.complete('c1', await callOf(other), { ok: true, output: 'on paper' })
    await other.agent.drain(5_000)
    expect(await results(other)).toEqual(['on paper'])
  })

  it('tells the model that the tool is gone when the user writes again', async () => {
    const { tools, orders, process } = createShop()
    await process([tools.order], [ask('parts.order')]).say('Order brakes.')
    const other = process([], [reply.answer('I can not order any more.')])
    await other.agent.decide('c1', await callOf(other), { approved: true })
    await other.agent.drain(5_000)
    expect(await other.say('And now?')).toMatchObject({ answer: 'I can not order any more.' })
    expect(orders).toEqual([])
    expect(await results(other)).toEqual([expect.stringContaining('tool_unavailable')])
  })
})
