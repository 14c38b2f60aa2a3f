import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createPriceOf } from '../../adapters/model/prices.ts'
import { createHarness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { succeeded } from '../../tools/outcome.ts'

const search = defineTool({
  id: 'web_tools.web_search',
  description: 'Searches.',
  params: z.object({ query: z.string() }),
  run: () => succeeded({ output: 'found', sources: [{ source_type: 'web' as const, title: 'A', url: 'https://a.example/' }] }),
})

const usage = { uncached: 100, cacheRead: 20, cacheWrite: 3, output: 10, reasoning: 4 }
const searching = { text: reply.call('web_tools.web_search', { query: 'x' }), usage }
const writing = { text: reply.call('react.write', { path: 'files/report.md', channel: 'canvas', content: 'Text.', kind: 'file' }), usage }
const note = { text: reply.call('react.write', { path: 'files/note.md', channel: 'internal', content: 'Mine.', kind: 'file' }), usage }
const answering = { text: reply.answer('See [[S:1]].'), usage }

function harnessWith(replies: readonly Reply[], options: Partial<HarnessOptions> = {}, name = 'scripted') {
  return createHarness({ replies, model: scriptedModel(replies, { name }), tools: [search], ...options })
}

const knownPrices = { priceOf: createPriceOf({ now: () => '2026-11-16T00:00:00.000Z' }) }

describe('the result of a turn', () => {
  it('has the tokens by bucket, the rounds, the files for the user and the cited sources', async () => {
    const { usage: tokens, rounds, files, sources } = await harnessWith([searching, writing, note, answering]).say('Find it.')
    expect(tokens).toMatchObject({ uncached: 400, cacheRead: 80, cacheWrite: 12, reasoning: 16, calls: 5, estimated: 0 })
    expect(tokens.output).toBeGreaterThan(40) // the call for a title has output, too
    expect(rounds).toBe(4)
    expect(files).toMatchObject([{ filename: 'report.md', mime: 'text/markdown', size: 5 }])
    expect(sources).toMatchObject([{ sid: 1, title: 'A', url: 'https://a.example/' }])
  })

  it('has the cost if the price of every call is known', async () => {
    const priced = harnessWith([searching, answering], { settings: knownPrices }, 'anthropic/claude-opus-5')
    const { cost } = await priced.say('Find it.')
    expect(cost).toEqual({ money: expect.any(Number) })
    expect(cost.money).toBeGreaterThan((2 * (100 * 5 + 20 * 0.5 + 3 * 6.25 + 10 * 25)) / 1_000_000 - 1e-9)
  })

  it('says why it has no cost', async () => {
    const unknown = await harnessWith([answering], { settings: knownPrices }, 'acme/one').say('Hi.')
    expect(unknown.cost).toEqual({ money: null, reason: 'unknown_price', models: ['acme/one'], known: 0 })
    const none = await harnessWith([answering]).say('Hi.')
    expect(none.cost).toEqual({ money: null, reason: 'no_prices' })
  })

  it('has the times of the turn, of its model calls and of its tools', async () => {
    const slow = defineTool({
      id: 'acme.wait',
      description: 'Waits.',
      params: z.object({}),
      run: () => new Promise((resolve) => setTimeout(resolve, 30, 'done')),
    })
    const harness = harnessWith([{ text: reply.call('acme.wait', {}), delayMs: 20 }, answering], { tools: [slow] })
    const { timings, turnId } = await harness.say('Wait.')
    const changes = await harness.journal()
    const of = (type: 'turn.opened' | 'turn.closed') => changes.find((change) => change.type === type && change.turn_id === turnId)
    expect(timings).toMatchObject({ startedAt: of('turn.opened')?.['ts' as never], endedAt: of('turn.closed')?.['ts' as never] })
    expect(timings.totalMs).toBe(Date.parse(timings.endedAt ?? '') - Date.parse(timings.startedAt))
    expect(timings.modelMs).toBeGreaterThan(0)
    expect(timings.toolMs).toBeGreaterThan(0)
  })

  it('counts one turn only, and the archive gives the same for a turn that has ended', async () => {
    const harness = harnessWith([answering, searching, writing, answering], { settings: knownPrices }, 'anthropic/claude-opus-5')
    await harness.say('Hi.')
    const { turnId, usage: tokens, cost, rounds, files, sources, timings, answer, exitReason } = await harness.say('Find it.')
    expect(tokens.calls).toBe(3)
    const stored = await harness.agent.archive.turnResult(harness.conversationId, turnId)
    const { startedAt, endedAt, totalMs } = timings
    expect(stored).toMatchObject({ turnId, usage: tokens, cost, rounds, files, sources, answer, exitReason })
    expect(stored.timings).toEqual({ startedAt, endedAt, totalMs })
    await expect(harness.agent.archive.turnResult(harness.conversationId, 'turn_none')).rejects.toMatchObject({ code: 'turn.missing' })
  })
})
