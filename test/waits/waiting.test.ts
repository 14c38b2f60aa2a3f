import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { blocksOf, emptyTimeline } from '../../src/core/timeline/timeline.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { createHarness, type Harness, type HarnessOptions } from '../../src/testing/harness.ts'
import { type Reply, reply } from '../../src/testing/scripted-model.ts'
import type { ApprovalRule } from '../../src/tools/approval.ts'
import { defineTool } from '../../src/tools/define.ts'
import { later } from '../../src/tools/outcome.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { createReplays } from '../support/replay-all.ts'
import { openTestStore } from '../support/stores.ts'

const replays = createReplays()
afterEach(replays.expectSame)
afterAll(() => expect(replays.count).toBeGreaterThan(30))

/** A world that outlives its processes: the store, the clock, and what the tools did. */
async function createWorld() {
  const clock = createFixedClock()
  return { clock, store: await openTestStore({ clock }), effects: [] as string[] }
}
type World = Awaited<ReturnType<typeof createWorld>>

const mail = ({ effects }: World, more: object = {}): Tool =>
  defineTool({
    id: 'mail.send',
    description: 'Sends a mail.',
    params: z.object({ to: z.string() }),
    approval: true,
    ...more,
    run({ to }) {
      effects.push(`mail to ${to}`)
      return { sent: to }
    },
  })

const print = ({ effects }: World): Tool =>
  defineTool({
    id: 'shop.print',
    description: 'Orders a print.',
    params: z.object({ title: z.string() }),
    run({ title }) {
      effects.push(`print ${title}`)
      return later({ note: 'the printer' })
    },
  })

const send = reply.call('mail.send', { to: 'ann' })
const order = reply.call('shop.print', { title: 'Rome' })

function process(world: World, replies: readonly Reply[], more: Partial<HarnessOptions> = {}): Harness {
  return createHarness(replays.note({ clock: world.clock, store: world.store, replies, tools: [mail(world), print(world)], ...more }))
}

const waitingCall = async ({ agent }: Harness) => (await agent.waiting()).waits[0]?.callId ?? ''
const results = async (harness: Harness) =>
  blocksOf(await harness.timeline()).flatMap(({ type, text, meta }) =>
    type === 'react.tool.result' && meta?.render_role !== 'metadata' ? [text ?? ''] : [],
  )
const idle = async ({ agent }: Harness) => agent.drain(5_000)

