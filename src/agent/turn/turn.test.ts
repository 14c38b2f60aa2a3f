import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { weather } from '../../../test/support/scenario-tools.ts'
import { codesOf, decisions, deltasOf, laneText } from '../../../test/support/watch-turn.ts'
import { blocksOf } from '../../core/timeline/timeline.ts'
import type { Model } from '../../ports/model.ts'
import { createHarness, type Harness, type HarnessOptions, type RecordedTurn } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { defineTool } from '../../tools/define.ts'
import { failed } from '../../tools/outcome.ts'

const call = reply.call('weather.today', { city: 'Rome' })
const down = { error: { kind: 'overloaded', http_status: 503, retryable: true } } as const
const settings = { maxRounds: 3 }

const createTestHarness = (replies: readonly Reply[], options: Partial<HarnessOptions> = {}) =>
  createHarness({ replies, tools: [weather()], ...options })

/** Checks that the user gets an answer after a failure, and that the user's message and this answer are journaled. */
async function expectSpoken(harness: Harness, said: RecordedTurn, exitReason: string, sentence: RegExp): Promise<void> {
  expect(said.exitReason).toBe(exitReason)
  expect(said.answer).toMatch(sentence)
  const answerAt = said.events.findIndex((event) => event.type === 'lane.delta' && event.delta.marker === 'answer')
  const closedAt = said.events.findIndex((event) => event.type === 'entry' && event.change.type === 'turn.closed')
  expect(laneText(said.events, 'answer')).toBe(said.answer)
  expect(answerAt).toBeLessThan(closedAt)
  const blocks = blocksOf(await harness.timeline())
  expect(blocks.find(({ type }) => type === 'user.prompt')?.text).toBe('Do it.')
  expect(blocks.findLast(({ type }) => type === 'assistant.completion')?.text).toBe(said.answer)
  expect((await harness.journal()).at(-1)).toMatchObject({ type: 'turn.closed', exit_reason: exitReason })
  expect((await harness.timeline()).openTurn).toBeUndefined()
}

