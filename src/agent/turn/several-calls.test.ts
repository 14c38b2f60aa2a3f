import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createParallelTools } from '../../../test/support/parallel-tools.ts'
import { weather } from '../../../test/support/scenario-tools.ts'
import { codesOf } from '../../../test/support/watch-turn.ts'
import { type Block, isResultMetadata } from '../../core/block/index.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import { createHarness, type Harness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { callIdAt } from '../../tools/call-id.ts'
import { defineTool } from '../../tools/define.ts'
import { succeeded } from '../../tools/outcome.ts'
import { replay } from '../replay/replay.ts'

const blocksOfType = async (harness: Harness, type: Block['type']) =>
  blocksOf(await harness.timeline()).filter((block) => block.type === type)
const isResult = (block: Block) => block.type === 'react.tool.result' && !isResultMetadata(block)
const resultsOf = async (harness: Harness) =>
  blocksOf(await harness.timeline())
    .filter(isResult)
    .map(({ text = '' }) => JSON.parse(text))
const finishedIn = async (harness: Harness) =>
  (await harness.journal()).flatMap((change) => (change.type === 'call.finished' ? [change.call_id] : []))

const three = [['par.a', { word: 'x' }], ['par.b'], ['par.c']] as const

describe('several calls in one response', () => {
  it('are all committed before the first tool runs, and parallel tools run at the same time', async () => {
    const { tools, log, running, finish } = createParallelTools(['a', 'b', 'c'])
    const harness = createHarness({ replies: [reply.calls(three, { notes: 'I look.' }), reply.answer('Done.')], tools })
    const turn = harness.say('Go.')
    await Promise.all([running('a'), running('b'), running('c')])
    const calls = await blocksOfType(harness, 'react.tool.call')
    const [first = ''] = calls.map(({ call_id }) => call_id)
    expect(calls.map(({ call_id, tool_id }) => [call_id, tool_id])).toEqual([
      [first, 'par.a'],
      [callIdAt(first, 1), 'par.b'],
      [callIdAt(first, 2), 'par.c'],
    ])
    expect(callIdAt(first, 2)).toMatch(/^[0-9a-f]{12}$/)
    expect(log).toEqual(['a starts', 'b starts', 'c starts'])
    for (const name of ['a', 'b', 'c']) await finish(name)
    expect((await turn).answer).toBe('Done.')
    expect(await resultsOf(harness)).toEqual([{ said: 'x' }, { said: 'b' }, { said: 'c' }])
    expect(await blocksOfType(harness, 'react.notes')).toHaveLength(1)
  })

  it('enter a result that waits for an earlier call at once, and all results in the order of the calls', async () => {
    const { tools, finish } = createParallelTools(['a', 'b', 'c'])
    const entered: string[] = []
    const harness = createHarness({
      replies: [reply.calls(three), reply.answer('Done.')],
      tools,
      onEntry: (_, { change }) => {
        if (change.type === 'call.finished') entered.push(`finished ${JSON.stringify(change.outcome.output)}`)
        if (change.type === 'blocks.appended') entered.push(...change.blocks.filter(isResult).map(({ text }) => `result ${text}`))
      },
    })
    const turn = harness.say('Go.')
    await finish('c')
    await expect.poll(() => entered.length).toBe(1)
    await finish('b')
    await expect.poll(() => entered.length).toBe(2)
    await finish('a')
    await turn
    expect(entered).toEqual([
      'finished {"said":"c"}',
      'finished {"said":"b"}',
      'result {"said":"x"}',
      'result {"said":"b"}',
      'result {"said":"c"}',
    ])
    expect(await codesOf(harness)).toEqual([])
  })

  it('run other tools alone, in order, and these see the results of earlier calls', async () => {
    const { tools, log, finish } = createParallelTools(['a', 'b', 'd'])
    const seen: number[] = []
    const alone = defineTool({
      id: 'one.alone',
      description: 'Runs alone.',
      params: z.object({}),
      run(_, { timeline }) {
        log.push('alone runs')
        seen.push(blocksOf(timeline).filter(isResult).length)
        return 'alone'
      },
    })
    const calls = [['par.a'], ['par.b'], ['one.alone'], ['one.alone'], ['par.d']] as const
    const harness = createHarness({ replies: [reply.calls(calls), reply.answer('Done.')], tools: [...tools, alone] })
    const turn = harness.say('Go.')
    for (const name of ['b', 'a', 'd']) await finish(name)
    await turn
    expect(log).toEqual(['a starts', 'b starts', 'b returns', 'a returns', 'alone runs', 'alone runs', 'd starts', 'd returns'])
    expect(seen).toEqual([2, 3])
  })

  it('check each call by itself: an invalid call gets an error, and the others run', async () => {
    const calls = [
      ['weather.today', {}],
      ['weather.today', { city: 'Rome' }],
      ['no.such_tool', { x: 1 }],
    ] as const
    const harness = createHarness({ replies: [reply.calls(calls), reply.answer('Done.')], tools: [weather()] })
    await harness.say('Rome?')
    expect(await resultsOf(harness)).toMatchObject([
      { ok: false, error: { code: 'protocol_violation.tool_signature_red' } },
      { sky: 'clear' },
      { ok: false, error: { code: 'protocol_violation.tool_call_invalid' } },
    ])
    const calls_ = await blocksOfType(harness, 'react.tool.call')
    expect(calls_.map(({ tool_id }) => tool_id)).toEqual(['weather.today', 'weather.today', 'no.such_tool'])
  })

  it('are rejected together when none of them is valid, and no block of a call is entered', async () => {
    const calls = [['weather.today', {}], ['no.such_tool']] as const
    const harness = createHarness({ replies: [reply.calls(calls), reply.answer('Done.')], tools: [weather()] })
    await harness.say('Rome?')
    expect(await codesOf(harness)).toEqual(['protocol_violation.tool_signature_red', 'protocol_violation.tool_call_invalid'])
    expect(await blocksOfType(harness, 'react.tool.call')).toEqual([])
  })

  it('are at most 16', async () => {
    const many = (count: number) => reply.calls(Array.from({ length: count }, () => ['weather.today', { city: 'Rome' }] as const))
    const harness = createHarness({ replies: [many(17), many(16), reply.answer('Done.')], tools: [weather()] })
    await harness.say('Rome?')
    expect(await codesOf(harness)).toEqual(['protocol_violation.action_schema_error'])
    expect(await resultsOf(harness)).toHaveLength(16)
  })

  it('a failing tool does not affect its neighbours', async () => {
    const { tools, finish } = createParallelTools(['a'])
    const failing = defineTool({
      id: 'par.fails',
      description: 'Fails.',
      params: z.object({}),
      parallel: true,
      run: () => {
        throw new Error('no luck')
      },
    })
    const harness = createHarness({ replies: [reply.calls([['par.a'], ['par.fails']]), reply.answer('Done.')], tools: [...tools, failing] })
    const turn = harness.say('Go.')
    await expect.poll(() => finishedIn(harness)).toHaveLength(1)
    await finish('a')
    await turn
    expect(await resultsOf(harness)).toMatchObject([{ said: 'a' }, { ok: false, error: { code: 'tool_call_error', message: 'no luck' } }])
  })

  it('a steer stops the calls that run, and calls that wait do not start', async () => {
    const { tools, log, running, finish } = createParallelTools(['a', 'b'])
    const harness = createHarness({
      replies: [reply.calls([['par.a'], ['par.b'], ['weather.today', { city: 'Rome' }]]), reply.answer('Stopped.')],
      tools: [...tools, weather()],
    })
    const turn = harness.say('Go.')
    await finish('b')
    await running('a')
    await expect.poll(() => finishedIn(harness)).toHaveLength(1)
    await harness.agent.steer(harness.conversationId, 'Something else.')
    await turn
    expect(log).toEqual(['a starts', 'b starts', 'b returns'])
    const [a, b, rome] = await resultsOf(harness)
    expect([a, b]).toMatchObject([{ ok: false, error: { code: 'tool_cancelled' } }, { said: 'b' }])
    expect(rome.error.message).toContain('it had no effect')
  })

  it('emit a status for each call', async () => {
    const { tools, finish } = createParallelTools(['a', 'b'])
    const harness = createHarness({ replies: [reply.calls([['par.a'], ['par.b']]), reply.answer('Done.')], tools })
    const turn = harness.say('Go.')
    await finish('b')
    await expect.poll(() => finishedIn(harness)).toHaveLength(1)
    await finish('a')
    const statuses = (await turn).events.flatMap((event) =>
      event.type === 'status' && event.status.startsWith('tool.') ? [`${event.status} ${event.tool_id}`] : [],
    )
    expect(statuses).toEqual(['tool.started par.a', 'tool.started par.b', 'tool.ended par.b', 'tool.ended par.a'])
  })

  it('can be read with their complete parameters', async () => {
    const { tools, finish } = createParallelTools(['a', 'b'])
    const long = 'word '.repeat(1_000)
    const path: { b?: string } = {}
    const harness = createHarness({
      replies: [
        reply.calls([
          ['par.a', { word: 'short' }],
          ['par.b', { word: long }],
        ]),
        () => reply.call('react.read', { paths: [path.b] }),
        reply.answer('Done.'),
      ],
      tools,
    })
    const turn = harness.say('Go.')
    for (const name of ['a', 'b']) await finish(name)
    await expect.poll(async () => (await blocksOfType(harness, 'react.tool.call')).length).toBeGreaterThan(1)
    path.b = (await blocksOfType(harness, 'react.tool.call'))[1]?.path ?? ''
    await turn
    expect(blocksOf(await harness.timeline()).some(({ text }) => text?.includes(`"word":"${long}"`))).toBe(true)
  })

  it('number the sources of each result in the order of the calls', async () => {
    const search = (name: string, wait: Promise<void>) =>
      defineTool({
        id: `web.${name}`,
        description: 'Finds a page.',
        params: z.object({}),
        parallel: true,
        async run() {
          await wait
          return succeeded({ output: `Found [[S:1]] by ${name}.`, sources: [{ sid: 1, url: `https://${name}.example/`, title: name }] })
        },
      })
    const first = Promise.withResolvers<void>()
    const harness = createHarness({
      replies: [reply.calls([['web.slow'], ['web.fast']]), reply.answer('Done.')],
      tools: [search('slow', first.promise), search('fast', Promise.resolve())],
    })
    const turn = harness.say('Go.')
    await expect.poll(() => finishedIn(harness)).toHaveLength(1)
    first.resolve()
    await turn
    const texts = blocksOf(await harness.timeline())
      .filter(isResult)
      .map(({ text }) => text)
    expect(texts).toEqual(['Found [[S:1]] by slow.', 'Found [[S:2]] by fast.'])
    expect((await harness.timeline()).sources.rows).toMatchObject([{ title: 'slow' }, { title: 'fast' }])
  })

  it('in a list of one call are an ordinary call', async () => {
    const harness = createHarness({
      replies: [reply.calls([['weather.today', { city: 'Rome' }]]), reply.answer('Done.')],
      tools: [weather()],
    })
    await harness.say('Rome?')
    expect(await blocksOfType(harness, 'react.tool.call')).toHaveLength(1)
    expect(await codesOf(harness)).toEqual([])
  })

  it('replay with the same entries, in whatever order the tools returned', async () => {
    for (const order of ['abc', 'cba', 'bca']) {
      const { tools, finish } = createParallelTools(['a', 'b', 'c'])
      const calls = [['par.a'], ['no.such_tool'], ['par.b'], ['par.c']] as const
      const harness = createHarness({ replies: [reply.calls(calls), reply.answer('Done.')], tools })
      const turn = harness.say('Go.')
      for (const name of order) await finish(name)
      await turn
      expect(await replay(harness.store, 'c1', { tools })).toEqual([{ turnId: expect.any(String), rounds: 2 }])
    }
  })
})

describe('the system text', () => {
  it('offers several calls only when two tools declare `parallel`', async () => {
    const { tools } = createParallelTools(['a', 'b'])
    for (const [given, offered] of [
      [tools, true],
      [tools.slice(1), false],
    ] as const) {
      const harness = createHarness({ replies: [reply.answer('Hello.')], tools: given })
      await harness.say('Hello.')
      const system = harness.model.requests.find(({ role }) => role === 'decision')?.system ?? ''
      expect(system.includes('"tool_calls"')).toBe(offered)
      expect(system.includes('run at the same time: par.a, par.b')).toBe(offered)
    }
  })
})
