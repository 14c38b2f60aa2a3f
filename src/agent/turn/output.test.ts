import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { weather } from '../../../test/support/scenario-tools.ts'
import { codesOf } from '../../../test/support/watch-turn.ts'
import { createHarness } from '../../testing/harness.ts'
import { type Reply, reply, scriptedModel } from '../../testing/scripted-model.ts'
import { jsonSchema } from './output.ts'

const Weather = z.object({
  city: z.string(),
  degrees: z.number(),
  at: z
    .string()
    .transform((text) => text.length)
    .optional(),
})
const valid = '{"city":"Rome","degrees":21}'
const calling = reply.call('weather.today', { city: 'Rome' })

const setUp = (...replies: readonly Reply[]) => createHarness({ replies, tools: [weather()] })

describe('a turn with an output schema', () => {
  it('gives a value of the type of the schema, and its answer is JSON', async () => {
    const harness = setUp(calling, reply.answer(valid))
    const result = await harness.agent.run('c1', 'Rome?', { output: Weather }).result
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; degrees: number; at?: number | undefined } | undefined>()
    expect(result).toMatchObject({ output: { city: 'Rome', degrees: 21 }, answer: valid, ok: true })
    expect(result.refusal).toBeUndefined()
    const block = (await harness.journal()).flatMap((change) => (change.type === 'blocks.appended' ? change.blocks : [])).at(-1)
    expect(block).toMatchObject({ type: 'assistant.completion', mime: 'application/json', text: valid })
    const announce = harness.model.requests.at(-1)?.parts.at(-1)
    expect(announce?.type === 'text' && announce.text).toContain('[OUTPUT]\n  In this turn the answer is not markdown.')
    expect(await harness.agent.archive.turnResult('c1', result.turnId)).toMatchObject({ output: { city: 'Rome', degrees: 21 } })
  })

  it('gives the value that the schema makes of the JSON', async () => {
    const result = await setUp(reply.answer('{"city":"Rome","degrees":21,"at":"noon"}')).agent.run('c1', 'Rome?', { output: Weather })
      .result
    expect(result.output).toEqual({ city: 'Rome', degrees: 21, at: 4 })
  })

  it('tells the model what is wrong, and takes JSON in a code fence or between words', async () => {
    const replies = [
      reply.answer('It is 21 degrees.'),
      reply.answer('{"city":"Rome"}'),
      reply.answer(`Sure:\n\`\`\`json\n${valid}\n\`\`\``),
    ]
    const harness = setUp(...replies)
    const result = await harness.agent.run('c1', 'Rome?', { output: Weather }).result
    expect(result).toMatchObject({ output: { city: 'Rome', degrees: 21 }, answer: valid, rounds: 3 })
    expect(await codesOf(harness)).toEqual(['protocol_violation.output_invalid', 'protocol_violation.output_invalid'])
  })

  it('refuses a number that JSON can not store, whatever the schema says', async () => {
    const harness = setUp(reply.answer('{"n":[1e400]}'), reply.answer('{"n":[1e300]}'))
    const { output, answer } = await harness.agent.run('c1', 'Rome?', { output: jsonSchema({}) }).result
    expect({ output, answer }).toEqual({ output: { n: [1e300] }, answer: '{"n":[1e+300]}' })
    expect(await codesOf(harness)).toEqual(['protocol_violation.output_invalid'])
  })

  it('refuses with the reason: invalid, declined, cut off, a limit, a stop, an error', async () => {
    const refusal = async (replies: readonly Reply[], options = {}) => {
      const { refusal: refused, output } = await setUp(...replies).agent.run('c1', 'Rome?', { output: Weather, ...options }).result
      expect(output).toBeUndefined()
      return refused?.code
    }
    expect(await refusal(Array(4).fill(reply.answer('No.')))).toBe('invalid')
    expect(await refusal([reply.answer('I do not know the weather.').replace('complete', 'exit')])).toBe('declined')
    expect(
      await refusal(
        Array(4).fill({
          text: '<channel:thinking>x</channel:thinking><channel:action>{"action":"complete"}</channel:action><channel:answer>{"city":"Rome","degrees":21',
          finish: 'length',
        }),
      ),
    ).toBe('invalid')
    expect(await refusal([calling, reply.answer('Enough.')], { maxRounds: 1 })).toBe('limit')
    expect(await refusal([{ error: { message: 'down' } }])).toBe('error')
  })

  it('still gives the output in the last call after a limit', async () => {
    const result = await setUp(calling, reply.answer(valid)).agent.run('c1', 'Rome?', { output: Weather, maxRounds: 1 }).result
    expect(result).toMatchObject({ exitReason: 'max_iterations', output: { city: 'Rome', degrees: 21 } })
  })

  it('is not asked for output by a followup', async () => {
    const harness = setUp(() => {
      joined = harness.agent.run('c1', 'And Oslo?', { output: Weather }).result
      return calling
    }, reply.answer('Sunny.'))
    let joined: Promise<unknown> | undefined
    await harness.agent.run('c1', 'Rome?').result
    expect(await joined).toMatchObject({ refusal: { code: 'not_asked' }, answer: 'Sunny.' })
  })

  it('streams the output as partial objects', async () => {
    const text = reply.answer('{"city":"Rome","degrees":21,"list":[{"a":"xyz"},2]}')
    const turn = setUp({ text, chunks: 1 }).agent.run('c1', 'Rome?', { output: Weather.loose() })
    const partials: string[] = []
    for await (const partial of turn.partialOutput()) partials.push(JSON.stringify(partial))
    expect(partials).toContain('{"city":"Ro"}')
    expect(partials).toContain('{"city":"Rome","degrees":21,"list":[{"a":"xy"}]}')
    expect(partials.at(-1)).toBe('{"city":"Rome","degrees":21,"list":[{"a":"xyz"},2]}')
  })

  it('works alike with native tool calls, even if a run chooses the model', async () => {
    const { native } = reply
    const replies = [native.call('weather.today', { city: 'Rome' }), native.answer('Sunny.'), native.answer(valid)]
    const model = scriptedModel(replies, { dialect: 'native' })
    const harness = createHarness({ replies: [reply.answer('Usual.')], tools: [weather()], models: { native: model } })
    const turn = harness.agent.run('c1', 'Rome?', { output: Weather, model: 'native' })
    const partials: unknown[] = []
    for await (const partial of turn.partialOutput()) partials.push(structuredClone(partial))
    expect(await turn.result).toMatchObject({ output: { city: 'Rome', degrees: 21 }, answer: valid, rounds: 3 })
    expect(partials.at(-1)).toEqual({ city: 'Rome', degrees: 21 })
    expect(await codesOf(harness)).toEqual(['protocol_violation.output_invalid'])
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toContain('weather__today')
    const announce = model.requests[0]?.parts.at(-1)
    expect(announce?.type === 'text' && announce.text).not.toContain('"action": "exit"')
    expect((await harness.agent.run('c1', 'Hi.').result).answer).toBe('Usual.')
  })

  it('whose schema can not be checked as JSON Schema works until the process ends', async () => {
    const validate = (value: unknown) => (typeof value === 'number' ? { value } : { issues: [{ message: 'not a number' }] })
    const standard = { version: 1 as const, vendor: 'own', validate, jsonSchema: { input: () => ({ not: { type: 'string' } }) } }
    const result = await setUp(reply.answer('"one"'), reply.answer('1')).agent.run('c1', 'Hi.', { output: { '~standard': standard } })
      .result
    expect(result).toMatchObject({ output: 1, options: { unstored: ['output'] }, rounds: 2 })
  })

  it('needs a schema that describes itself as JSON Schema', async () => {
    const run = (output: unknown) => setUp().agent.run('c1', 'Hi.', { output: output as never }).result
    const plain = { '~standard': { version: 1, vendor: 'x', validate: (value: unknown) => ({ value }) } }
    await expect(run(plain)).rejects.toMatchObject({ where: 'run', option: 'output' })
    await expect(run({ type: 'object' })).rejects.toMatchObject({ option: 'output' })
    await expect(run(z.object({ at: z.date() }))).rejects.toMatchObject({ option: 'output' })
    await expect(run(z.enum(Array.from({ length: 5_000 }, (_, n) => `value ${n}`)))).rejects.toMatchObject({ option: 'output' })
  })
})