describe('a call that needs an approval', () => {
  it('is listed with its complete parameters, so that a person can read what is approved', async () => {
    const world = await createWorld()
    const to = `${'ann '.repeat(1_000)}and bob`
    const harness = process(world, [reply.call('mail.send', { to }), reply.answer('Sent.')])
    await harness.say('Write to Ann.')
    const [wait] = (await harness.agent.waiting()).waits
    expect(wait?.params).toEqual({ to })
    expect(wait?.call?.text).not.toContain('and bob') // the block of the call has only the beginning
    await harness.agent.decide('c1', wait?.callId ?? '', { approved: false })
    await idle(harness)
  })

  it('can be named by the id of its wait, before and after the decision', async () => {
    const world = await createWorld()
    const harness = process(world, [send, reply.answer('Sent.'), order, reply.answer('Printed.')])
    const { waits } = await harness.say('Write to Ann.')
    const [waitId = '', callId = ''] = [waits?.[0]?.waitId, waits?.[0]?.callId]
    expect(await harness.agent.decide('c1', waitId, { approved: true })).toBe('recorded')
    await idle(harness)
    expect(world.effects).toEqual(['mail to ann'])
    for (const id of [waitId, callId]) expect(await harness.agent.decide('c1', id, { approved: false })).toBe('known')
    await expect(harness.agent.decide('c1', 'approve-nothing', { approved: true })).rejects.toMatchObject({ code: 'call.missing' })
    const late = await harness.say('Print Rome.')
    expect(await harness.agent.complete('c1', late.waits?.[0]?.waitId ?? '', { ok: true, output: 'on paper' })).toBe('recorded')
    await idle(harness)
    expect(await harness.agent.complete('c1', late.waits?.[0]?.callId ?? '', { ok: true, output: 'again' })).toBe('known')
    expect(await results(harness)).toEqual(['{"sent":"ann"}', 'on paper'])
  })

  it('waits without a claim, and runs after the approval, also in another process', async () => {
    const world = await createWorld()
    const first = process(world, [send, reply.answer('Sent.')])
    const { exitReason, waits } = await first.say('Write to Ann.')
    const callId = waits?.[0]?.callId ?? ''
    const wait = { waitId: `approve-${callId}`, kind: 'approval', callId, toolId: 'mail.send', params: { to: 'ann' } }
    expect({ exitReason, waits }).toEqual({ exitReason: 'waiting', waits: [{ ...wait, question: 'May the agent call mail.send?' }] })
    expect(world.effects).toEqual([])
    expect((await world.store.list({ open: true })).conversations).toEqual([])
    const journal = await first.journal()
    expect(journal.at(-1)).toMatchObject({ type: 'turn.waiting' })
    expect(await first.agent.waiting()).toMatchObject({
      waits: [{ conversationId: 'c1', toolId: 'mail.send', params: { to: 'ann' }, kind: 'approval' }],
    })
    await first.agent.close()

    const second = process(world, [reply.answer('Sent.')])
    expect(await second.agent.decide('c1', await waitingCall(second), { approved: true, by: 'Bob' })).toBe('recorded')
    await idle(second)
    expect(world.effects).toEqual(['mail to ann'])
    expect(blocksOf(await second.timeline()).at(-1)).toMatchObject({ type: 'assistant.completion', text: 'Sent.' })
    expect((await world.store.head('c1'))?.openTurn).toBe(null)
  })

  it('is not run when it is refused, and the model reads the note', async () => {
    const world = await createWorld()
    const harness = process(world, [send, reply.answer('Understood.')])
    await harness.say('Write to Ann.')
    await harness.agent.decide('c1', await waitingCall(harness), { approved: false, note: 'Not on Sundays.', by: 'Bob' })
    await idle(harness)
    expect(world.effects).toEqual([])
    expect((await results(harness)).join()).toContain('Bob did not approve this call of mail.send. It was not run. Note: Not on Sundays.')
  })

  it('runs with the parameters that the person has edited, and a notice says so', async () => {
    const world = await createWorld()
    const harness = process(world, [send, reply.answer('Sent.')])
    await harness.say('Write to Ann.')
    await harness.agent.decide('c1', await waitingCall(harness), { approved: true, params: { to: 'zoe' } })
    await idle(harness)
    expect(world.effects).toEqual(['mail to zoe'])
    expect(blocksOf(await harness.timeline()).find(({ type }) => type === 'react.notice')?.text).toContain('changed its parameters')
  })
})

describe('the rule of the agent', () => {
  const calls = async (approve: ApprovalRule) => {
    const world = await createWorld()
    const tools = [mail(world, { approval: undefined })]
    const harness = createHarness(
      replays.note({ clock: world.clock, store: world.store, replies: [send, reply.answer('Done.')], tools, approve }),
    )
    const { exitReason } = await harness.say('Write to Ann.')
    return { exitReason, effects: world.effects.length, results: (await results(harness)).join() }
  }

  it('asks, allows or denies by the id of the tool, and the longest pattern counts', async () => {
    expect(await calls({ '*': 'deny', 'mail.*': 'ask' })).toMatchObject({ exitReason: 'waiting', effects: 0 })
    expect(await calls({ '*': 'ask', 'mail.*': 'deny', 'mail.send': 'allow' })).toMatchObject({ exitReason: 'complete', effects: 1 })
    const denied = await calls({ 'mail.*': 'deny' })
    expect(denied).toMatchObject({ exitReason: 'complete', effects: 0 })
    expect(denied.results).toContain('call_denied')
    expect(await calls({ mail: 'deny' })).toMatchObject({ exitReason: 'complete', effects: 1 })
  })

  it('may be a function of the call, and asks when it fails', async () => {
    expect(await calls(({ params }) => (params.to === 'ann' ? 'ask' : 'allow'))).toMatchObject({ exitReason: 'waiting' })
    expect(await calls(async () => undefined)).toMatchObject({ exitReason: 'complete', effects: 1 })
    expect(
      await calls(() => {
        throw new Error('the rule is broken')
      }),
    ).toMatchObject({ exitReason: 'waiting', effects: 0 })
  })

  it('can not switch off the approval that a tool asks for, and a tool may ask for some calls only', async () => {
    const world = await createWorld()
    const harness = process(world, [send], { approve: { '*': 'allow' } })
    expect((await harness.say('Go.')).exitReason).toBe('waiting')
    const tools = [mail(world, { approval: ({ to }: { to: string }) => to !== 'ann' })]
    const free = createHarness(replays.note({ replies: [send, reply.answer('Sent.')], tools }))
    expect((await free.say('Go.')).exitReason).toBe('complete')
  })
})

