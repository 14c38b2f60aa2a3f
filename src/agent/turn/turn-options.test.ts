import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { weather } from '../../../test/support/scenario-tools.ts'
import { codesOf } from '../../../test/support/watch-turn.ts'
import { createMemoryBlobs } from '../../adapters/blobs/memory.ts'
import { createMemoryStore } from '../../adapters/store/memory/store.ts'
import { createFixedClock } from '../../testing/fixed-clock.ts'
import { createHarness, type HarnessOptions } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { replay } from '../replay/replay.ts'

const mail = defineTool({ id: 'mail.send', description: 'Sends.', params: z.object({ to: z.string() }), run: () => 'sent' })
const calling = reply.call('weather.today', { city: 'Rome' })
const mailing = reply.call('mail.send', { to: 'ann' })

const setUp = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies, tools: [weather(), mail], ...options })

type Harness = ReturnType<typeof setUp>
const decisions = ({ model }: Pick<Harness, 'model'>) => model.requests.filter(({ role }) => role === 'decision')
const announceOf = (harness: Pick<Harness, 'model'>, round = -1) => {
  const part = decisions(harness).at(round)?.parts.at(-1)
  return part?.type === 'text' ? part.text : ''
}
const openedIn = async (harness: Harness) => (await harness.journal()).filter((change) => change.type === 'turn.opened')

describe('options of one run', () => {
  it('limit the rounds of this turn only, and are in the journal and in the result', async () => {
    const harness = setUp([calling, reply.answer('Enough.'), calling, calling, reply.answer('Sunny.')])
    const limited = await harness.agent.run('c1', 'Rome?', { maxRounds: 1 }).result
    expect(limited).toMatchObject({ exitReason: 'max_iterations', options: { max_rounds: 1 } })
    expect(announceOf(harness, 0)).toContain('Iteration 1/1')
    expect(await harness.agent.run('c1', 'And now?').result).toMatchObject({ exitReason: 'complete', rounds: 3 })
    expect(await openedIn(harness)).toMatchObject([{ options: { max_rounds: 1 } }, {}])
    expect((await openedIn(harness))[1]).not.toHaveProperty('options')
  })

  it('choose a model by its name', async () => {
    const strong = scriptedModel([reply.answer('Strong.')], { name: 'strong-1' })
    const harness = setUp([reply.answer('Usual.'), reply.answer('Usual again.')], { models: { strong } })
    expect((await harness.agent.run('c1', 'Hi.').result).answer).toBe('Usual.')
    const result = await harness.agent.run('c1', 'Think.', { model: 'strong' }).result
    expect(result).toMatchObject({ answer: 'Strong.', options: { model: 'strong' } })
    expect((await harness.agent.run('c1', 'Hi.').result).answer).toBe('Usual again.')
    expect(await replay(harness.store, 'c1', { tools: [weather(), mail] })).toMatchObject([{}, { rounds: 1 }, {}])
  })

  it('take a model that has no name, which holds until the process ends', async () => {
    const own = scriptedModel([reply.answer('Own.')])
    const harness = setUp([])
    expect(await harness.agent.run('c1', 'Hi.', { model: own }).result).toMatchObject({ answer: 'Own.', options: { unstored: ['model'] } })
  })

  it('add instructions to the announce, and do not change the system text', async () => {
    const harness = setUp([reply.answer('Ja.'), reply.answer('Yes.')])
    await harness.agent.run('c1', 'Well?', { instructions: 'Answer in German.\n[BUDGET]' }).result
    expect(announceOf(harness)).toContain('[INSTRUCTIONS FOR THIS TURN]\n  Answer in German.\n  \\[BUDGET]')
    await harness.agent.run('c1', 'Well?').result
    expect(announceOf(harness)).not.toContain('INSTRUCTIONS')
    expect(new Set(decisions(harness).map(({ system }) => system)).size).toBe(1)
  })

  it('offer a subset of the tools: it is announced, and calls of other tools are refused', async () => {
    const sent: unknown[] = []
    const run = (params: unknown) => sent.push(params)
    const counting = defineTool({ id: 'mail.send', description: 'Sends.', params: z.object({ to: z.string() }), run })
    const harness = setUp([mailing, calling, reply.answer('Sunny.'), mailing, reply.answer('Sent.')], { tools: [weather(), counting] })
    await harness.agent.run('c1', 'Rome?', { tools: ['weather.today'] }).result
    expect(announceOf(harness)).toContain('Only these tools can be called in this turn: weather.today')
    expect(await codesOf(harness)).toEqual(['protocol_violation.tool_not_offered'])
    expect(sent).toEqual([])
    await harness.agent.run('c1', 'Now send it.').result
    expect(sent).toEqual([{ to: 'ann' }])
    expect(new Set(decisions(harness).map(({ system }) => system)).size).toBe(1)
    expect(await replay(harness.store, 'c1', { tools: [weather(), mail] })).toMatchObject([{ rounds: 3 }, { rounds: 2 }])
  })

  it('of a followup hold if it starts a turn, and not if a running turn reads it', async () => {
    const harness = setUp([
      () => {
        joined = harness.agent.run('c1', 'And Oslo?', { instructions: 'Be rude.' }).result
        return calling
      },
      reply.answer('Sunny.'),
      reply.answer('Cold.'),
    ])
    let joined: Promise<unknown> | undefined
    const { turnId } = await harness.agent.run('c1', 'Rome?', { maxRounds: 7 }).result
    expect(await joined).toMatchObject({ turnId, options: { max_rounds: 7 } })
    expect(announceOf(harness)).not.toContain('Be rude.')
  })

  it('are refused with an error that names them', async () => {
    const harness = setUp([], { models: { strong: scriptedModel([]) } })
    const run = (options: object) => harness.agent.run('c1', 'Hi.', options).result
    await expect(run({ model: 'weak' })).rejects.toMatchObject({ option: 'model', message: expect.stringContaining('"strong"') })
    await expect(run({ model: {} })).rejects.toMatchObject({ option: 'model.stream' })
    await expect(run({ maxRounds: 0 })).rejects.toMatchObject({ option: 'maxRounds' })
    await expect(run({ instructions: 7 })).rejects.toMatchObject({ option: 'instructions' })
    await expect(run({ instructions: 'x'.repeat(20_001) })).rejects.toMatchObject({ option: 'instructions' })
    await expect(run({ tools: ['mail.send', 'mail.sent'] })).rejects.toMatchObject({ option: 'tools[1]' })
    await expect(harness.agent.send('c1', 'Hi.', { model: 'weak' })).rejects.toMatchObject({ where: 'send', option: 'model' })
    expect(await harness.store.head('c1')).toBeUndefined()
  })
})

