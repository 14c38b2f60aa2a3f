import { expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.ts'
import type { JsonValue } from '../../core/stream/json/event.ts'
import { createHarness } from '../../testing/harness.ts'
import { reply } from '../../testing/scripted-model.ts'
import { jsonSchema } from './output.ts'

/** A schema in which each step has two ways to the next one. */
const doubling = (steps: number): JsonObject => ({
  $ref: '#/$defs/a0',
  $defs: {
    ...Object.fromEntries(
      Array.from({ length: steps }, (_, n) => [`a${n}`, { anyOf: [{ $ref: `#/$defs/a${n + 1}` }, { $ref: `#/$defs/a${n + 1}` }] }]),
    ),
    [`a${steps}`]: { type: 'null' },
  },
})
const nested = (depth: number): JsonValue => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as JsonValue
const lists: JsonObject = {
  anyOf: [
    { type: 'array', items: { $ref: '#' }, maxItems: 0 },
    { type: 'array', items: { $ref: '#' } },
  ],
}
const checked = async (schema: JsonObject, value: unknown) => (await jsonSchema(schema)['~standard'].validate(value)).issues?.[0]?.message

it.each<[string, JsonObject, unknown]>([
  ['many ways to the same check', doubling(60), 5],
  ['two ways into each level of a deep value', lists, nested(60)],
  ['a reference to itself', { $ref: '#' }, 5],
  ['a way back to itself without a step into the value', { anyOf: [{ type: 'string' }, { allOf: [{ $ref: '#' }] }] }, 5],
])('a schema with %s takes too long, and is refused at once', async (_, schema, value) => {
  expect(await checked(schema, value)).toBe('it takes too long to check this value with the JSON Schema')
})

it.each<[string, JsonObject, unknown]>([
  ['a few ways to the same check', doubling(8), null],
  ['a recursive schema and a deep value', { type: 'array', items: { $ref: '#' } }, nested(60)],
  ['a recursive choice and a shallow value', lists, nested(8)],
  [
    'a long list',
    { type: 'array', items: { type: 'object', properties: { a: { type: 'number' } } } },
    Array.from({ length: 5_000 }, () => ({ a: 1 })),
  ],
  ['a schema that refers to a missing part only where the value has nothing', { properties: { a: { type: 'string' } } }, {}],
])('%s is checked', async (_, schema, value) => {
  expect(await checked(schema, value)).toBeUndefined()
})

it('the output of a turn with such a schema is refused', async () => {
  const { agent } = createHarness({ replies: Array(4).fill(reply.answer('5')), builtIn: { tools: false } })
  expect((await agent.run('c1', 'Go.', { output: jsonSchema(doubling(60)) }).result).refusal?.code).toBe('invalid')
})