describe('a result that arrives later', () => {
  it('ends the wait in any process, and its content is the result of the call', async () => {
    const world = await createWorld()
    const first = process(world, [order])
    expect(await first.say('Print.')).toMatchObject({ exitReason: 'waiting', waits: [{ kind: 'later', question: 'the printer' }] })
    const callId = await waitingCall(first)
    await first.agent.close()
    const second = process(world, [reply.answer('Printed.')])
    expect(await second.agent.complete('c1', callId, { ok: true, output: { pages: 12 } })).toBe('recorded')
    await idle(second)
    expect(world.effects).toEqual(['print Rome'])
    expect((await results(second)).join()).toContain('"pages":12')
    expect((await world.store.head('c1'))?.openTurn).toBe(null)
  })

  it('arrives as an event after a followup has settled the call with an interim result', async () => {
    const world = await createWorld()
    const harness = process(world, [order, reply.answer('Not yet.'), reply.answer('Now it is.')])
    await harness.say('Print.')
    const callId = await waitingCall(harness)
    expect((await harness.say('Is it ready?')).answer).toBe('Not yet.')
    expect((await results(harness)).join()).toContain('"status":"pending"')
    expect(await harness.agent.complete('c1', callId, { ok: true, output: { pages: 12 } })).toBe('recorded')
    expect((await harness.say('And now?')).answer).toBe('Now it is.')
    expect(blocksOf(await harness.timeline()).find(({ type }) => type === 'event.external')?.text).toContain('"pages":12')
    expect(world.effects).toEqual(['print Rome'])
  })

  it('can be delivered with its token also after an interim result, once', async () => {
    const world = await createWorld()
    let token = ''
    const tool = defineTool({
      id: 'shop.print',
      description: 'Orders a print.',
      params: z.object({ title: z.string() }),
      async run(_params, call) {
        token = (await call.completionToken?.()) ?? ''
        return later()
      },
    })
    const replies = [order, reply.answer('Not yet.'), reply.answer('Now it is.')]
    const harness = createHarness(replays.note({ clock: world.clock, store: world.store, replies, tools: [tool] }))
    await harness.say('Print.')
    const callId = await waitingCall(harness)
    await harness.say('Is it ready?')
    const deliver = (given: string) => codeOf(harness.agent.complete('c1', callId, { ok: true, output: { pages: 12 } }, { token: given }))
    expect([await deliver(`${token}0`), await deliver(token), await deliver(token)]).toEqual(['call.refused', 'recorded', 'known'])
    expect((await harness.say('And now?')).answer).toBe('Now it is.')
    expect(blocksOf(await harness.timeline()).filter(({ type }) => type === 'event.external')).toHaveLength(1)
  })

  it('fails when it has not arrived in time', async () => {
    const world = await createWorld()
    const tool = defineTool({
      id: 'shop.print',
      description: 'Orders a print.',
      params: z.object({ title: z.string() }),
      run: () => later({ expiresAt: new Date(Date.parse(world.clock.now()) + 60_000) }),
    })
    const harness = createHarness(
      replays.note({
        clock: world.clock,
        store: world.store,
        replies: [order, reply.answer('It did not come.')],
        tools: [tool],
      }),
    )
    await harness.say('Print.')
    expect((await harness.agent.recover()).results).toEqual([])
    world.clock.advance(60_000)
    expect((await harness.agent.recover()).results).toMatchObject([{ exitReason: 'complete', answer: 'It did not come.' }])
    expect((await results(harness)).join()).toContain('result_expired')
  })
})

