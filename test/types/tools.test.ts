import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { createAgent, defineTool, type OutputOf, type Tool, type TurnResult } from '../../src/index.ts'

// The types that application code sees. `tsc` checks this file, so a line that no longer compiles fails the check, and so does an error that
// no longer occurs after `@ts-expect-error`.

interface Forecast {
  readonly city: string
  readonly days: readonly { readonly degrees: number; readonly at?: Date }[]
}
declare const forecast: Forecast
declare const parsed: unknown

const about = { id: 'weather.today', description: 'The weather.' } as const

const zod = z.object({ city: z.string(), days: z.number().default(1), unit: z.enum(['c', 'f']).optional() })
const valibot = toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 1) }))
const ark = type({ city: 'string', 'days?': 'number' })

describe('the parameters of run', () => {
  it('have the types of a zod schema after parsing', () => {
    const tool = defineTool({
      ...about,
      params: zod,
      run(params, call) {
        expectTypeOf(params).toEqualTypeOf<{ city: string; days: number; unit?: 'c' | 'f' | undefined }>()
        expectTypeOf(call.idempotencyKey).toEqualTypeOf<string>()
        // @ts-expect-error there is no such parameter
        return params.country
      },
    })
    expectTypeOf(tool).toEqualTypeOf<Tool>()
    expectTypeOf<OutputOf<typeof zod>>().toEqualTypeOf<{ city: string; days: number; unit?: 'c' | 'f' | undefined }>()
    expect(tool.parameters.map(({ name, type: kind, required }) => [name, kind, required])).toEqual([
      ['city', 'string', true],
      ['days', 'number', false],
      ['unit', 'string', false],
    ])
  })

  it('have the types of a valibot schema', () => {
    const tool = defineTool({
      ...about,
      params: valibot,
      run(params) {
        expectTypeOf(params).toEqualTypeOf<{ city: string; days: number }>()
        return params.city
      },
    })
    expect(tool.parameters.map(({ name, type: kind }) => [name, kind])).toEqual([
      ['city', 'string'],
      ['days', 'number'],
    ])
  })

  it('have the types of an arktype schema', () => {
    const tool = defineTool({
      ...about,
      params: ark,
      run(params) {
        expectTypeOf(params).toEqualTypeOf<{ city: string; days?: number }>()
        return params.city
      },
    })
    expect(new Set(tool.parameters.map(({ name, type: kind }) => `${name}: ${kind}`))).toEqual(new Set(['city: string', 'days: number']))
  })

  it('are checked by every library when the tool runs', async () => {
    for (const params of [zod, valibot, ark]) {
      const tool = defineTool({ ...about, params, run: () => 'ran' })
      expect(await tool.run({ city: 7 }, {} as never)).toMatchObject({ ok: false, error: { code: 'invalid_params' } })
      expect(await tool.run({ city: 'Rome' }, {} as never)).toMatchObject({ ok: true, output: 'ran' })
    }
  })

  it('need a schema that describes itself, or a list of parameters', () => {
    const plain = v.object({ city: v.string() })
    expect(() => defineTool({ ...about, params: plain, run: () => null })).toThrow('list them in `parameters`')
    const parameters = [{ name: 'city', type: 'string', required: true }] as const
    const listed = defineTool({
      ...about,
      params: plain,
      parameters,
      run: (params) => expectTypeOf(params).toEqualTypeOf<{ city: string }>(),
    })
    expect(listed.parameters).toEqual(parameters)
    // @ts-expect-error a number is not a schema
    expect(() => defineTool({ ...about, params: 7, run: () => null })).toThrow('must be a schema')
  })
})

it('tools may return interfaces, unknown values, promises and nothing', () => {
  const params = z.object({})
  const returning = (run: () => unknown): Tool => defineTool({ ...about, params, run })
  expectTypeOf(returning(() => forecast)).toEqualTypeOf<Tool>()
  expectTypeOf(returning(async () => forecast)).toEqualTypeOf<Tool>()
  expectTypeOf(returning(() => parsed)).toEqualTypeOf<Tool>()
  expectTypeOf(returning(() => undefined)).toEqualTypeOf<Tool>()
  defineTool({ ...about, params, run: (): Forecast => forecast })
  defineTool({ ...about, params, run: (): Promise<Forecast | null> => Promise.resolve(null) })
  defineTool({ ...about, params, run: () => {} })
})

it('the result of a turn has the documented types', () => {
  const agent = createAgent({ model: 'offline' })
  expectTypeOf(agent.run('c1', 'Hi.').result).toEqualTypeOf<Promise<TurnResult>>()
  expectTypeOf<TurnResult['usage']['cacheRead']>().toEqualTypeOf<number>()
  expectTypeOf<TurnResult['cost']['money']>().toEqualTypeOf<number | null>()
  // @ts-expect-error there is no such option
  agent.run('c1', 'Hi.', { rounds: 3 }).result.catch(() => {})
  return agent.close()
})
