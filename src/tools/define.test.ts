import { runInNewContext } from 'node:vm'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { failingTools } from '../../test/support/scenario-tools.ts'
import { codesOf, noticesOf } from '../../test/support/watch-turn.ts'
import type { StandardSchemaV1 } from '../core/standard-schema.ts'
import { blocksOf } from '../core/timeline/timeline.ts'
import { createHarness } from '../testing/harness.ts'
import { reply } from '../testing/scripted-model.ts'
import { defineTool } from './define.ts'
import { failed, outcomeOf, succeeded } from './outcome.ts'
import type { Call, Parameter } from './tool.ts'

interface Point {
  readonly x: number
  readonly y: number
}

/** A schema with only the Standard Schema interface, so it has no JSON Schema. */
const point: StandardSchemaV1<Point> = {
  '~standard': {
    version: 1,
    vendor: 'by hand',
    validate: async (value) => {
      const { x, y } = value as Partial<Point>
      if (typeof x !== 'number' || x < 0) return { issues: [{ message: 'must be positive', path: ['x'] }] }
      return { value: { x, y: y ?? 0 } }
    },
  },
}

/** The schema `point` with a JSON Schema. */
const described = {
  '~standard': {
    ...point['~standard'],
    jsonSchema: {
      input: () => ({
        type: 'object',
        properties: { x: { type: 'number', description: 'to the right' }, y: { type: 'number', default: 0 } },
        required: ['x'],
      }),
    },
  },
} as StandardSchemaV1<Point>

const withoutSchema = ({ schema: _, ...parameter }: Parameter) => parameter

