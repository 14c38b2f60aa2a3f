import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { type CommandLine, createCommandLine } from '../../../test/support/command-line.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { createAgent } from '../../wiring/agent.ts'
import { defineAgent } from '../../wiring/define-agent.ts'
import { openStore } from '../../wiring/store.ts'

let line: CommandLine
beforeEach(() => {
  line = createCommandLine()
})
afterEach(() => line.remove())

const plan = reply.call('react.plan', { mode: 'new', steps: ['look'] })

/** The agent of the command line asks before it makes a plan. */
function askBeforePlans(...replies: readonly Reply[]): void {
  line.setReplies(...replies)
  line.settings = { ...line.settings, agent: defineAgent({ approve: { 'react.plan': 'ask' } }) }
}

it('run exits with 3 when the turn waits, and approve prints the rest of the turn', async () => {
  askBeforePlans(plan, reply.answer('Planned.'))
  const { exitCode, errors } = await line.run('run', 'Plan it.', '--conversation', 'c1')
  expect(exitCode).toBe(3)
  expect(errors).toContain('? May the agent call react.plan?')
  expect(errors).toContain('to approve the call: daybook approve c1\nto refuse the call: daybook refuse c1\n')
  expect(errors).not.toContain('daybook run')
  const { text } = await line.run('waiting')
  expect(text).toMatch(/^c1 {2}[0-9a-f]{12} {2}May the agent call react\.plan\?\n.*"steps":\["look"\]/)
  expect(await line.run('approve', 'c1')).toMatchObject({ exitCode: 0, output: 'Planned.\n' })
  expect((await line.run('waiting')).text).toBe('nothing waits')
})

it('run --json ends with a result that says what the turn waits for', async () => {
  askBeforePlans(plan)
  const { output } = await line.run('run', 'Plan it.', '--conversation', 'c1', '--json')
  expect(JSON.parse(output.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
    ...{ type: 'result', ok: false, exit_reason: 'waiting', waits: [{ kind: 'approval' }] },
  })
})

it('refuse tells the model why, and a second answer changes nothing', async () => {
  askBeforePlans(plan, reply.answer('Without a plan, then.'))
  await line.run('run', 'Plan it.', '--conversation', 'c1')
  const callId = /[0-9a-f]{12}/.exec((await line.run('waiting', 'c1')).text)?.[0] ?? ''
  expect(await line.run('refuse', 'c1', '--note', 'Too early.')).toMatchObject({ exitCode: 0, output: 'Without a plan, then.\n' })
  expect((await line.run('export', 'c1')).output).toContain('Too early.')
  expect((await line.run('approve', 'c1', callId)).text).toContain('was settled before')
  expect(await line.run('approve', 'c1')).toMatchObject({ exitCode: 1, text: expect.stringContaining('no call waits') })
})

it('complete delivers a result in place of the approval, and wrong parameters are refused', async () => {
  askBeforePlans(plan, reply.answer('Done by hand.'))
  await line.run('run', 'Plan it.', '--conversation', 'c1')
  expect((await line.run('approve', 'c1', '--params', '[1]')).exitCode).toBe(2)
  expect(await line.run('complete', 'c1', '{"by":"hand"}')).toMatchObject({ exitCode: 0, output: 'Done by hand.\n' })
})

it('approve raises a budget that was reached, also for a conversation of another user', async () => {
  line.setReplies(reply.answer('With more.'))
  line.settings = { ...line.settings, 'budgets.whenReached': 'ask' }
  const store = await openStore({ data: join(line.folder, 'data') })
  const agent = createAgent({ model: scriptedModel([]), store, settings: { budgets: { whenReached: 'ask' } } })
  await agent.budgets.set('user/acme/web/ann', { tokens: 5 })
  expect((await agent.run('acme/web/ann/c1', 'Hello.').result).exitReason).toBe('waiting')
  await agent.close()
  await store.close()
  expect((await line.run('admin', 'work')).text).toContain('acme/web/ann/c1')
  expect((await line.run('waiting', 'acme/web/ann/c1')).text).toContain('May it have more?')
  expect(await line.run('--server', 'http://127.0.0.1:1', 'approve', 'acme/web/ann/c1')).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('without --server'),
  })
  expect((await line.run('approve', '../c1')).exitCode).toBe(2)
  expect((await line.run('approve', 'acme/web/ann/none')).exitCode).toBe(1)
  expect(await line.run('approve', 'acme/web/ann/c1', '--params', '{"tokens":1000000}')).toMatchObject({
    exitCode: 0,
    output: 'With more.\n',
  })
})

