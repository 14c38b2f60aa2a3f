import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { replay } from '../../src/agent/replay/replay.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type HarnessOptions } from '../../src/testing/harness.ts'
import { reply } from '../../src/testing/scripted-model.ts'
import { openStore } from '../../src/wiring/store.ts'
import { mcpHarness, promptOf, scriptedServer } from './servers.ts'

const done = reply.answer('Done.')
const ask = (times = 1) => reply.call('mcp.demo.ask', { times })

/** An agent whose turn has reached a question of the server. */
async function asking(options: Partial<HarnessOptions> & { readonly times?: number } = {}) {
  const { times = 1, ...more } = options
  const server = scriptedServer('good', { timeoutSeconds: 1 })
  const harness = mcpHarness({ demo: server.program }, { replies: [ask(times), done], ...more })
  const turn = harness.say('Ask me')
  const question = async () => (await harness.agent.waiting()).waits[0]
  await expect.poll(question).toMatchObject({ kind: 'elicitation' })
  const wait = await question()
  return { ...server, harness, turn, callId: wait?.callId ?? '', wait }
}

describe('a question of a server', () => {
  it('is listed with the fields of its answer, and the answer reaches the server', async () => {
    const { harness, turn, callId, wait } = await asking()
    expect(wait).toMatchObject({ question: 'Which city, number 1?', toolId: 'mcp.demo.ask', schema: { required: ['city'] } })
    await new Promise((resolve) => setTimeout(resolve, 1_200)) // longer than a call may take
    expect(await harness.agent.decide('c1', callId, { approved: true, params: { city: 'Rome', days: 3 } })).toBe('recorded')
    expect(await turn).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('"action":"accept","content":{"city":"Rome","days":3}')
    expect((await harness.agent.waiting()).waits).toEqual([])
    expect((await replay(harness.store, 'c1')).map(({ divergence }) => divergence)).toEqual([undefined])
  })

  it('can be declined, and a call can ask several', async () => {
    const { harness, turn, callId } = await asking({ times: 2 })
    await harness.agent.decide('c1', callId, { approved: false })
    const second = async () => (await harness.agent.waiting()).waits[0]?.question
    await expect.poll(second).toBe('Which city, number 2?')
    await harness.agent.decide('c1', callId, { approved: true, params: { city: 'Oslo' } })
    await turn
    expect(promptOf(harness)).toContain('Answers: [{"action":"decline"},{"action":"accept","content":{"city":"Oslo"}}]')
  })

  it.each<[params: Record<string, string | number>, words: string]>([
    [{}, 'the field city is missing'],
    [{ city: 7 }, 'the field city must be a text'],
    [{ city: 'Rome', days: 1.5 }, 'the field days must be a whole number'],
    [{ city: 'Rome', other: 1 }, 'there is no field other'],
  ])('refuses the answer %o and goes on waiting', async (params, words) => {
    const { harness, turn, callId } = await asking()
    await expect(harness.agent.decide('c1', callId, { approved: true, params })).rejects.toThrow(words)
    expect((await harness.agent.waiting()).waits).toHaveLength(1)
    await harness.agent.decide('c1', callId, { approved: false })
    await turn
  })

  it('is withdrawn by a stop', async () => {
    const { harness, turn, events } = await asking()
    await harness.agent.stop('c1')
    await turn
    expect((await harness.agent.waiting()).waits).toEqual([])
    await expect.poll(events).toContain('cancelled')
  })

  it('ends with the time for approvals', async () => {
    const clock = createFixedClock()
    const { harness, turn } = await asking({ clock, settings: { approvalSeconds: 60 } })
    clock.advance(61_000)
    await turn
    expect(promptOf(harness)).toContain('"action":"cancel"')
  })

  it('can be answered by another process', async () => {
    const data = mkdtempSync(join(tmpdir(), 'daybook-mcp-'))
    const [mine, other] = [await openStore({ data }), await openStore({ data })]
    onTestFinished(async () => {
      await mine.close()
      await other.close()
    })
    const { harness, turn } = await asking({ store: mine })
    const elsewhere = createHarness({ store: other, clock: harness.clock, replies: [] })
    const [wait] = (await elsewhere.agent.waiting()).waits
    expect(wait).toMatchObject({ kind: 'elicitation', conversationId: 'c1' })
    await elsewhere.agent.decide('c1', wait?.callId ?? '', { approved: true, params: { city: 'Bern' } })
    expect(await turn).toMatchObject({ answer: 'Done.' })
    expect(promptOf(harness)).toContain('"content":{"city":"Bern"}')
  })

  it('ends with the process, and the outcome of the call is unknown', async () => {
    const { harness, turn, callId } = await asking({ settings: { stopGraceMs: 0 } })
    await harness.agent.close()
    await turn
    const next = mcpHarness({ demo: scriptedServer().program }, { store: harness.store, clock: harness.clock, replies: [done] })
    await next.agent.recover()
    expect(promptOf(next)).toContain('outcome_unknown')
    expect((await next.agent.waiting()).waits).toEqual([])
    await expect(next.agent.decide('c1', callId, { approved: true, params: { city: 'Rome' } })).rejects.toMatchObject({
      code: 'call.settled',
    })
  })

  it('is not asked when calls of several conversations run, because it may belong to another user', async () => {
    const { program, events } = scriptedServer()
    const harness = mcpHarness({ demo: program }, { replies: [reply.answer('Warm.'), reply.call('mcp.demo.slow', {}), ask(), done] })
    await harness.say('Warm up')
    const slow = harness.agent.run('c2', 'Wait').result
    await expect.poll(events).toContain('slow')
    await harness.agent.run('c3', 'Ask').result
    expect(promptOf(harness)).toContain('"action":"cancel"')
    await harness.agent.stop('c2')
    await slow
  })
})
