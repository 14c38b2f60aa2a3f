import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import { agentTool } from '../../src/agent/agent-tool.ts'
import type { AgentSettings } from '../../src/agent/settings.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { later } from '../../src/tools/outcome.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { createReplays } from '../support/replay-all.ts'
import { openTestStore } from '../support/stores.ts'

const replays = createReplays()
afterEach(replays.expectSame)
afterAll(() => expect(replays.count).toBeGreaterThan(25))

const params = z.object({ task: z.string() })
const description = 'Does a task.'
const ask = reply.call('agents.ask', { task: 'Write to Ann.' })
const send = reply.call('mail.send', { to: 'ann' })
const order = reply.call('shop.print', { title: 'Rome' })

/** A store, a clock and the effects of tools. They outlive the agents. */
async function createWorld() {
  const clock = createFixedClock()
  const store = await openTestStore({ clock })
  const effects: string[] = []
  const tools: readonly Tool[] = [
    defineTool({
      id: 'mail.send',
      description: 'Sends a mail.',
      params: z.object({ to: z.string() }),
      approval: true,
      run({ to }) {
        effects.push(`mail to ${to}`)
        return { sent: to }
      },
    }),
    defineTool({
      id: 'shop.print',
      description: 'Orders a print.',
      params: z.object({ title: z.string() }),
      run({ title }) {
        effects.push(`print ${title}`)
        return later({ note: 'the printer' })
      },
    }),
  ]
  const create = (replies: readonly Reply[], own: readonly Tool[], settings: Partial<AgentSettings> = {}) =>
    createAgentFrom(replays.note({ model: scriptedModel(replies), store, clock, tools: own, settings: { retryDelaysMs: [], ...settings } }))
  const asking = (helper: Agent) => [agentTool(helper, { description, params })]
  /** An agent whose sub-agents are nested: the last of them has the tools of this world. */
  const nested = (replies: readonly (readonly Reply[])[], settings: Partial<AgentSettings> = {}): Agent => {
    const [own = [], ...deeper] = replies
    return deeper.length === 0 ? create(own, tools, settings) : create(own, asking(nested(deeper, settings)), settings)
  }
  const journal = async (key: string) => {
    const changes: Change[] = []
    for await (const { change } of store.readJournal(key, { after: 0 })) changes.push(change)
    return changes
  }
  const results = async (key: string) => {
    const saved = await store.loadVisible(key)
    return (saved ? blocksOf(saved.timeline) : []).flatMap(({ type, text, meta }) =>
      type === 'react.tool.result' && meta?.render_role !== 'metadata' ? [text ?? ''] : [],
    )
  }
  const approval = async (agent: Agent) => {
    const wait = (await agent.waiting()).waits.find(({ kind }) => kind === 'approval' || kind === 'later')
    return { id: wait?.conversationId ?? '', callId: wait?.callId ?? '' }
  }
  const answer = async (key = 'c1') =>
    blocksOf((await store.loadVisible(key))?.timeline ?? (undefined as never)).findLast(({ type }) => type === 'assistant.completion')?.text
  return { clock, store, effects, tools, create, asking, nested, journal, results, approval, answer }
}
type World = Awaited<ReturnType<typeof createWorld>>

const idle = (agent: Agent) => agent.drain(5_000)
const waitsOf = async ({ store }: World, key = 'c1') => (await store.head(key))?.waits ?? []

/** Both conversations have no open turn and no wait. */
async function expectDone({ store }: World, childId: string): Promise<void> {
  expect(await store.head('c1')).toMatchObject({ openTurn: null, waits: [], offers: 0 })
  expect(await store.head(childId)).toMatchObject({ openTurn: null, waits: [], offers: 0 })
}

