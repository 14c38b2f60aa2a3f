import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonSchema } from '../../src/agent/turn/output.ts'
import type { Json } from '../../src/core/json.ts'
import type { Dialect } from '../../src/core/model-event.ts'
import { createHarness } from '../../src/testing/harness.ts'
import { type Reply, reply, type ScriptedReply, scriptedModel } from '../../src/testing/scripted-model.ts'
import { breakings, schemaAndValue } from '../support/generators/output-schemas.ts'
import { toNative } from '../support/models/to-native.ts'
import { weather } from '../support/scenario-tools.ts'

const dialects: readonly Dialect[] = ['channels', 'native']

const harnessWith = (dialect: Dialect, replies: readonly Reply[], maxRounds: number) =>
  createHarness({
    replies: [],
    model: scriptedModel(replies, { dialect }),
    tools: [weather()],
    settings: { maxRounds },
    builtIn: { tools: false },
  })

const answering = (dialect: Dialect, text: string): ScriptedReply =>
  dialect === 'native' ? { text: text || ' ' } : { text: reply.answer(text || ' ') }
const calling = (dialect: Dialect): Reply => {
  const call = reply.call('weather.today', { city: 'Rome' })
  return dialect === 'native' ? toNative(call) : call
}

/** One reply of the model: the way in which its JSON is broken, the place, and how the reply is sent. */
const brokenReply = fc.record({
  way: fc.nat(breakings.length - 1),
  at: fc.nat(60),
  chunks: fc.integer({ min: 1, max: 9 }),
  cut: fc.boolean(),
})

describe.each(dialects)('structured output in the dialect %s', (dialect) => {
  it('500 random schemas and broken replies: the output is the whole value or a refusal, never a part of it', async () => {
    const seen = { outputs: 0, refusals: 0, afterLimit: 0 }
    await fc.assert(
      fc.asyncProperty(
        schemaAndValue,
        fc.array(brokenReply, { minLength: 4, maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(2),
        async ([schema, value], ways, maxRounds, calls) => {
          const json = JSON.stringify(value)
          const broken = ways.map(
            ({ way, at, chunks, cut }): Reply => ({
              ...answering(dialect, breakings[way]?.(json, at % (json.length + 1)) ?? ''),
              chunks,
              ...(cut && way !== 0 && { finish: 'length' as const }),
            }),
          )
          const replies = [...Array.from({ length: calls }, () => calling(dialect)), ...broken]
          const result = await harnessWith(dialect, replies, maxRounds).agent.run('c1', 'Go.', { output: jsonSchema(schema) }).result
          expect([result.output === undefined, result.refusal === undefined].sort()).toEqual([false, true])
          if (result.refusal) {
            expect(['invalid', 'limit']).toContain(result.refusal.code)
            return void seen.refusals++
          }
          seen.outputs++
          if (result.exitReason === 'max_iterations') seen.afterLimit++
          expect(await jsonSchema(schema)['~standard'].validate(result.output)).not.toHaveProperty('issues')
          expect(result.answer).toBe(JSON.stringify(result.output))
          // a beginning or an end of an object or a list is never taken for the whole
          const { way } = ways[result.rounds - 1 - calls] ?? { way: 0 }
          if (typeof value === 'object' && (way === 1 || way === 2)) expect(result.output).toEqual(value)
        },
      ),
      { numRuns: 500 },
    )
    expect(seen.outputs).toBeGreaterThan(100)
    expect(seen.refusals).toBeGreaterThan(20)
    expect(seen.afterLimit).toBeGreaterThan(10)
  })

  it.each([
    ['the end of a list, whose strings have brackets', '"[","["]'],
    ['a field of an object that was cut', '"first":["a"],"second":"'],
  ])('refuses %s, although it has a list that matches', async (_, answer) => {
    const schema = { type: 'array', items: { type: 'string' } }
    const result = await harnessWith(dialect, [answering(dialect, answer)], 1).agent.run('c1', 'Go.', { output: jsonSchema(schema) }).result
    expect(result.output).toBeUndefined()
    expect(result.refusal?.code).toBe('limit')
  })

  it('200 random values: each partial output is the beginning of the value, and the last one is the value', async () => {
    let partials = 0
    await fc.assert(
      fc.asyncProperty(schemaAndValue, fc.integer({ min: 1, max: 9 }), async ([schema, value], chunks) => {
        const text = JSON.stringify(value).replaceAll(/<(?=\/?channel)/g, '\\u003c') // a tag in a string would end the answer
        const turn = harnessWith(dialect, [calling(dialect), { ...answering(dialect, text), chunks }], 4).agent.run('c1', 'Go.', {
          output: jsonSchema(schema),
        })
        let last: unknown
        for await (const partial of turn.partialOutput()) {
          partials++
          last = structuredClone(partial)
          expect(isBeginning(last as Json, value), JSON.stringify({ last, value })).toBe(true)
        }
        expect((await turn.result).output).toEqual(value)
        // a value that is not an object or a list is there only as a whole, in the result
        expect(last).toEqual(typeof value === 'object' && value !== null ? value : undefined)
      }),
      { numRuns: 200 },
    )
    expect(partials).toBeGreaterThan(500)
  })
})

/** Whether a value is what a reader has of another value, if it has read only the beginning of its text. */
function isBeginning(part: Json, whole: Json): boolean {
  if (typeof part === 'string' && typeof whole === 'string') return whole.startsWith(part)
  if (Array.isArray(part) && Array.isArray(whole))
    return part.every((item, index) => index in whole && isBeginning(item, whole[index] as Json))
  if (!isPlain(part) || !isPlain(whole)) return part === whole
  return Object.entries(part).every(([key, item]) => Object.hasOwn(whole, key) && isBeginning(item, whole[key] as Json))
}

const isPlain = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