it('approve, refuse, complete, run and chat change nothing if another agent has the tool of the call', async () => {
  const store = await openStore({ data: join(line.folder, 'data') })
  const orders: string[] = []
  const order = defineTool({
    id: 'parts.order',
    description: 'Orders a part.',
    params: z.object({ part: z.string() }),
    approval: true,
    run({ part }) {
      orders.push(part)
      return 'ordered'
    },
  })
  const openShop = () =>
    createAgent({ model: scriptedModel([reply.call('parts.order', { part: 'brakes' }), reply.answer('Ordered.')]), store, tools: [order] })
  const shop = openShop()
  expect((await shop.run('c1', 'Order brakes.').result).exitReason).toBe('waiting')
  const before = await shop.archive.head('c1')
  line.setReplies(reply.answer('Must not be asked.'))
  expect((await line.run('waiting')).text).toContain('May the agent call parts.order?')
  for (const command of [
    ['approve', 'c1'],
    ['refuse', 'c1'],
    ['complete', 'c1', 'done'],
    ['run', 'Hello.', '--conversation', 'c1'],
  ])
    expect(await line.run(...command)).toMatchObject({
      exitCode: 1,
      text: expect.stringContaining('an unfinished call needs the tool parts.order, which this agent lacks'),
    })
  expect((await line.run('chat', '--continue')).exitCode).toBe(1)
  expect(await shop.archive.head('c1')).toEqual(before)
  await shop.decide('c1', (await shop.waiting()).waits[0]?.callId ?? '', { approved: true })
  await shop.drain(5_000)
  expect(orders).toEqual(['brakes'])
  await shop.close()
  await store.close()
})

it('a chat asks, and goes on after /approve', async () => {
  askBeforePlans(plan, reply.answer('Planned.'))
  const chat = line.start('chat')
  chat.type('Plan it.')
  await chat.until('/approve runs the call')
  chat.type('/approve')
  await chat.until('Planned.')
  chat.type('/approve')
  await chat.until('no call waits for you')
  chat.type('/quit')
  expect(await chat.exitCode).toBe(0)
})

it('retry lists the conversations whose turns failed too often, and runs one again', async () => {
  line.setReplies(reply.answer('One.'))
  await line.run('run', 'First.', '--conversation', 'c1')
  expect((await line.run('retry')).text).toBe('no conversation is parked')
  expect((await line.run('retry', 'c1')).text).toContain('nothing to retry')
  expect(await line.run('retry', 'c9')).toMatchObject({ exitCode: 1, text: expect.stringContaining('c9') })
  const store = await openStore({ data: join(line.folder, 'data') })
  const owner = { id: 'other', host: 'elsewhere', pid: 1 }
  await store.offer('c1', { event_id: 'e1', kind: 'followup', ts: new Date().toISOString(), text: 'Second.' })
  const { claim } = await store.work.claimNext(owner, { maxAttempts: 1 })
  if (claim) await store.release(claim, { failed: 'no answer' })
  await new Promise((resolve) => setTimeout(resolve, 1_050))
  await store.work.claimNext(owner, { maxAttempts: 1 })
  await store.close()
  expect((await line.run('retry')).text).toMatch(/^\S+ {2}c1 {2}1 attempts: no answer$/)
  expect((await line.run('doctor')).text).toContain('1 conversation is parked')
  expect((await line.run('retry', 'c1')).text).toBe('c1 is in the work list again: a running server takes it, or the next one that starts')
  expect((await line.run('retry')).text).toBe('no conversation is parked')
})