describe('while a sub-agent waits, the calling turn waits on record', () => {
  it.each([
    ['recover', async (agent: Agent): Promise<unknown> => agent.recover()],
    ['a worker that starts', async (agent: Agent): Promise<unknown> => agent.work()],
  ] as const)('and %s lets it ask a new sub-agent, if a process died after it had deleted the first one', async (_, resume) => {
    const world = await createWorld()
    const boss = world.nested([
      [ask, reply.answer('It is done.')],
      [send, reply.answer('Done.')],
    ])
    const { waits } = await boss.run('c1', 'Do it.').result
    const childId = waits?.[0]?.childId ?? ''
    await idle(boss)
    await world.store.delete(childId) // a deletion of c1 deletes its sub-agents first
    await resume(boss)
    await expect.poll(async () => (await world.store.head('c1'))?.openTurn).toBe(null)
    await idle(boss)
    expect(await world.answer()).toBe('It is done.')
    await expectDone(world, childId)
  })

  it.each([
    ['an approval', send, 'approval'],
    ['a late result', order, 'later'],
  ] as const)('for %s, and goes on when the turn of the sub-agent has ended', async (_, call, kind) => {
    const world = await createWorld()
    const boss = world.nested([
      [ask, reply.answer('It is done.')],
      [call, reply.answer('Done.')],
    ])
    const { exitReason, waits } = await boss.run('c1', 'Do it.').result
    expect({ exitReason, waits }).toMatchObject({ exitReason: 'waiting', waits: [{ kind: 'child', childId: expect.any(String) }] })
    await idle(boss)
    expect([...boss.running]).toEqual([])
    expect((await world.store.list({ open: true })).conversations).toEqual([])
    expect((await boss.recover()).results).toEqual([])
    const { id, callId } = await world.approval(boss)
    expect(id).toBe(waits?.[0]?.childId)
    expect((await boss.waiting({ conversationId: 'c1' })).waits.map((wait) => [wait.kind, wait.conversationId])).toEqual([
      ['child', 'c1'],
      [kind, id],
    ])
    const settled =
      kind === 'approval' ? boss.decide(id, callId, { approved: true, by: 'Bob' }) : boss.complete(id, callId, { ok: true, output: 'x' })
    expect(await settled).toBe('recorded')
    await idle(boss)
    expect(await world.answer()).toBe('It is done.')
    expect(world.effects).toEqual([kind === 'approval' ? 'mail to ann' : 'print Rome'])
    expect(await world.results('c1')).toEqual(['Done.'])
    await expectDone(world, id)
  })

  it('for a provider, and both go on by themselves at that time', async () => {
    const world = await createWorld()
    const limited = { kind: 'rate_limited', retryable: true, retry_after_seconds: 120, message: 'slow down' } as const
    const boss = world.nested([
      [ask, reply.answer('It is done.')],
      [{ error: limited }, reply.answer('Done.')],
    ])
    expect((await boss.run('c1', 'Do it.').result).waits).toMatchObject([{ kind: 'child' }])
    const [wait] = await waitsOf(world)
    expect(wait?.expires_at).toBeDefined()
    expect((await boss.recover()).results).toEqual([])
    world.clock.advance(121_000)
    await boss.recover() // the agent itself may have begun to continue the turn
    await expect.poll(() => world.answer(), { timeout: 30_000 }).toBe('It is done.')
    await idle(boss)
    await expectDone(world, wait?.child_id ?? '')
  })

  it('and is answered in another process, after the first has ended', async () => {
    const world = await createWorld()
    const first = world.nested([[ask], [send]])
    await first.run('c1', 'Do it.').result
    await first.close()
    const second = world.nested([[reply.answer('It is done.')], [reply.answer('Done.')]])
    const { id, callId } = await world.approval(second)
    await second.decide(id, callId, { approved: false, note: 'Not today.' })
    await idle(second)
    expect(world.effects).toEqual([])
    expect((await world.results(id)).join()).toContain('Not today.')
    expect(await world.answer()).toBe('It is done.')
    await expectDone(world, id)
  })

  it('also three levels deep', async () => {
    const world = await createWorld()
    const boss = world.nested([
      [ask, reply.answer('A')],
      [ask, reply.answer('B')],
      [ask, reply.answer('C')],
      [send, reply.answer('D')],
    ])
    expect((await boss.run('c1', 'Do it.').result).exitReason).toBe('waiting')
    const { id, callId } = await world.approval(boss)
    expect(id.split('~call_')).toHaveLength(4)
    expect((await boss.waiting()).waits.map(({ kind }) => kind).sort()).toEqual(['approval', 'child', 'child', 'child'])
    await boss.decide(id, callId, { approved: true })
    await idle(boss)
    expect([await world.answer(), world.effects]).toEqual(['A', ['mail to ann']])
    expect((await world.store.list({ waits: true })).conversations).toEqual([])
    const { cost } = await boss.archive.usage('c1')
    expect(cost.roles.get('child')?.calls).toBe(2 + 1 + 2 + 1 + 2 + 1) // decisions and titles
  })

  it('as often as the sub-agent waits', async () => {
    const world = await createWorld()
    const boss = world.nested([
      [ask, reply.answer('It is done.')],
      [send, order, send, reply.answer('Done.')],
    ])
    await boss.run('c1', 'Do it.').result
    for (const kind of ['approval', 'later', 'approval']) {
      const { id, callId } = await world.approval(boss)
      if (kind === 'approval') await boss.decide(id, callId, { approved: true })
      else await boss.complete(id, callId, { ok: true, output: 'printed' })
      await idle(boss)
    }
    expect(world.effects).toEqual(['mail to ann', 'print Rome', 'mail to ann'])
    expect(await world.answer()).toBe('It is done.')
  })
})