describe('time', () => {
  it('in which a turn waits does not count for its time limit', async () => {
    const world = await createWorld()
    const settings = { maxSeconds: 60 }
    const harness = process(world, [send, reply.answer('Sent.')], { settings })
    await harness.say('Write to Ann.')
    world.clock.advance(3_600_000)
    await harness.agent.decide('c1', await waitingCall(harness), { approved: true })
    await idle(harness)
    const closed = (await harness.journal()).findLast(({ type }) => type === 'turn.closed')
    expect(closed).toMatchObject({ exit_reason: 'complete' })
    expect(world.effects).toEqual(['mail to ann'])
  })

  it('ends an approval that has a limit', async () => {
    const world = await createWorld()
    const harness = process(world, [send, reply.answer('Nobody answered.')], { settings: { approvalSeconds: 60 } })
    await harness.say('Write to Ann.')
    const callId = await waitingCall(harness)
    world.clock.advance(60_000)
    await expect(harness.agent.decide('c1', callId, { approved: true })).rejects.toMatchObject({ code: 'call.expired' })
    await harness.agent.recover()
    await harness.agent.drain(5_000) // the agent may have gone on by itself before
    expect(JSON.stringify(await harness.journal())).toContain('Nobody answered.')
    expect(world.effects).toEqual([])
  })
})

interface Row {
  readonly name: string
  /** What is done while the call waits. Its answer is the clear answer of the table. */
  act(harness: Harness, callId: string, world: World): Promise<unknown>
  readonly answer: unknown
  readonly effects: readonly string[]
  readonly result?: string
  readonly kind?: 'later'
}

const codeOf = (work: Promise<unknown>) => work.then(String, (error: { code?: string }) => error.code)
const approve = { approved: true }

const table: readonly Row[] = [
  {
    name: 'approve twice',
    act: async ({ agent }, id) => [await agent.decide('c1', id, approve), await agent.decide('c1', id, approve)],
    answer: ['recorded', 'known'],
    effects: ['mail to ann'],
  },
  {
    name: 'approve again after the call has run',
    async act(harness, id) {
      const first = await harness.agent.decide('c1', id, approve)
      await idle(harness)
      return [first, await harness.agent.decide('c1', id, approve)]
    },
    answer: ['recorded', 'known'],
    effects: ['mail to ann'],
  },
  {
    name: 'refuse after approve',
    act: async ({ agent }, id) => [await agent.decide('c1', id, approve), await agent.decide('c1', id, { approved: false })],
    answer: ['recorded', 'known'],
    effects: ['mail to ann'],
  },
  {
    name: 'approve after refuse',
    act: async ({ agent }, id) => [await agent.decide('c1', id, { approved: false }), await agent.decide('c1', id, approve)],
    answer: ['recorded', 'known'],
    effects: [],
    result: 'call_refused',
  },
  {
    name: 'approve an unknown call',
    act: ({ agent }) => codeOf(agent.decide('c1', 'unknown', approve)),
    answer: 'call.missing',
    effects: [],
  },
  {
    name: 'approve a call of another conversation',
    async act({ agent }, id) {
      await agent.archive.create('c2')
      return codeOf(agent.decide('c2', id, approve))
    },
    answer: 'call.missing',
    effects: [],
  },
  {
    name: 'approve in a conversation that does not exist',
    act: ({ agent }, id) => codeOf(agent.decide('c3', id, approve)),
    answer: 'conversation.missing',
    effects: [],
  },
  {
    name: 'complete a call that waits for an approval',
    act: ({ agent }, id) => agent.complete('c1', id, { ok: true, output: 'done by hand' }),
    answer: 'recorded',
    effects: [],
    result: 'done by hand',
  },
  {
    name: 'decide about a call that waits for a late result',
    act: ({ agent }, id) => codeOf(agent.decide('c1', id, approve)),
    answer: 'call.settled',
    effects: ['print Rome'],
    kind: 'later',
  },
  {
    name: 'complete twice',
    act: async ({ agent }, id) => [
      await agent.complete('c1', id, { ok: true, output: 'first' }),
      await agent.complete('c1', id, { ok: true, output: 'second' }),
    ],
    answer: ['recorded', 'known'],
    effects: ['print Rome'],
    result: 'first',
    kind: 'later',
  },
  {
    name: 'complete again after the turn has ended',
    async act(harness, id) {
      await harness.agent.complete('c1', id, { ok: true, output: 'first' })
      await idle(harness)
      return harness.agent.complete('c1', id, { ok: true, output: 'second' })
    },
    answer: 'known',
    effects: ['print Rome'],
    result: 'first',
    kind: 'later',
  },
  {
    name: 'complete with an error',
    act: ({ agent }, id) => agent.complete('c1', id, { ok: false, error: { code: 'out_of_paper', message: 'No paper.' } }),
    answer: 'recorded',
    effects: ['print Rome'],
    result: 'out_of_paper',
    kind: 'later',
  },
  {
    name: 'steer while waiting',
    act: ({ agent }) => agent.steer('c1', 'Never mind, do not.'),
    answer: true,
    effects: [],
    result: 'call_withdrawn',
  },
  {
    name: 'stop while waiting',
    act: ({ agent }) => agent.stop('c1'),
    answer: true,
    effects: [],
    result: 'call_withdrawn',
  },
  {
    name: 'steer while a late result is awaited',
    act: ({ agent }) => agent.steer('c1', 'Never mind.'),
    answer: true,
    effects: ['print Rome'],
    result: 'call_withdrawn',
    kind: 'later',
  },
  {
    name: 'complete after a steer has withdrawn the call',
    async act(harness, id) {
      await harness.agent.steer('c1', 'Never mind.')
      await idle(harness)
      return codeOf(harness.agent.complete('c1', id, { ok: true, output: 'too late' }))
    },
    answer: 'call.settled',
    effects: ['print Rome'],
    result: 'is no longer awaited, and will not arrive',
    kind: 'later',
  },
  {
    name: 'followup while an approval is awaited',
    async act(harness, id) {
      const followup = await harness.agent.run('c1', 'And hurry.').result
      const inbox = (await harness.timeline()).inbox.map(({ text }) => text)
      await harness.agent.decide('c1', id, approve)
      return { exitReason: followup.exitReason, inbox }
    },
    answer: { exitReason: 'waiting', inbox: ['And hurry.'] },
    effects: ['mail to ann'],
  },
]

