import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgentFrom } from '../../src/agent/agent.ts'
import type { Agent } from '../../src/agent/agent-interface.ts'
import { agentTool } from '../../src/agent/agent-tool.ts'
import { isChildKey } from '../../src/core/scope.ts'
import type { Change } from '../../src/core/timeline/change.ts'
import type { Model } from '../../src/ports/model.ts'
import { LEASE_MS } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { type Reply, reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { later } from '../../src/tools/outcome.ts'
import type { Call, Tool } from '../../src/tools/tool.ts'
import { createMortalProcess } from '../support/crash/mortal-store.ts'
import { createReplays } from '../support/replay-all.ts'
import { openTestStore, runsOf } from '../support/stores.ts'

/*
 * Users, operators and other systems act on conversations in a random order, while the process dies at random writes. In the end everything
 * is approved and completed. Then every turn is closed, every message was read once, no effect was repeated, no refused call has had an
 * effect, and every turn is replayed as it was.
 */

const conversations = ['c1', 'c2'] as const
const actions = [
  ...(['send', 'send', 'send', 'steer', 'stop', 'approve', 'approve', 'approve', 'refuse', 'complete', 'complete'] as const),
  ...(['fork', 'copy', 'delete', 'wait', 'crash', 'crash', 'crash'] as const),
] as const
const steps = ['pay', 'order', 'together', 'ask', 'answer'] as const

interface Step {
  readonly action: (typeof actions)[number]
  readonly conversation: (typeof conversations)[number]
  /** Which of the waits is answered. */
  readonly pick: number
  /** Whether the next action waits until the agent has nothing to do. */
  readonly settle: boolean
  /** The write at which the process dies, for a crash. */
  readonly write: number
  readonly side: 'before' | 'after'
}

const history: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    action: fc.constantFrom(...actions),
    conversation: fc.constantFrom(...conversations),
    pick: fc.nat(5),
    settle: fc.boolean(),
    write: fc.integer({ min: 1, max: 12 }),
    side: fc.constantFrom('before', 'after'),
  }),
  { minLength: 3, maxLength: 16 },
)
const script = fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 4 })

const seen = { histories: 0, crashes: 0, effects: 0, waits: 0 }
afterAll(() => {
  console.log(JSON.stringify(seen))
  expect(Math.min(seen.crashes, seen.effects, seen.waits)).toBeGreaterThan(seen.histories / 10 - 1)
})

it('whatever happens to turns that wait, in any order and with any crash, happens once', { timeout: 300_000 }, async () => {
  const runs = runsOf(40)
  await fc.assert(
    fc.asyncProperty(history, script, (all, model) => checkHistory(all, model)),
    { numRuns: runs, endOnFailure: true, timeout: 30_000 },
  )
})

it.each([
  { what: 'a sub-agent is deleted while its caller waits', seed: 843_633_673, path: '195' },
  { what: 'a deleted sub-agent is asked again, and waits after as many entries as before', seed: -155_540_921, path: '88' },
])('happens once, when $what', async ({ seed, path }) => {
  await fc.assert(
    fc.asyncProperty(history, script, (all, model) => checkHistory(all, model)),
    { seed, path, numRuns: 1, endOnFailure: true },
  )
})

async function checkHistory(all: readonly Step[], model: readonly (typeof steps)[number][]): Promise<void> {
  const world = await createWorld(model)
  let process = world.start()
  let message = 0
  for (const { action, conversation, pick, settle, write, side } of all) {
    if (action === 'crash') {
      process.kill()
      await world.leasesEnd()
      process = world.start({ write, side })
      seen.crashes++
    } else {
      const work = world.act(process.agent, action, conversation, pick, `m${++message}`)
      await Promise.race([settle ? work : Promise.race([work, turns(pick)]), process.died])
    }
    if (settle) await Promise.race([process.idle(), process.died])
    if (process.alive) continue
    await world.leasesEnd()
    process = world.start()
    seen.crashes++
    process.agent.recover().catch(() => {})
  }
  process.kill()
  await world.leasesEnd()
  await world.finish()
  seen.histories++
}

