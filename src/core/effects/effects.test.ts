import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { weather } from '../../../test/support/scenario-tools.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { failed } from '../../tools/outcome.ts'
import type { Change } from '../timeline/change.ts'
import { createEffectsReader } from './effects.ts'

const pay = (name: string, run: () => unknown) => defineTool({ id: `shop.${name}`, description: 'Pays.', params: z.object({}), run })

describe('the effects of a conversation', () => {
  it('are the calls of tools that are not read-only, with what became of them', async () => {
    const harness = createHarness({
      replies: [
        reply.calls([['shop.pay'], ['shop.declined'], ['shop.search'], ['react.plan', { mode: 'new', steps: ['a'] }]]),
        reply.call('react.write', { path: 'a.md', channel: 'canvas', content: 'A', kind: 'file' }),
        reply.call('shop.odd'),
        reply.answer('Done.'),
      ],
      tools: [
        pay('pay', () => ({ receipt: 1 })),
        pay('declined', () => failed('declined', 'The card was declined.')),
        pay('odd', () => ({ receipt: Symbol('not JSON') })),
        defineTool({ id: 'shop.search', description: 'Searches.', params: z.object({}), readOnly: true, run: () => 'found' }),
      ],
    })
    const { turnId } = await harness.say('Go.')
    const effects = await harness.agent.archive.effects('c1')
    expect(effects).toMatchObject([
      { turnId, toolId: 'shop.pay', status: 'done' },
      { turnId, toolId: 'shop.declined', status: 'failed', error: { code: 'declined', message: 'The card was declined.' } },
      { turnId, toolId: 'react.write', status: 'done' },
      { turnId, toolId: 'shop.odd', status: 'done' },
    ])
    expect(effects.every(({ endedAt }) => endedAt !== undefined)).toBe(true)
  })

  it('of a running turn say which calls have no result yet', async () => {
    const started = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const slow = pay('slow', async () => {
      started.resolve()
      await finish.promise
    })
    const harness = createHarness({ replies: [reply.call('shop.slow'), reply.answer('Done.')], tools: [slow] })
    const turn = harness.say('Go.')
    await started.promise
    expect(await harness.agent.archive.effects('c1')).toMatchObject([{ toolId: 'shop.slow', status: 'running' }])
    finish.resolve()
    await turn
    expect(await harness.agent.archive.effects('c1')).toMatchObject([{ toolId: 'shop.slow', status: 'done' }])
  })

  it('are unknown when a tool was interrupted, and failed when it was not started', async () => {
    const started = Promise.withResolvers<void>()
    const slow = pay('slow', () => {
      started.resolve()
      return new Promise(() => {})
    })
    const harness = createHarness({
      replies: [reply.calls([['shop.slow'], ['shop.next']]), reply.answer('Stopped.')],
      tools: [slow, pay('next', () => 'ran')],
      settings: { stopGraceMs: 0 },
    })
    const turn = harness.say('Go.')
    await started.promise
    await harness.agent.steer('c1', 'Something else.')
    await turn
    expect(await harness.agent.archive.effects('c1')).toMatchObject([
      { toolId: 'shop.slow', status: 'unknown', error: { code: 'tool_cancelled' } },
      { toolId: 'shop.next', status: 'failed', error: { code: 'tool_cancelled' } },
    ])
  })

  it('wait while the journal has a wait for the call, and are known from an outcome that waits for another call', async () => {
    const harness = createHarness({ replies: [reply.call('weather.today', { city: 'Rome' }), reply.answer('Done.')], tools: [weather()] })
    const { turnId: turn_id } = await harness.say('Go.')
    const journal = await harness.journal()
    const end = journal.findIndex(
      (change) => change.type === 'blocks.appended' && change.blocks.some(({ type }) => type === 'react.tool.call'),
    )
    const calls = journal.slice(0, end + 1)
    const call_id = calls.flatMap((change) => (change.type === 'blocks.appended' ? change.blocks : [])).at(-1)?.call_id ?? ''
    const ts = '2026-01-01T00:00:00.000Z'
    const statusAfter = (...changes: readonly Change[]) => {
      const reader = createEffectsReader(() => false)
      for (const change of [...calls, ...changes]) reader.add(change)
      return reader.effects().map(({ status }) => status)
    }
    const waiting: Change = { type: 'turn.waiting', turn_id, ts, waits: [{ wait_id: 'w1', kind: 'approval', call_id }] }
    expect(statusAfter()).toEqual(['running'])
    expect(statusAfter(waiting)).toEqual(['waiting'])
    expect(statusAfter(waiting, { type: 'turn.resumed', turn_id, ts, wait_ids: ['w1'] })).toEqual(['running'])
    expect(statusAfter({ type: 'call.finished', turn_id, ts, call_id, outcome: { ok: true } })).toEqual(['done'])
    const error = { code: 'declined', message: 'No.' }
    expect(statusAfter({ type: 'call.finished', turn_id, ts, call_id, outcome: { ok: false, error } })).toEqual(['failed'])
  })

  it('of a conversation that does not exist are an error', async () => {
    await expect(createHarness({ replies: [] }).agent.archive.effects('none')).rejects.toMatchObject({ code: 'conversation.missing' })
  })
})