describe('a turn always ends with an answer', () => {
  it('loop 17.73: at the limit of rounds the model is called once more, without tools, and its answer ends the turn', async () => {
    const harness = createTestHarness([call, call, call, reply.answer('Clear, as far as I can see.')], { settings })
    const said = await harness.say('Do it.')
    await expectSpoken(harness, said, 'max_iterations', /^Clear, as far as I can see\.$/)
    expect(decisions(harness)).toBe(4)
    expect(said).toMatchObject({ ok: true, truncated: true })
    const last = harness.model.requests.at(-1)
    expect(last?.maxTokens).toBe(3_000)
    expect(JSON.stringify(last?.parts.at(-1))).toMatch(/Iteration 3\/3 — wrap-up.*no tools/)
  })

  it('a wrap-up at a limit uses the setting `wrapUp`', async () => {
    const wrapUp = { maxTokens: 1_000, temperature: 0.1 }
    const harness = createTestHarness([call, call, call, reply.answer('Clear.')], { settings: { ...settings, wrapUp } })
    await harness.say('Do it.')
    expect(harness.model.requests.at(-1)).toMatchObject(wrapUp)
  })

  it('loop 17.74: a wrap-up that calls a tool ends with the fallback answer, and the tool does not run', async () => {
    const harness = createTestHarness([call, call, call, call], { settings })
    const said = await harness.say('Do it.')
    await expectSpoken(harness, said, 'max_iterations', /^I reached the step limit/)
    expect(blocksOf(await harness.timeline()).filter(({ type }) => type === 'react.tool.call')).toHaveLength(3)
    expect(said.truncated).toBe(true)
  })

  it('a wrap-up keeps an answer that was shown, although the rest of the reply is invalid', async () => {
    const broken =
      '<channel:thinking>x</channel:thinking><channel:action>{"action": "complete", "notes": [}</channel:action><channel:answer>A</channel:answer>'
    const harness = createTestHarness([call, call, call, broken], { settings })
    await expectSpoken(harness, await harness.say('Do it.'), 'max_iterations', /^A$/)
  })

  it.each([
    ['nothing', ''],
    ['a broken rule', 'Well then.'],
  ])('a wrap-up that returns %s is not repaired', async (_, reply) => {
    const harness = createTestHarness([call, call, call, reply], { settings })
    await expectSpoken(harness, await harness.say('Do it.'), 'max_iterations', /^I reached the step limit/)
    expect(decisions(harness)).toBe(4)
  })

  it('a wrap-up that fails ends with the fallback answer', async () => {
    const harness = createTestHarness([call, call, call, down, down, down], { settings })
    await expectSpoken(harness, await harness.say('Do it.'), 'max_iterations', /^I reached the step limit/)
  })

  it('at the time limit the model wraps up', async () => {
    const late = () => {
      harness.clock.advance(61_000)
      return call
    }
    const harness = createTestHarness([late, reply.answer('In time.')], { settings: { maxSeconds: 60 } })
    await expectSpoken(harness, await harness.say('Do it.'), 'time', /^In time\.$/)
  })

  it('three invalid responses in a row end the turn with the fallback answer', async () => {
    const harness = createTestHarness(['', 'Sure.', '<channel:answer>x</channel:answer>', reply.answer('never asked for')])
    const said = await harness.say('Do it.')
    await expectSpoken(harness, said, 'protocol_violation', /^I could not put together a usable reply/)
    expect(said.ok).toBe(false)
    expect(harness.model.left).toBe(1)
  })

  it('three replies that were cut off end with an answer that says so', async () => {
    const cut = { text: `${call.slice(0, -30)}`, finish: 'length' as const }
    const harness = createTestHarness([cut, cut, cut])
    await expectSpoken(harness, await harness.say('Do it.'), 'protocol_violation', /grew too long and was cut off/)
  })

  it('a provider that stays down leads to an answer and a notice', async () => {
    const harness = createTestHarness([down, down, down])
    const said = await harness.say('Do it.')
    await expectSpoken(harness, said, 'error', /is overloaded/)
    expect(said.error?.cause).toMatchObject({ kind: 'overloaded', http_status: 503 })
    expect(await codesOf(harness)).toEqual(['service_error'])
  })

  it('a provider that rejects the key is not reported as unreachable', async () => {
    const harness = createTestHarness([{ error: { kind: 'authentication', http_status: 401, message: 'bad key' } }])
    await expectSpoken(harness, await harness.say('Do it.'), 'error', /did not accept our key/)
    expect(decisions(harness)).toBe(1)
  })

  it('a provider that breaks off every time is reported as such, not as a protocol violation', async () => {
    const broken = { text: '<channel:thinking>Let me', error: { kind: 'connection', retryable: true } } as const
    const harness = createTestHarness([broken, broken, broken, reply.answer('never asked for')])
    await expectSpoken(harness, await harness.say('Do it.'), 'error', /could not be reached/)
    expect(await codesOf(harness)).toEqual(['service_interrupted', 'service_interrupted', 'service_interrupted', 'service_error'])
  })

  it('an error inside the loop ends the turn with an answer, keeps the prompt, and is in the result', async () => {
    const scripted = scriptedModel([call])
    const model: Model = {
      ...scripted,
      stream(request, signal) {
        if (request.role === 'decision' && scripted.requests.length > 1) throw new TypeError('secret internals')
        return scripted.stream(request, signal)
      },
    }
    const harness = createTestHarness([], { model: Object.assign(model, { requests: scripted.requests, left: 0 }) })
    const said = await harness.say('Do it.')
    await expectSpoken(harness, said, 'error', /^Something went wrong on our side/)
    expect(said.error).toBeInstanceOf(TypeError)
    expect(JSON.stringify(await harness.journal())).not.toMatch(/secret internals/)
  })

  it('a tool that refuses the same call again and again ends the turn', async () => {
    const wrong = reply.call('react.plan', { mode: 'dance' })
    const harness = createTestHarness(
      Array.from({ length: 20 }, () => wrong),
      { settings: { maxRounds: 20 } },
    )
    const said = await harness.say('Do it.')
    await expectSpoken(harness, said, 'protocol_violation', /could not put together a usable reply/)
    expect(decisions(harness)).toBe(9)
  })

  it('the conversation goes on after a turn that failed', async () => {
    const harness = createTestHarness([down, down, down, reply.answer('Here I am.')])
    await harness.say('Do it.')
    expect((await harness.say('Again.')).answer).toBe('Here I am.')
    expect(JSON.stringify(harness.model.requests.at(-1)?.parts)).toMatch(/Do it\..*is overloaded.*Again\./)
  })
})