/** Lets the event loop run a few times. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count * 3; turn++) await new Promise(setImmediate)
}

async function createWorld(script: readonly (typeof steps)[number][]) {
  const clock = createFixedClock()
  const store = await openTestStore({ clock })
  const effects: string[] = []
  /** For each conversation, the messages that were accepted. A deletion removes them. */
  const sent = new Map<string, string[]>()
  const refused: string[] = []
  let copies = 0
  const replays = createReplays()

  function start(death?: { readonly write: number; readonly side: 'before' | 'after' }) {
    const mortal = createMortalProcess(store, death)
    const effect = (call: Call) => {
      if (!mortal.alive) return new Promise<never>(() => {})
      effects.push(call.idempotencyKey)
      return undefined
    }
    const own = toolsOf(effect)
    const parts = { store: mortal.store, clock, settings: { stopGraceMs: 50, retryDelaysMs: [] } }
    const helper = createAgentFrom({ ...parts, model: modelOf(script), tools: own })
    const tools = [...own, agentTool(helper, { description: 'Does it for you.', params: z.object({ task: z.string() }) })]
    const agent = createAgentFrom({ ...parts, model: modelOf(script), tools })
    replays.note({ store, tools, settings: parts.settings })
    replays.note({ store, tools: own, settings: parts.settings })
    return {
      agent,
      died: mortal.died,
      kill: mortal.kill,
      get alive() {
        return mortal.alive
      },
      async idle() {
        for (let round = 0; round < 3; round++) {
          await agent.drain(5_000)
          await helper.drain(5_000)
        }
      },
    }
  }

  async function act(agent: Agent, action: Step['action'], id: string, pick: number, message: string): Promise<void> {
    const answer = async (kind: 'approval' | 'later', work: (waitOf: string, callId: string) => Promise<unknown>) => {
      const found = (await agent.waiting()).waits.filter((wait) => wait.kind === kind)
      const wait = found[pick % Math.max(1, found.length)]
      if (wait) await work(wait.conversationId, wait.callId ?? '')
      if (wait) seen.waits++
    }
    try {
      if (action === 'send') {
        await agent.send(id, `Please do ${message}.`, { eventId: message })
        sent.set(id, [...(sent.get(id) ?? []), message])
      } else if (action === 'steer') await agent.steer(id, `Now do ${message}.`)
      else if (action === 'stop') await agent.stop(id)
      else if (action === 'approve') await answer('approval', (of, callId) => agent.decide(of, callId, { approved: true }))
      else if (action === 'refuse')
        await answer('approval', async (of, callId) => {
          if ((await agent.decide(of, callId, { approved: false })) === 'recorded') refused.push(callId)
        })
      else if (action === 'complete') await answer('later', (of, callId) => agent.complete(of, callId, { ok: true, output: 'done' }))
      else if (action === 'fork') await agent.archive.fork(id, `f${++copies}`)
      else if (action === 'copy') await agent.archive.importBundle(await agent.archive.exportBundle(id), `i${++copies}`)
      else if (action === 'delete') {
        sent.delete(id) // even if the process dies during the deletion
        await agent.archive.delete(id)
        sent.delete(id)
      }
    } catch (error) {
      const { code } = error as { code?: string }
      if (!expectedCodes.has(code ?? '')) throw error
    }
  }

  async function finish(): Promise<void> {
    const { agent, idle } = start()
    for (let round = 0; round < 60; round++) {
      await agent.recover()
      for (const { conversationId: of, kind, callId = '' } of (await agent.waiting({ limit: 500 })).waits) {
        const work =
          kind === 'approval' ? agent.decide(of, callId, { approved: true }) : kind === 'later' && agent.complete(of, callId, { ok: true })
        if (work) await work.catch((error: { code?: string }) => expect(expectedCodes).toContain(error.code))
      }
      await idle()
      clock.advance(1_000)
      if ((await open()).length === 0) break
    }
    expect(await open()).toEqual([])
    expect(effects.filter((key, index) => effects.indexOf(key) !== index)).toEqual([])
    expect(effects.filter((key) => refused.some((callId) => key.endsWith(callId)))).toEqual([])
    seen.effects += effects.length
    for (const [id, messages] of sent) await expectReadOnce(id, messages)
    await replays.expectSame()
  }

  const open = async () =>
    (await store.list({ limit: 500 })).conversations.flatMap(({ conversationId: id, openTurn, waits, offers, waiting }) =>
      openTurn !== null || waits.length > 0 || offers > 0 || waiting.length > 0 ? [{ id, openTurn, waits, offers, waiting }] : [],
    )

  async function expectReadOnce(id: string, messages: readonly string[]): Promise<void> {
    const changes: Change[] = []
    for await (const { change } of store.readJournal(id, { after: 0 })) changes.push(change)
    const blocks = changes.flatMap((change) => (change.type === 'blocks.appended' ? change.blocks : []))
    for (const message of messages) {
      const read = blocks.filter(({ type, text }) => type.startsWith('user.') && text?.includes(`Please do ${message}.`))
      expect([id, message, read.length]).toEqual([id, message, 1])
    }
    const calls = blocks.flatMap(({ type, call_id }) => (type === 'react.tool.call' ? [call_id] : []))
    const results = blocks.flatMap((block) =>
      block.type === 'react.tool.result' && block.meta?.render_role !== 'metadata' ? [block.call_id] : [],
    )
    expect([id, results.filter((call, index) => results.indexOf(call) !== index)]).toEqual([id, []])
    expect([id, calls.filter((call) => !results.includes(call))]).toEqual([id, []])
  }

  /** A store may still handle the last request of a process that has died. Then time passes, until the leases of this process have ended. */
  async function leasesEnd(): Promise<void> {
    await turns(5)
    clock.advance(LEASE_MS + 1)
  }

  return { leasesEnd, start, act, finish }
}