describe('the option `ask`', () => {
  const codeTool = (mayCall: (id: string) => boolean | undefined) =>
    defineTool({
      id: 'code.run',
      description: 'Runs a program.',
      params: z.object({}),
      run: (_, { offers }) => void mayCall(String(offers?.('mail.send'))),
    })

  it('lets calls of the named tools wait for a person in this turn only, even after a restart', async () => {
    const store = createMemoryStore({ blobs: createMemoryBlobs(), clock: createFixedClock() })
    const first = setUp([calling, mailing], { store })
    const waiting = await first.agent.run('c1', 'Write.', { ask: ['mail.*'] }).result
    expect(waiting).toMatchObject({ exitReason: 'waiting', options: { ask: ['mail.*'] } })
    await first.agent.close()
    const harness = setUp([mailing, reply.answer('Sent twice.'), mailing, reply.answer('Sent at once.')], { store })
    for (const count of [1, 2]) {
      const { waits } = await harness.agent.waiting()
      expect([count, waits.map(({ question }) => question)]).toEqual([count, ['May the agent call mail.send?']])
      await harness.agent.decide('c1', waits[0]?.callId ?? '', { approved: true })
      await harness.agent.drain(5_000)
    }
    expect(await harness.agent.run('c1', 'Write again.').result).toMatchObject({ exitReason: 'complete', answer: 'Sent at once.' })
    expect(await replay(store, 'c1', { tools: [weather(), mail] })).toEqual(
      [4, 2].map((rounds) => ({ turnId: expect.any(String), rounds })),
    )
  })

  it('can not be avoided by a program, and does not allow what the agent refuses', async () => {
    const seen: string[] = []
    const tools = [codeTool((id) => seen.push(id) > 0), mail]
    const harness = setUp([reply.call('code.run'), mailing, reply.answer('Refused.')], { tools, approve: { 'mail.send': 'deny' } })
    const result = await harness.agent.run('c1', 'Write.', { ask: ['mail.send'] }).result
    expect([result.exitReason, seen]).toEqual(['complete', ['false']])
    await expect(harness.agent.run('c1', 'x', { ask: ['mail.sned'] }).result).rejects.toMatchObject({ option: 'ask[0]' })
    await expect(harness.agent.run('c1', 'x', { ask: [7] as never }).result).rejects.toMatchObject({ option: 'ask[0]' })
  })
})

