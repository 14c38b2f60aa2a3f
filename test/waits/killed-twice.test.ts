import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { createAgentFrom } from '../../src/agent/agent.ts'
import { Failure } from '../../src/core/failure.ts'
import { blocksOf } from '../../src/core/timeline/timeline.ts'
import { type ConversationStore, LEASE_MS } from '../../src/ports/store.ts'
import { createFixedClock } from '../../src/testing/fixed-clock.ts'
import { reply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { defineTool } from '../../src/tools/define.ts'
import { createReplays } from '../support/replay-all.ts'
import { openTestStore } from '../support/stores.ts'

const replays = createReplays()
afterEach(replays.expectSame)

/** Processes with one store, and what their tools did. Each process can die. */
async function createWorld(needsApproval: readonly string[]) {
  const clock = createFixedClock()
  const store = await openTestStore({ clock })
  const effects: string[] = []
  const tool = (id: string, hangs: boolean) =>
    defineTool({
      id,
      description: 'Does something.',
      params: z.object({}),
      ...(needsApproval.includes(id) && { approval: true as const }),
      run() {
        effects.push(id)
        return hangs ? new Promise(() => {}) : `${id} is done`
      },
    })
  /** Starts a process. It is to die while the tool `hanging` runs. */
  const start = (replies: readonly string[], hanging?: string) => {
    let dead = false
    const ifAlive = async <T>(work: () => Promise<T>): Promise<T> => {
      if (dead) throw new Failure('store.failed', 'the process is dead')
      return work()
    }
    const dying: ConversationStore = {
      ...store,
      append: (claim, changes, options) => ifAlive(() => store.append(claim, changes, options)),
      renew: (claim) => ifAlive(() => store.renew(claim)),
    }
    const tools = ['shop.order', 'shop.pay', 'shop.ship'].map((id) => tool(id, id === hanging))
    replays.note({ store, tools })
    const agent = createAgentFrom({ model: scriptedModel(replies), store: dying, clock, tools, onProblem: () => {} })
    const die = async () => {
      if (hanging) await expect.poll(() => effects).toContain(hanging)
      dead = true
      clock.advance(LEASE_MS + 1)
    }
    return { agent, die }
  }
  const callOf = async (toolId: string) => (await start([]).agent.waiting()).waits.find((wait) => wait.toolId === toolId)?.callId ?? ''
  const results = async () =>
    blocksOf((await store.loadVisible('c1'))?.timeline ?? (undefined as never)).flatMap(({ type, text = '', meta }) =>
      type === 'react.tool.result' && meta?.render_role !== 'metadata' ? [/outcome_unknown|is done/.exec(text)?.[0]] : [],
    )
  return { store, effects, start, callOf, results }
}

const all = reply.calls([['shop.order'], ['shop.pay'], ['shop.ship']])

it('a call that was interrupted while an earlier one waited is not run again after the earlier one was interrupted, too', async () => {
  const { store, effects, start, callOf, results } = await createWorld(['shop.order'])
  const first = start([all], 'shop.pay')
  first.agent.run('c1', 'Go.').result.catch(() => {})
  await first.die()
  const second = start([], 'shop.order')
  await second.agent.decide('c1', await callOf('shop.order'), { approved: true })
  await second.die()
  const third = start([reply.answer('Done.')])
  expect((await third.agent.recover()).results).toMatchObject([{ answer: 'Done.' }])
  expect(effects).toEqual(['shop.pay', 'shop.order', 'shop.ship']) // the last one had not started
  expect(await results()).toEqual(['outcome_unknown', 'outcome_unknown', 'is done'])
  expect(await store.head('c1')).toMatchObject({ openTurn: null, waits: [] })
})

it('so is a call that was approved and interrupted before the earlier one was approved', async () => {
  const { effects, start, callOf, results } = await createWorld(['shop.order', 'shop.pay', 'shop.ship'])
  const first = start([all])
  await first.agent.run('c1', 'Go.').result
  await first.agent.close()
  const second = start([], 'shop.ship')
  await second.agent.decide('c1', await callOf('shop.ship'), { approved: true })
  await second.die()
  const third = start([], 'shop.order')
  const [order, pay] = [await callOf('shop.order'), await callOf('shop.pay')]
  await Promise.all([third.agent.decide('c1', order, { approved: true }), third.agent.decide('c1', pay, { approved: true })])
  await third.die()
  const fourth = start([reply.answer('Done.')])
  expect((await fourth.agent.recover()).results).toMatchObject([{ answer: 'Done.' }])
  expect(effects).toEqual(['shop.ship', 'shop.order', 'shop.pay'])
  expect(await results()).toEqual(['outcome_unknown', 'is done', 'outcome_unknown'])
})