const copied = async ({ agent, store }: Harness, id: string) => {
  const blocks = blocksOf((await store.loadVisible(id))?.timeline ?? emptyTimeline())
  const { waits } = await agent.waiting({ conversationId: id })
  return { waits: waits.length, result: blocks.find(({ type }) => type === 'react.tool.result')?.text?.includes('not_carried_over') }
}

const copies: readonly Row[] = [
  {
    name: 'fork while waiting: a turn that is not finished is not copied, and the original can still be approved',
    async act({ agent }, id) {
      return [await codeOf(agent.archive.fork('c1', 'c2')), await agent.decide('c1', id, approve)]
    },
    answer: ['change.invalid', 'recorded'],
    effects: ['mail to ann'],
  },
  {
    name: 'export and import while waiting: the copy does not wait',
    async act(harness) {
      const bundle = await harness.agent.archive.exportBundle('c1')
      await harness.agent.archive.importBundle(bundle, 'c2')
      expect(JSON.stringify((await harness.agent.archive.exportBundle('c2')).timeline)).toBe(JSON.stringify(bundle.timeline))
      return copied(harness, 'c2')
    },
    answer: { waits: 0, result: true },
    effects: [],
  },
  {
    name: 'retention while waiting: the conversation stays',
    async act({ agent, clock }) {
      clock.advance(1e9)
      return (await agent.archive.retain({ conversationsIdleSince: clock.now() })).conversations
    },
    answer: 0,
    effects: [],
  },
]