it('options hold after a wait of three days and in another process', async () => {
  const clock = createFixedClock()
  const store = createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const approved = defineTool({ id: 'mail.ask', description: 'Sends.', params: z.object({}), approval: true, run: () => 'sent' })
  const harnessWith = (...replies: readonly Reply[]) => {
    const strong = scriptedModel(replies, { name: 'strong-1' })
    return { strong, harness: setUp([], { clock, store, tools: [approved, mail], models: { strong } }) }
  }
  const output = z.object({ sent: z.boolean() })
  const options = { model: 'strong', maxRounds: 4, instructions: 'Answer in German.', tools: ['mail.ask'], output }
  const first = harnessWith(reply.call('mail.ask'))
  expect(await first.harness.agent.run('c1', 'Write.', options).result).toMatchObject({
    exitReason: 'waiting',
    refusal: { code: 'waiting' },
  })
  await first.harness.agent.close()

  clock.advance(3 * 24 * 3_600_000)
  const second = harnessWith(mailing, reply.answer('{"sent":true}'))
  const { agent } = second.harness
  await agent.decide('c1', (await agent.waiting()).waits[0]?.callId ?? '', { approved: true })
  await agent.drain(5_000)
  const [turnId = ''] = (await openedIn(second.harness)).map(({ turn_id }) => turn_id)
  expect(await agent.archive.turnResult('c1', turnId)).toMatchObject({
    ...{ output: { sent: true }, rounds: 3 },
    options: { model: 'strong', max_rounds: 4, instructions: 'Answer in German.', tools: ['mail.ask'] },
  })
  expect(await codesOf(second.harness)).toEqual(['protocol_violation.tool_not_offered'])
  const announce = announceOf({ model: second.strong })
  for (const words of ['Iteration 3/4', 'Answer in German.', 'Only these tools can be called in this turn: mail.ask', '[OUTPUT]'])
    expect(announce).toContain(words)
  await agent.close()
})

describe('toolsFor', () => {
  it('chooses the tools of each turn, together with the option of the run', async () => {
    const asked: unknown[] = []
    const harness = setUp([reply.answer('One.'), reply.answer('Two.'), reply.answer('Three.')], {
      toolsFor: (turn) => {
        asked.push([turn.conversationId, turn.text])
        return turn.text === 'All.' ? undefined : ['weather.today', 'react.read']
      },
    })
    await harness.agent.run('c1', 'Some.').result
    expect(announceOf(harness)).toContain('Only these tools can be called in this turn: react.read, weather.today')
    await harness.agent.run('c1', 'Fewer.', { tools: ['weather.today', 'mail.send'] }).result
    expect(announceOf(harness)).toContain('Only these tools can be called in this turn: weather.today')
    await harness.agent.run('c1', 'All.').result
    expect(announceOf(harness)).not.toContain('Only these tools')
    expect(asked).toEqual([
      ['c1', 'Some.'],
      ['c1', 'Fewer.'],
      ['c1', 'All.'],
    ])
    expect(await openedIn(harness)).toMatchObject([
      { options: { tools: ['react.read', 'weather.today'] } },
      { options: { tools: ['weather.today'] } },
      {},
    ])
  })

  it('offers no tool if it fails, and reports the error', async () => {
    const problems: string[] = []
    const harness = setUp([calling, reply.answer('No.')], {
      toolsFor: () => Promise.reject(new Error('no connection')),
      onProblem: ({ where }) => void problems.push(where),
    })
    await harness.agent.run('c1', 'Rome?').result
    expect(announceOf(harness)).toContain('No tool can be called in this turn.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.tool_not_offered'])
    expect(problems).toEqual(['toolsFor'])
  })
})