describe('defineTool', () => {
  it('takes a function that returns an interface, a class, any JSON or an unknown value', async () => {
    interface Forecast {
      readonly city: string
      readonly days: readonly { readonly high: number; readonly note?: string | undefined }[]
    }
    class Reading {
      readonly degrees = 21
    }
    const forecast: Forecast = { city: 'Rome', days: [{ high: 31, note: undefined }] }
    const definition = { id: 'weather.today', description: 'The weather.', params: z.object({}) }
    const body = JSON.stringify(forecast)
    const tools = [
      defineTool({ ...definition, run: (): Forecast => forecast }),
      defineTool({ ...definition, run: async (): Promise<Forecast> => forecast }),
      defineTool({ ...definition, run: (): Promise<unknown> => new Response(body).json() }),
      defineTool({ ...definition, run: (): { ok: boolean; ret: Forecast } => ({ ok: true, ret: forecast }) }),
      defineTool({ ...definition, run: () => new Reading() }),
      defineTool({ ...definition, run: (): void => {} }),
    ]
    const outputs = await Promise.all(tools.map(async (tool) => (await tool.run({}, {} as Call)).output))
    const expected: Forecast = JSON.parse(body)
    expect(JSON.parse(JSON.stringify(outputs))).toEqual([expected, expected, expected, expected, { degrees: 21 }, null])
  })

  it('accepts any Standard Schema that can describe itself, and reads order, defaults and descriptions from it', () => {
    const tool = defineTool({ id: 'map.go', description: '', params: described, run: ({ x, y }) => x + y })
    expect(tool.parameters.map(withoutSchema)).toEqual([
      { name: 'x', type: 'number', required: true, description: 'to the right' },
      { name: 'y', type: 'number', required: false, default: 0 },
    ])
  })

  it('accepts a schema that can not describe itself when its parameters are listed', async () => {
    const parameters = [
      { name: 'x', type: 'number', required: true },
      { name: 'y', type: 'number', required: false },
    ] as const
    const went: Point[] = []
    const tool = defineTool({
      id: 'map.go',
      description: '',
      params: point,
      parameters,
      run: (given) => {
        expectTypeOf(given).toEqualTypeOf<Point>()
        went.push(given)
        return 'there'
      },
    })
    const harness = createHarness({
      tools: [tool],
      replies: [reply.call('map.go', { x: -1 }), reply.call('map.go', { x: 3 }), reply.call('map.go', { y: 3 }), reply.answer('There.')],
    })
    await harness.say('Go.')
    expect(went).toEqual([{ x: 3, y: 0 }])
    expect(await codesOf(harness)).toEqual(['tool_result_error', 'protocol_violation.tool_signature_red'])
  })

  it('refuses a schema that can not describe itself without a list of parameters', () => {
    expect(() => defineTool({ id: 'map.go', description: '', params: point, run: () => 1 })).toThrow(/parameters/)
  })

  it.each(['go', 'map.', '.go', 'map go', 'map..far', 'map.go.', 'map.-go'])('refuses the id “%s”', (id) => {
    expect(() => defineTool({ id, description: '', params: z.object({}), run: () => 1 })).toThrow(/namespace\.name/)
  })

  it('requires the parameter contract for a tool with exec', () => {
    const define = (params: z.ZodObject) => () => defineTool({ id: 'a.b', description: '', params, exec: true, run: () => 1 })
    expect(define(z.object({}))).toThrow(/a\.b: a tool with exec needs the parameter `contract`/)
    expect(define(z.object({ contract: z.string() }))).toThrow(/a list/)
    expect(define(z.object({ contract: z.array(z.unknown()) }))).not.toThrow()
    expect(define(z.object({ contract: z.unknown() }))).not.toThrow()
  })

  it('refuses a schema with a type that JSON Schema does not have; the error names the tool and the remedy', () => {
    const params = z.object({ when: z.coerce.date() })
    const define = () => defineTool({ id: 'a.b', description: 'd', params, run: () => 'ok' })
    expect(define).toThrow(/a\.b: its schema cannot describe its parameters; list them in `parameters` \(Date cannot/)
  })

  it('says how a schema of valibot describes itself, and that the parameters must be an object', () => {
    const define = (params: unknown) => () => defineTool({ id: 'a.b', description: 'd', params: params as z.ZodObject, run: () => 'ok' })
    expect(define(v.object({ city: v.string() }))).toThrow(
      'with valibot, write toStandardJsonSchema(…) of @valibot/to-json-schema around it',
    )
    expect(define(z.string())).toThrow('its schema must be that of an object')
  })

  it('waits for promises of another realm', async () => {
    const { resolve } = runInNewContext('({ resolve: (value) => Promise.resolve(value) })')
    const judge = (value: unknown) => resolve({ value: { seen: value } })
    const params = { '~standard': { version: 1, vendor: 'by hand', validate: judge } } as unknown as StandardSchemaV1
    const parameters = [{ name: 'q', type: 'string', required: true }] as const
    const tool = defineTool({ id: 'a.b', description: 'd', params, parameters, run: (seen) => ({ ok: true, ret: seen }) })
    const harness = createHarness({ tools: [tool], replies: [reply.call('a.b', { q: 'hi' }), reply.answer('Done.')] })
    await harness.say('Do it.')
    const result = blocksOf(await harness.timeline()).findLast(({ type }) => type === 'react.tool.result')
    expect(JSON.parse(result?.text ?? '')).toEqual({ seen: { q: 'hi' } })
  })

  it('reads choices, optional and default parameters from a zod schema, in their order', () => {
    const { parameters } = defineTool({
      id: 'a.b',
      description: '',
      params: z.object({
        zulu: z.enum(['x', 'y']).describe('which'),
        alpha: z.array(z.string()).default([]),
        mike: z.union([z.string(), z.number()]),
        tree: z.array(z.object({ leaf: z.string(), size: z.number().optional() })),
        rest: z.unknown(),
        '10': z.boolean().optional(),
      }),
      run: () => 1,
    })
    expect(parameters.filter(({ name }) => name !== '10').map(withoutSchema)).toEqual([
      { name: 'zulu', type: 'string', required: true, description: 'which', shape: '"x" | "y"' },
      { name: 'alpha', type: 'array', required: false, default: [], shape: 'array of string' },
      { name: 'mike', type: 'any', required: true, shape: 'string | number' },
      { name: 'tree', type: 'array', required: true, shape: 'array of {leaf: string, size?: number}' },
      { name: 'rest', type: 'any', required: true },
    ])
  })

  it('defaults to not repeatable and soft order', () => {
    const tool = defineTool({ id: 'a.b', description: '', params: z.object({}), run: () => 1 })
    expect(tool).toMatchObject({ repeatable: false, order: 'soft', exec: false, timeoutMs: undefined })
  })
})

describe('the order of parameters', () => {
  const tool = (order: 'hard' | 'soft') =>
    defineTool({ id: 'a.b', description: '', params: z.object({ first: z.string(), second: z.string() }), order, run: () => 'ran' })
  const wrongly = reply.call('a.b', { second: 'y', first: 'x' })

  it('is required for a tool with hard order: nothing runs', async () => {
    const harness = createHarness({ tools: [tool('hard')], replies: [wrongly, reply.answer('Done.')] })
    await harness.say('Go.')
    expect(await codesOf(harness)).toEqual(['protocol_violation.first_not_first'])
    expect(blocksOf(await harness.timeline()).some(({ type }) => type === 'react.tool.call')).toBe(false)
  })

  it('gets a warning for a tool with soft order', async () => {
    const harness = createHarness({ tools: [tool('soft')], replies: [wrongly, reply.answer('Done.')] })
    await harness.say('Go.')
    expect(await codesOf(harness)).toEqual(['protocol_warning.param_order'])
    expect(blocksOf(await harness.timeline()).findLast(({ type }) => type === 'react.tool.result')?.text).toBe('ran')
  })
})

describe('the return value of a tool', () => {
  it('tools 18.113: an envelope is unwrapped; without ret, the other fields are the output', () => {
    const error = { code: 'closed', message: 'The shop is closed.', where: 'door' }
    expect(outcomeOf({ ok: false, error, ret: { opens: 9 } })).toEqual({ ok: false, error, output: { opens: 9 } })
    expect(outcomeOf({ ok: true, ret: [1, 2] })).toEqual({ ok: true, output: [1, 2] })
    expect(outcomeOf({ ok: true, ret: null })).toEqual({ ok: true, output: null })
    expect(outcomeOf({ ok: true, a: 1 })).toEqual({ ok: true, output: { a: 1 } })
    expect(outcomeOf({ ok: true, error: null, a: 1 })).toEqual({ ok: true, output: { a: 1 } })
    expect(outcomeOf({ ok: true, error: 'late' } as never)).toEqual({ ok: true, output: { error: 'late' } })
    expect(outcomeOf({ ok: true, error: null })).toEqual({ ok: true })
    expect(outcomeOf({ ok: 'yes', a: 1 })).toEqual({ ok: true, output: { ok: 'yes', a: 1 } })
    for (const plain of ['text', 7, true, [1], { a: 1 }]) expect(outcomeOf(plain)).toEqual({ ok: true, output: plain })
    expect(outcomeOf(null)).toEqual({ ok: true, output: null })
    expect(outcomeOf(undefined)).toEqual({ ok: true })
  })

  it('an error of any form gets a code and a message', () => {
    expect(outcomeOf({ ok: false }).error).toEqual({ code: 'tool_error', message: 'Tool returned ok=false' })
    expect(outcomeOf({ ok: false, error: 'no' } as never).error).toEqual({ code: 'tool_error', message: 'no' })
    expect(outcomeOf({ ok: false, error: { code: 'x', message: '', details: { a: 1 } } }).error).toEqual({
      code: 'x',
      message: 'Tool returned ok=false',
      details: { a: 1 },
    })
  })

  it('an undefined field is left out, and the types allow it', async () => {
    const sparse = defineTool({
      id: 't.sparse',
      description: 'Sparse.',
      params: z.object({ found: z.string().optional() }),
      run: ({ found }) => ({ ok: true, ret: { found, rows: [{ found }] } }),
    })
    const harness = createHarness({ replies: [reply.call('t.sparse'), reply.answer('Done.')], tools: [sparse] })
    await harness.say('Do it.')
    expect(blocksOf(await harness.timeline()).findLast(({ type }) => type === 'react.tool.result')?.text).toBe('{"rows":[{}]}')
  })

  it('an outcome of succeeded or failed is passed on unchanged', () => {
    for (const outcome of [succeeded({ output: 1 }), failed('a', 'b', { details: 1 })]) expect(outcomeOf(outcome)).toBe(outcome)
  })

  it('tools 18.113, 18.16: the timeline shows the error and the value that came with it, and not the flag managed', async () => {
    const harness = createHarness({ tools: failingTools(), replies: [reply.call('faulty.refuses', {}), reply.answer('Closed.')] })
    await harness.say('Go.')
    const result = blocksOf(await harness.timeline()).findLast(({ type }) => type === 'react.tool.result')
    expect(JSON.parse(result?.text ?? '')).toEqual({
      ok: false,
      status: 'error',
      error: { code: 'closed', message: 'The shop is closed.', where: 'door' },
      ret: { opens: 9 },
    })
    expect(JSON.stringify(await harness.journal())).not.toMatch(/managed/)
  })

  it('a value that can not be stored fails the call, and the turn continues', async () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const details = { ok: false, error: { code: 'a', message: 'b', details: { n: 1n } } }
    const junk = [{ drafts: [{}] }, { changes: [{ type: 'x' }] }]
    const outcomes = junk.map((each) => succeeded(each as unknown as Parameters<typeof succeeded>[0]))
    for (const returned of [1n, { n: 1n }, circle, () => 1, Symbol('s'), { ok: true, ret: 1n }, details, ...outcomes]) {
      const harness = createHarness({ replies: [reply.call('t.odd'), reply.answer('Then not.')], tools: [oddTool(() => returned)] })
      expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete', answer: 'Then not.' })
      expect(await noticesOf(harness)).toMatchObject([{ code: 'tool_result_error', error_code: 'result_unfit' }])
    }
  })

  it('a failed call has a message for every thrown value', async () => {
    const mute = Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('no')
      },
    })
    for (const [thrown, message] of [
      [{ message: 'Too hot.' }, 'Too hot.'],
      ['Too cold.', 'Too cold.'],
      [new Error("ENOENT: open '/home/me/.env'"), "ENOENT: open '.env'"],
      ...[undefined, new Error(''), Object.create(null), mute].map((each) => [each, 'The tool failed and did not say why.']),
    ]) {
      const throws = oddTool(() => {
        throw thrown
      })
      const harness = createHarness({ replies: [reply.call('t.odd'), reply.answer('Then not.')], tools: [throws] })
      expect(await harness.say('Do it.')).toMatchObject({ exitReason: 'complete' })
      expect(await noticesOf(harness)).toMatchObject([{ code: 'tool_call_error', message }])
    }
  })
})

const oddTool = (run: () => unknown) => defineTool({ id: 't.odd', description: 'Odd.', params: z.object({}), run: run as () => null })
