import { createHandler } from '../../src/server/create-handler.ts'
import { createAgent } from '../../src/wiring/agent.ts'
import { type Operation, operationsIn } from '../../test/support/openapi.ts'
import { code, page, table } from './markdown.ts'

type Schema = Readonly<Record<string, unknown>>

/** The routes, from the OpenAPI document that the server sends. */
export async function httpPage(): Promise<string> {
  const agent = createAgent({ model: 'offline' })
  const handler = createHandler(agent, { recover: false })
  try {
    const response = await handler(new Request('http://127.0.0.1/v1/openapi.json', { headers: { host: '127.0.0.1' } }))
    if (!response.ok) throw new Error(`the server answered ${response.status}: ${await response.text()}`)
    const document: unknown = await response.json()
    const operations = operationsIn(document)
    if (operations.length < 20) throw new Error('the OpenAPI document does not list the routes any more')
    return page(
      'HTTP routes',
      'A running server has the same list as an OpenAPI document: `GET /v1/openapi.json`. [The server](../server.md) explains how the routes are used, and which of them are for operators. An error has the type `application/problem+json` and a [code](errors.md#http).',
      ...operations.map(({ method, path, operation }) => section(document, method, path, operation)),
    )
  } finally {
    await handler.drain()
    await agent.close()
  }
}

function section(document: unknown, method: string, path: string, operation: Operation): string {
  const parameters = (operation.parameters ?? []).map(({ name = '', in: place = '', required, schema, description }) => [
    code(name),
    place,
    typeText(document, (schema ?? {}) as Schema),
    required ? 'yes' : 'no',
    description ?? String(((schema ?? {}) as Schema).description ?? ''),
  ])
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) =>
    body(document, type, (schema ?? {}) as Schema),
  )
  const responses = Object.entries(operation.responses ?? {}).map(([status, { description = '', content = {} }]) => [
    status,
    description,
    Object.keys(content).map(code).join(', '),
  ])
  return [
    `## ${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    sentence(operation.summary ?? ''),
    ...(parameters.length > 0 ? [table(['parameter', 'in', 'type', 'required', 'meaning'], parameters)] : []),
    ...bodies,
    table(['status', 'meaning', 'content'], responses),
    ...responseFields(document, operation),
  ].join('\n\n')
}

function body(document: unknown, type: string, schema: Schema): string {
  const resolved = resolve(document, schema)
  const fields = Object.entries((resolved.properties ?? {}) as Readonly<Record<string, Schema>>)
  if (fields.length === 0) return `Body ${code(type)}: ${typeText(document, schema)}.`
  const required = new Set((resolved.required ?? []) as readonly string[])
  const rows = fields.map(([name, value]) => [
    code(name),
    typeText(document, value),
    required.has(name) ? 'yes' : 'no',
    String(value.description ?? ''),
  ])
  return `Body ${code(type)}:\n\n${table(['field', 'type', 'required', 'meaning'], rows)}`
}

/**
 * The fields of the JSON that a successful response has. A field of an object has a name such as `object.field`, and a field in a list has
 * a name such as `list[].field`.
 */
function responseFields(document: unknown, operation: Operation): readonly string[] {
  return Object.entries(operation.responses ?? {}).flatMap(([status, { content = {} }]) => {
    const schema = status.startsWith('2') ? (content['application/json']?.schema as Schema | undefined) : undefined
    const rows = schema ? fieldRows(document, schema, '', 2) : []
    return rows.length === 0 ? [] : [`Response ${status}:\n\n${table(['field', 'type', 'always', 'meaning'], rows)}`]
  })
}

function fieldRows(document: unknown, schema: Schema, prefix: string, depth: number): readonly (readonly string[])[] {
  if (depth === 0) return []
  const { properties = {}, required = [] } = resolve(document, schema) as {
    readonly properties?: Readonly<Record<string, Schema>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).flatMap(([name, value]) => {
    const resolved = resolve(document, value)
    const isList = resolved.type === 'array'
    const parts = fieldRows(
      document,
      isList ? ((resolved.items ?? {}) as Schema) : resolved,
      `${prefix}${name}${isList ? '[]' : ''}.`,
      depth - 1,
    )
    // if no part has a description, the description of the whole field explains its parts
    const isExplained = depth > 1 && parts.some((part) => part.at(-1) !== '')
    const names = parts.map(([part = '']) => code(part.slice(part.lastIndexOf('.') + 1, -1)))
    const type =
      isExplained || names.length === 0 ? typeText(document, value) : `${isList ? 'list of objects' : 'object'} with ${names.join(', ')}`
    const row = [code(prefix + name), type, required.includes(name) ? 'yes' : 'no', String(value.description ?? '')]
    return [row, ...(isExplained ? parts : [])]
  })
}

function resolve(document: unknown, schema: Schema): Schema {
  if (typeof schema.$ref !== 'string') return schema
  const keys = schema.$ref.slice(2).split('/')
  return keys.reduce<unknown>((value, key) => (value as Schema)[key], document) as Schema
}

/** A short description of the values that a schema accepts. */
function typeText(document: unknown, given: Schema): string {
  const schema = resolve(document, given)
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => code(String(value))).join(', ')
  if (schema.const !== undefined) return code(String(schema.const))
  const choices = (schema.anyOf ?? schema.oneOf) as readonly Schema[] | undefined
  if (choices) return [...new Set(choices.map((choice) => typeText(document, choice)))].join(' or ')
  if (schema.type === 'array') return `list of ${typeText(document, (schema.items ?? {}) as Schema)}`
  const names = [schema.type ?? 'any value'].flat().map(String)
  const limits = [
    ...(schema.minLength === undefined ? [] : [`at least ${schema.minLength} characters`]),
    ...(schema.maxLength === undefined ? [] : [`at most ${schema.maxLength} characters`]),
    ...(schema.minimum === undefined ? [] : [`from ${schema.minimum}`]),
    ...(schema.maximum === undefined || schema.maximum === Number.MAX_SAFE_INTEGER ? [] : [`to ${schema.maximum}`]),
  ]
  return [names.join(' or '), ...limits].join(', ')
}

const sentence = (text: string): string => (text === '' || text.endsWith('.') ? text : `${text}.`)