describe('a sub-agent that waits', () => {
  const waiting = async (replies: readonly (readonly Reply[])[], settings: Partial<AgentSettings> = {}) => {
    const world = await createWorld()
    const boss = world.nested(replies, settings)
    expect((await boss.run('c1', 'Do it.').result).exitReason).toBe('waiting')
    await idle(boss)
    return { world, boss, ...(await world.approval(boss)) }
  }

  it.each(['steer', 'stop'] as const)('is withdrawn by a %s of the calling turn', async (how) => {
    const { world, boss, id, callId } = await waiting([
      [ask, reply.answer('Then not.')],
      [send, reply.answer('Never.')],
    ])
    expect(await (how === 'steer' ? boss.steer('c1', 'Leave it.') : boss.stop('c1'))).toBe(true)
    await idle(boss)
    expect((await world.results('c1')).join()).toContain('call_withdrawn')
    expect(await world.answer()).toContain(how === 'steer' ? 'Then not.' : 'I stopped as you asked.')
    await expect(boss.decide(id, callId, { approved: true })).rejects.toMatchObject({ code: 'call.settled' })
    await boss.recover()
    expect(world.effects).toEqual([])
    expect((await boss.archive.usage('c1')).cost.roles.get('child')?.calls).toBeGreaterThan(0) // what it has cost is billed
    await expectDone(world, id)
  })

  it('whose approval expires goes on, and so does the calling turn', async () => {
    const { world, boss, id } = await waiting(
      [
        [ask, reply.answer('It is not done.')],
        [send, reply.answer('Nobody answered.')],
      ],
      { approvalSeconds: 60 },
    )
    expect(await waitsOf(world)).toMatchObject([{ kind: 'child', expires_at: expect.any(String) }])
    world.clock.advance(59_000)
    expect((await boss.recover()).results).toEqual([])
    world.clock.advance(1_000)
    expect((await boss.recover()).results).toMatchObject([{ answer: 'It is not done.' }])
    expect((await world.results(id)).join()).toContain('approval_expired')
    expect(world.effects).toEqual([])
    await expectDone(world, id)
  })

  it('goes on after a process has stored the decision and died before it woke the caller', async () => {
    const { world, boss, id, callId } = await waiting([
      [ask, reply.answer('It is done.')],
      [send, reply.answer('Done.')],
    ])
    const ts = world.clock.now()
    const payload = { call_id: callId, approved: true }
    await world.store.offer(id, { event_id: `decide-${callId}`, kind: 'decision', ts, text: '', payload })
    expect((await boss.recover()).results).toMatchObject([{ answer: 'It is done.' }])
    expect(world.effects).toEqual(['mail to ann'])
    await expectDone(world, id)
  })

  it('stays when a followup arrives for the calling turn, which reads it later', async () => {
    const { world, boss, id, callId } = await waiting([
      [ask, reply.answer('It is done.')],
      [send, reply.answer('Done.')],
    ])
    await boss.send('c1', 'Hurry up.')
    await idle(boss)
    expect(await waitsOf(world)).toMatchObject([{ kind: 'child' }])
    await boss.decide(id, callId, { approved: true })
    await idle(boss)
    expect(await world.answer()).toBe('It is done.')
    expect((await world.journal('c1')).filter(({ type }) => type === 'turn.closed')).toHaveLength(1)
    await expectDone(world, id)
  })

  it('is deleted with its caller', async () => {
    const { world, boss, id, callId } = await waiting([[ask], [send]])
    await boss.archive.delete('c1')
    expect([await world.store.head('c1'), await world.store.head(id)]).toEqual([undefined, undefined])
    await expect(boss.decide(id, callId, { approved: true })).rejects.toMatchObject({ code: 'conversation.missing' })
    expect((await boss.waiting()).waits).toEqual([])
  })

  it('is not carried over into a copy of the calling conversation', async () => {
    const { world, boss, id, callId } = await waiting([
      [ask, reply.answer('It is done.')],
      [send, reply.answer('Done.')],
    ])
    await boss.archive.importBundle(await boss.archive.exportBundle('c1'), 'c2')
    expect((await world.results('c2')).join()).toContain('not_carried_over')
    expect(await world.store.head('c2')).toMatchObject({ waits: [], openTurn: null })
    await boss.decide(id, callId, { approved: true })
    await idle(boss)
    expect([await world.answer(), world.effects]).toEqual(['It is done.', ['mail to ann']])
  })

  it('is resumed by the agent that has its tool, even if two approve at once', async () => {
    const { world, boss, id, callId } = await waiting([
      [ask, reply.answer('It is done.')],
      [send, reply.answer('Done.')],
    ])
    const stranger = world.create([reply.answer('wrong agent')], [])
    const answers = await Promise.all([stranger, boss, stranger, boss].map((agent) => agent.decide(id, callId, { approved: true })))
    expect(answers.sort()).toEqual(['known', 'known', 'known', 'recorded'])
    await Promise.all([idle(stranger), idle(boss)])
    await boss.recover()
    expect([await world.answer(), world.effects]).toEqual(['It is done.', ['mail to ann']])
    await expectDone(world, id)
  })

  it('wakes its caller when its own agent ends its turn', async () => {
    const world = await createWorld()
    const helper = world.create([order, reply.answer('Not yet.')], world.tools)
    const boss = world.create([ask, reply.answer('It is not done.')], world.asking(helper))
    await boss.run('c1', 'Do it.').result
    await idle(helper)
    const { id } = await world.approval(boss)
    expect((await helper.run(id, 'Is it ready?').result).answer).toBe('Not yet.')
    await expect.poll(async () => (await world.store.head('c1'))?.offers).toBe(1)
    expect((await boss.recover()).results).toMatchObject([{ answer: 'It is not done.' }])
    expect(await world.results('c1')).toEqual(['Not yet.'])
    await expectDone(world, id)
  })
})