/** Answers that are clear: what was asked is not possible any more, or not yet. */
const expectedCodes: ReadonlySet<string> = new Set([
  'call.settled',
  'call.missing',
  'conversation.missing',
  'conversation.busy',
  'conversation.exists',
  'change.invalid',
  'lease.lost',
])

function toolsOf(effect: (call: Call) => Promise<never> | undefined): readonly Tool[] {
  const id = z.object({ n: z.number() })
  return [
    defineTool({
      id: 'shop.pay',
      description: 'Pays. Must not be repeated.',
      params: id,
      approval: true,
      parallel: true,
      run: async ({ n }, call) => (await effect(call)) ?? { paid: n },
    }),
    defineTool({
      id: 'shop.order',
      description: 'Orders. Must not be repeated.',
      params: id,
      parallel: true,
      run: async (_, call) => (await effect(call)) ?? later({ note: 'the printer' }),
    }),
    defineTool({ id: 'shop.look', description: 'Looks.', params: id, parallel: true, repeatable: true, run: ({ n }) => ({ seen: n }) }),
    defineTool({
      id: 'shop.fail',
      description: 'Fails.',
      params: id,
      parallel: true,
      repeatable: true,
      run() {
        throw new Error('no connection')
      },
    }),
  ]
}

/** A model without state. What it does depends on the number of the round only, so any process can continue a turn. */
function modelOf(script: readonly (typeof steps)[number][]): Model {
  const decide = (iteration: number, isChild: boolean): Reply => {
    const step = script[iteration % script.length]
    const n = iteration
    if (iteration >= (isChild ? 2 : 3) || step === 'answer') return reply.answer(`Answer ${iteration}.`)
    if (step === 'pay' || (isChild && step === 'ask')) return reply.call('shop.pay', { n })
    if (step === 'order') return reply.call('shop.order', { n })
    if (step === 'ask') return reply.call('agents.ask', { task: 'Pay.' })
    const both = [
      ['shop.pay', { n }],
      ['shop.look', { n }],
      ['shop.fail', { n }],
      ['shop.order', { n }],
    ] as const
    return reply.calls(isChild ? both : [...both, ['agents.ask', { task: 'Pay.' }]])
  }
  return {
    name: 'steps',
    window: 200_000,
    stream(request, signal) {
      const last = request.parts.at(-1)
      const iteration = Number(/Iteration (\d+)\//.exec(last?.type === 'text' ? last.text : '')?.[1]) - 1
      return scriptedModel([decide(iteration, isChildKey(request.cacheKey))]).stream(request, signal)
    },
  }
}
