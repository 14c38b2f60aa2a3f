import { nativeNames } from '../core/decision/native-names.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { RequestTool } from '../ports/model.ts'
import { listedTools } from './catalog.ts'
import type { Parameter, Tool } from './tool.ts'

/** The parameter of an exec tool that holds the program. In the dialect `channels`, the program is in a channel of its own. */
export const programParameter = 'program'

/**
 * The tools in the form that providers expect, in the order of the catalogue. The same tools always give the same bytes, because the
 * provider can not use its cache when a tool has changed.
 */
export function requestTools(tools: readonly Tool[]): readonly RequestTool[] {
  const { react, common } = listedTools(tools)
  const listed = [...react, ...common]
  const names = nativeNames(listed.map(({ id }) => id))
  return listed.map((tool) => ({ name: names.get(tool.id) ?? tool.id, description: describe(tool), schema: schemaOf(tool) }))
}

/** The description of a tool, its constraints and its return value. The schema describes the parameters. */
const describe = ({ description, constraints, returns }: Tool): string =>
  [description, ...constraints, ...(returns === undefined ? [] : [`Returns: ${returns}`])].join('\n')

function schemaOf({ parameters, exec }: Tool): JsonObject {
  const shown = exec ? [...parameters.filter(({ name }) => name !== 'code' && name !== programParameter), program] : parameters
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map((parameter) => [parameter.name, propertyOf(parameter)])),
    required: shown.filter(({ required }) => required).map(({ name }) => name),
  }
}

const program: Parameter = { name: programParameter, type: 'string', required: true, description: 'the whole program, as plain text' }

/** The schema of one parameter. If only its short notation is known, the description contains it. */
function propertyOf({ type, shape, description, schema }: Parameter): JsonObject {
  if (schema) return withoutNoise(schema) as JsonObject
  const text = [...(shape === undefined ? [] : [shape]), ...(description === undefined ? [] : [description])].join(' — ')
  return { ...(type !== 'any' && { type, ...(type === 'array' && { items: {} }) }), ...(text !== '' && { description: text }) }
}

/** The schema without bounds that only say that a number is a safe integer. Zod writes them, and each call would pay for them. */
function withoutNoise(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutNoise)
  if (!isObject(schema)) return schema
  const isNoise = (name: string, value: unknown) =>
    (name === 'minimum' && value === Number.MIN_SAFE_INTEGER) || (name === 'maximum' && value === Number.MAX_SAFE_INTEGER)
  const kept = Object.entries(schema as JsonObject).filter(([name, value]) => !isNoise(name, value))
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutNoise(value)]))
}