describe('a sub-agent whose result is not awaited any more', () => {
  it('is stopped and billed when its call was interrupted too often', async () => {
    const world = await createWorld()
    const settings = { maxCallAttempts: 1 }
    const first = world.nested([[ask], [send]], settings)
    await first.run('c1', 'Do it.').result
    await first.close()
    const { id } = await world.approval(first)
    // the process dies after the call was woken, and before it waits again
    const wait = (await waitsOf(world))[0]
    const claim = await world.store.claim('c1', { id: 'dead', host: 'h', pid: 1 } as never)
    const ts = world.clock.now()
    const turnId = (await world.store.head('c1'))?.openTurn ?? ''
    await world.store.append(claim, [{ type: 'turn.resumed', turn_id: turnId, ts, wait_ids: [wait?.wait_id ?? ''] }])
    await world.store.release(claim)
    const second = world.nested([[reply.answer('I gave up.')], [reply.answer('Never.')]], settings)
    expect((await second.recover()).results).toMatchObject([{ answer: 'I gave up.' }])
    expect((await world.results('c1')).join()).toContain('gave_up')
    expect((await second.archive.usage('c1')).cost.roles.get('child')?.calls).toBe(2)
    expect(world.effects).toEqual([])
    await expectDone(world, id)
  })
})
