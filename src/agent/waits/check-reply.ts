import { isObject, type JsonObject } from '../../core/json.ts'
import { InvalidOption } from '../../core/options.ts'

/**
 * Checks the reply of a person to a question of a tool. The schema of a question is an object with simple fields. A reply to another schema
 * is not checked, because the tool checks the reply itself.
 */
export function checkReply(schema: JsonObject | undefined, content: JsonObject): void {
  const fields = isObject(schema?.properties) ? schema.properties : {}
  const required = Array.isArray(schema?.required) ? schema.required : []
  for (const name of required) {
    if (typeof name === 'string' && content[name] === undefined) throw wrong(name, `the field ${name} is missing`)
  }
  for (const [name, value] of Object.entries(content)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) throw wrong(name, `there is no field ${name}. The fields are ${Object.keys(fields).join(', ') || 'none'}`)
    const problem = isObject(field) ? fieldProblem(field, value) : undefined
    if (problem !== undefined) throw wrong(name, `the field ${name} must be ${problem}`)
  }
}

function fieldProblem({ type, enum: choices }: { readonly [key: string]: unknown }, value: unknown): string | undefined {
  if (Array.isArray(choices) && !choices.includes(value)) return `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`
  if (type === 'integer') return Number.isSafeInteger(value) ? undefined : 'a whole number'
  if (type === 'string' || type === 'number' || type === 'boolean')
    return typeof value === type ? undefined : `a ${type === 'string' ? 'text' : type}`
  return type === 'array' && !Array.isArray(value) ? 'a list' : undefined
}

const wrong = (name: string, message: string) => new InvalidOption('decide', `params.${name}`, message)
