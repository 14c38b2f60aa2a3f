import fc from 'fast-check'
import type { Json, JsonObject } from '../../../src/core/json.ts'

/** A JSON Schema, and a value that matches it. */
export type SchemaAndValue = readonly [JsonObject, Json]

const keys = ['a', 'b', 'c', '"q"', 'größe', '名前', '🙂', 'a b', '', '[[S:1]]', 'toString', '$ref', '\\']

/** Numbers that some programs read as another number, or write in another form. */
const numbers = [0, -0.5, 1e21, 1e-7, 123456789012345680000, Number.MAX_SAFE_INTEGER, 5e-324, 1.7976931348623157e308]

/** A list whose items contain lists of the same kind. */
const treeSchema: JsonObject = {
  $ref: '#/$defs/tree',
  $defs: {
    tree: {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
      required: ['name', 'children'],
      additionalProperties: false,
    },
  },
}
const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    text().map((name): Json => ({ name, children: [] })),
    fc.tuple(text(), fc.array(tie('tree'), { maxLength: 2 })).map(([name, children]): Json => ({ name, children })),
  ),
}))

/** Texts that look like tags, citations, code fences or JSON. */
function text(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string(),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('[[S:1]]', '</channel:answer>', '<think>', '```json', '{"a":1}', '"', '\\', '\u2028', '\n', '</', '<channel:followup>'),
  )
}

/** Random JSON Schemas, and values that match them. */
export const { schemaAndValue } = fc.letrec<{ schemaAndValue: SchemaAndValue }>((tie) => ({
  schemaAndValue: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    text().map((value) => [{ type: 'string' }, value] as const),
    fc.integer().map((value) => [{ type: 'integer' }, value] as const),
    fc.constantFrom(...numbers).map((value) => [{ type: 'number' }, value] as const),
    fc.boolean().map((value) => [{ type: 'boolean' }, value] as const),
    fc.constantFrom('a', 'b').map((value) => [{ enum: ['a', 'b'] }, value] as const),
    fc.constantFrom(null, 'x').map((value) => [{ type: ['string', 'null'] }, value] as const),
    tree.map((value) => [treeSchema, value] as const),
    fc.tuple(tie('schemaAndValue'), tie('schemaAndValue')).map(([[first], [second, value]]) => {
      return [anyOf(first as JsonObject, second as JsonObject), value] as const
    }),
    fc.array(tie('schemaAndValue'), { maxLength: 1 }).map((items) => {
      const [schema, value] = items[0] ?? [{ type: 'null' }, null]
      return [lifted({ type: 'array', items: schema as JsonObject }), items.length === 0 ? [] : [value, value]] as const
    }),
    fc.dictionary(fc.constantFrom(...keys), fc.tuple(tie('schemaAndValue'), fc.boolean())).map((fields) => {
      const entries = Object.entries(fields)
      return [
        lifted({
          type: 'object',
          properties: Object.fromEntries(entries.map(([name, [[schema]]]) => [name, schema])),
          required: entries.flatMap(([name, [, required]]) => (required ? [name] : [])),
          additionalProperties: false,
        }),
        Object.fromEntries(entries.map(([name, [[, value]]]) => [name, value])),
      ] as const
    }),
  ) as fc.Arbitrary<SchemaAndValue>,
}))

const anyOf = (...schemas: readonly JsonObject[]): JsonObject => lifted({ anyOf: schemas })

/** A reference begins at the root of a schema, so the definitions of inner schemas are moved to the root. */
function lifted(schema: JsonObject): JsonObject {
  return JSON.stringify(schema).includes('"#/$defs/tree"')
    ? { ...(withoutDefinitions(schema) as JsonObject), $defs: treeSchema.$defs as JsonObject }
    : schema
}

function withoutDefinitions(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutDefinitions)
  if (typeof schema !== 'object' || schema === null) return schema
  const { $defs: _, ...rest } = schema as JsonObject
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withoutDefinitions(value as Json)]))
}

/** Ways in which models break JSON. */
export const breakings: readonly ((json: string, at: number) => string)[] = [
  (json) => json,
  (json, at) => json.slice(0, at),
  (json, at) => json.slice(at),
  (json, at) => json.slice(0, at) + json.slice(at + 1),
  (json, at) => `${json.slice(0, at)},${json.slice(at)}`,
  (json) => `Here it is:\n\`\`\`json\n${json}\n\`\`\`\nI hope this helps.`,
  (json) => `${json}\n${json}`,
  (json) => json.replace('}', ',}'),
  () => 'I can not do that.',
  () => '{}',
]