describe('a turn that waits causes at most one effect', () => {
  for (const { name, act, answer, effects, result, kind } of [...table, ...copies]) {
    it(name, async () => {
      const world = await createWorld()
      const harness = process(world, [kind === 'later' ? order : send, reply.answer('One.'), reply.answer('Two.')])
      expect((await harness.say('Go.')).exitReason).toBe('waiting')
      expect(await act(harness, await waitingCall(harness), world)).toEqual(answer)
      await idle(harness)
      expect(world.effects).toEqual(effects)
      if (result !== undefined) expect((await results(harness)).join()).toContain(result)
      const isClosed = (await world.store.head('c1'))?.openTurn === null
      const isWaiting = (await harness.agent.waiting({ conversationId: 'c1' })).waits.length > 0
      expect(isClosed).toBe(!isWaiting)
    })
  }

  it('delete while waiting: nothing is left to approve', async () => {
    const world = await createWorld()
    const harness = process(world, [send])
    await harness.say('Go.')
    const callId = await waitingCall(harness)
    await harness.agent.archive.delete('c1')
    expect(await codeOf(harness.agent.decide('c1', callId, approve))).toBe('conversation.missing')
    expect(await harness.agent.waiting()).toEqual({ waits: [] })
    expect(world.effects).toEqual([])
  })

  it('complete before the wait is entered: the result is used, and the turn does not wait', async () => {
    const world = await createWorld()
    const tool = defineTool({
      id: 'shop.print',
      description: 'Orders a print.',
      params: z.object({ title: z.string() }),
      async run(_params, { origin }) {
        expect(await harness.agent.complete('c1', origin.callId, { ok: true, output: 'fast' })).toBe('recorded')
        return later()
      },
    })
    const harness: Harness = createHarness(
      replays.note({
        clock: world.clock,
        store: world.store,
        replies: [order, reply.answer('Printed.')],
        tools: [tool],
      }),
    )
    expect(await harness.say('Print.')).toMatchObject({ exitReason: 'complete', answer: 'Printed.' })
    expect((await results(harness)).join()).toContain('fast')
  })

  it('k processes that answer one approval at once cause one effect', async () => {
    const world = await createWorld()
    await process(world, [send]).say('Go.')
    const racers = Array.from({ length: 8 }, () => process(world, [reply.answer('Sent.')]))
    const [first] = racers
    const callId = await waitingCall(first as Harness)
    const answers = await Promise.all(racers.map(({ agent }, n) => agent.decide('c1', callId, { approved: n % 2 === 0 })))
    for (const racer of racers) await idle(racer)
    expect(answers.filter((answer) => answer === 'recorded')).toHaveLength(1)
    expect(world.effects).toEqual(answers.indexOf('recorded') % 2 === 0 ? ['mail to ann'] : []) // every second racer refuses
    expect((await world.store.head('c1'))?.openTurn).toBe(null)
  })
})

describe('several calls in one response', () => {
  const search = ({ effects }: World) =>
    defineTool({
      id: 'web.search',
      description: 'Searches.',
      params: z.object({ query: z.string() }),
      parallel: true,
      run({ query }) {
        effects.push(`search ${query}`)
        if (query === 'broken') throw new Error('no connection')
        return { found: query }
      },
    })
  const together = reply.calls([
    ['mail.send', { to: 'ann' }],
    ['web.search', { query: 'rome' }],
    ['web.search', { query: 'broken' }],
    ['shop.print', { title: 'Rome' }],
  ])

  it('each waits by itself: the others run, and the results are in the order of the calls', async () => {
    const world = await createWorld()
    const tools = [mail(world), print(world), search(world)]
    const harness = createHarness(
      replays.note({ clock: world.clock, store: world.store, replies: [together, reply.answer('All done.')], tools }),
    )
    const { exitReason, waits = [] } = await harness.say('Go.')
    expect({ exitReason, kinds: waits.map(({ kind }) => kind) }).toEqual({ exitReason: 'waiting', kinds: ['approval', 'later'] })
    expect(world.effects).toEqual(['search rome', 'search broken', 'print Rome'])
    expect((await world.store.list({ open: true })).conversations).toEqual([])
    const [approval, late] = waits.map(({ callId = '' }) => callId)
    await harness.agent.complete('c1', late ?? '', { ok: true, output: 'printed' })
    await idle(harness)
    expect((await world.store.list({ open: true })).conversations).toEqual([])
    expect((await harness.agent.waiting()).waits).toMatchObject([{ kind: 'approval' }])
    await harness.agent.decide('c1', approval ?? '', approve)
    await idle(harness)
    expect(world.effects).toEqual(['search rome', 'search broken', 'print Rome', 'mail to ann'])
    expect((await results(harness)).map((text) => text.slice(0, 40))).toEqual([
      expect.stringContaining('sent'),
      expect.stringContaining('rome'),
      expect.stringContaining('error'),
      expect.stringContaining('printed'),
    ])
    expect((await world.store.head('c1'))?.openTurn).toBe(null)
  })

  it('a steer withdraws all of them', async () => {
    const world = await createWorld()
    const tools = [mail(world), print(world), search(world)]
    const harness = createHarness(
      replays.note({ clock: world.clock, store: world.store, replies: [together, reply.answer('Stopped.')], tools }),
    )
    await harness.say('Go.')
    await harness.agent.steer('c1', 'Never mind.')
    await idle(harness)
    expect((await results(harness)).filter((text) => text.includes('call_withdrawn'))).toHaveLength(2)
    expect((await world.store.head('c1'))?.openTurn).toBe(null)
  })
})