describe('live output of a turn', () => {
  it('loop 17.79: an answer that was not streamed is emitted once, at the end', async () => {
    const whole = '<channel:thinking>x</channel:thinking><channel:action>{"action":"complete","final_answer":"A"}</channel:action>'
    // the response is complete, then its stream breaks off
    const harness = createTestHarness([down, { text: whole, error: { kind: 'connection', retryable: true } }])
    const { events, answer } = await harness.say('Do it.')
    expect(answer).toBe('A')
    expect(deltasOf(events, 'answer').map(({ attempt, delta }) => [attempt, delta.index, delta.text, delta.completed])).toEqual([
      [1, 0, 'A', false],
      [1, 1, '', true],
    ])
  })
})

describe('a clarification question', () => {
  const asking =
    '<channel:thinking>x</channel:thinking><channel:action>{"action":"clarify","clarification_questions":["Which Rome?"]}</channel:action><channel:answer>Which Rome?</channel:answer>'

  it('may use the action clarify when the setting allows it', async () => {
    const harness = createTestHarness([asking], { settings: { clarify: true } })
    const said = await harness.say('The weather in Rome?')
    expect(said).toMatchObject({ exitReason: 'exit', answer: 'Which Rome?' })
    expect(laneText(said.events, 'answer')).toBe('Which Rome?')
    expect(blocksOf(await harness.timeline()).map(({ type }) => type)).toContain('stage.clarification')
  })

  it('may not use it otherwise', async () => {
    const harness = createTestHarness([asking, reply.answer('Clear.')])
    await harness.say('The weather in Rome?')
    expect(await codesOf(harness)).toContain('protocol_violation.invalid_action:clarify')
  })
})

it('onFlushCompleted is called for every closed turn, however it ended', async () => {
  const told: unknown[] = []
  const onFlushCompleted = async (turn: unknown) => void told.push(turn)
  const harness = createTestHarness([reply.answer('Clear.'), down, down, down], {
    hooks: [{ onFlushCompleted }],
    settings: { retryDelaysMs: [] },
  })
  const [good, bad] = [await harness.say('One.'), await harness.say('Two.')]
  expect(told).toEqual([
    { turnId: good.turnId, exitReason: 'complete' },
    { turnId: bad.turnId, exitReason: 'error' },
  ])
})

describe('a tool call that fails repeatedly', () => {
  const again = (id: string, options: { readonly exec?: true } = {}) =>
    defineTool({
      id,
      description: 'Fails.',
      params: z.object({ contract: z.array(z.object({ filename: z.string(), description: z.string() })) }),
      ...options,
      run: () => failed('no_luck', 'It did not work.', { notices: [{ code: 'protocol_violation.path_rewritten', message: 'Moved.' }] }),
    })
  const tenTimes = (id: string, filename = 'files/a.txt', more: Parameters<typeof reply.call>[2] = {}): Reply[] => [
    ...Array.from({ length: 10 }, () => reply.call(id, { contract: [{ filename, description: 'A.' }] }, more)),
    reply.answer('No luck.'),
  ]

  it('does not count as a violation, whatever notices it has', async () => {
    const harness = createTestHarness(tenTimes('luck.try'), { tools: [again('luck.try')] })
    expect(await harness.say('Try.')).toMatchObject({ exitReason: 'complete', answer: 'No luck.' })
  })

  it('counts as a violation when the call broke the rules of the tool', async () => {
    // an exec tool that is called without a program
    const harness = createTestHarness(tenTimes('luck.run'), { tools: [again('luck.run', { exec: true })] })
    expect(await harness.say('Try.')).toMatchObject({ exitReason: 'protocol_violation' })
  })

  it('counts as a violation when its contract is invalid, but not for a notice about how the contract was read', async () => {
    const code = 'open("attachments/b.csv")'
    const tools = [again('luck.run', { exec: true })]
    const refused = createTestHarness(tenTimes('luck.run', 'attachments/a.txt', { code }), { tools })
    expect(await refused.say('Try.')).toMatchObject({ exitReason: 'protocol_violation' })
    const told = createTestHarness(tenTimes('luck.run', 'a.txt', { code }), { tools })
    expect(await told.say('Try.')).toMatchObject({ exitReason: 'complete', answer: 'No luck.' })
    const notices = await codesOf(told)
    expect(new Set(notices)).toEqual(
      new Set(['exec_contract_rewritten', 'exec_code_rewritten', 'path_rewritten'].map((name) => `protocol_violation.${name}`)),
    )
  })
})
