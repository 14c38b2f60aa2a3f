import type { ParameterType, Parameter as SignatureParameter } from '../core/decision/signature.ts'
import { isObject } from '../core/json.ts'
import { describeIssues, type StandardIssue, type StandardResult, type StandardSchemaV1 } from '../core/standard-schema.ts'
import { isThenable, messageForModel } from './invoke.ts'
import { failed, outcomeOf, type Returned } from './outcome.ts'
import type { Call, Outcome, Strategy, Tool } from './tool.ts'

export interface ToolDefinition<Schema extends StandardSchemaV1> {
  /** `namespace.name`. */
  readonly id: string
  readonly description: string
  /** Any Standard Schema. The order of its fields is the order in which the model must write them. */
  readonly params: Schema
  /** Only for schemas that cannot describe themselves as JSON Schema. */
  readonly parameters?: readonly Parameter[]
  readonly order?: 'hard' | 'soft'
  readonly strategy?: Strategy
  /** Say `true` when running it twice under one idempotency key does no harm. Silence means that it might. */
  readonly repeatable?: boolean
  readonly timeoutMs?: number
  /** Runs the program in the `code` channel. `run` is given `contract` as a list of `ContractedFile`, in physical paths of this turn. */
  readonly exec?: true
  readonly returns?: string
  readonly constraints?: readonly string[]
  run(params: OutputOf<Schema>, call: Call): Returned | Promise<Returned>
}

type OutputOf<Schema extends StandardSchemaV1> = NonNullable<Schema['~standard']['types']>['output']

/** A tool from a schema and a function. The schema's types reach `run` and go no further, so a hundred tools type-check like one. */
export function defineTool<Schema extends StandardSchemaV1>(definition: ToolDefinition<Schema>): Tool {
  const { id, params: schema } = definition
  if (!/^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/i.test(id)) throw new RangeError(`tool id "${id}" must be namespace.name`)
  const parameters = definition.parameters ?? describeParameters(schema, id)
  if (definition.exec && !parameters.some(isContractParameter))
    throw new RangeError(`${id}: a tool with exec needs the parameter \`contract\`, a list of {filename, description, visibility}`)

  return {
    id,
    description: definition.description,
    parameters,
    order: definition.order ?? 'soft',
    strategy: definition.strategy ?? 'exploitation',
    repeatable: definition.repeatable ?? false,
    timeoutMs: definition.timeoutMs,
    exec: definition.exec ?? false,
    returns: definition.returns,
    constraints: definition.constraints ?? [],
    run(params, call) {
      const judged = schema['~standard'].validate(params)
      return isThenable(judged)
        ? Promise.resolve(judged).then((checked) => runValidated(definition, checked as StandardResult<unknown>, call))
        : runValidated(definition, judged, call)
    },
  }
}

const isContractParameter = ({ name, type }: Parameter) => name === 'contract' && (type === 'array' || type === 'any')

function describeParameters(schema: StandardSchemaV1, id: string): readonly Parameter[] {
  const listThem = `${id}: its schema cannot describe its parameters; list them in \`parameters\``
  let described: readonly Parameter[] | undefined
  try {
    described = parametersOf(schema)
  } catch (cause) {
    throw new RangeError(`${listThem} (${messageForModel(cause)})`, { cause })
  }
  if (described === undefined) throw new RangeError(listThem)
  return described
}

function runValidated<Schema extends StandardSchemaV1>(
  definition: ToolDefinition<Schema>,
  checked: StandardResult<unknown>,
  call: Call,
): Outcome | Promise<Outcome> {
  if (checked.issues) return failed('invalid_params', invalidParamsMessage(definition.id, checked.issues))
  const returned = definition.run(checked.value as OutputOf<Schema>, call)
  return isThenable(returned) ? awaitOutcome(returned) : outcomeOf(returned)
}

/** By waiting, not by its `then`: a promise may have one of its own, which nobody else would ask. */
const awaitOutcome = async (returned: PromiseLike<Returned>): Promise<Outcome> => outcomeOf(await returned)

const invalidParamsMessage = (id: string, issues: readonly StandardIssue[]) =>
  `${id} does not accept these parameters: ${describeIssues(issues)}. Nothing ran. Send the call again with parameters that fit.`

/** One parameter as the model reads it. */
export interface Parameter extends SignatureParameter {
  readonly description?: string
  readonly default?: unknown
  /** What the model may write, as it reads it: `"a" | "b"`, `array of {name: string}`. The type when not said. */
  readonly shape?: string
}

const parameterTypes: ReadonlySet<unknown> = new Set<ParameterType>(['string', 'number', 'integer', 'boolean', 'array', 'object'])

const maxShapeDepth = 4
const maxShapeLength = 400

/** Read off the schema, in the order its author wrote them. Undefined when the schema cannot describe itself. */
export function parametersOf(schema: StandardSchemaV1): readonly Parameter[] | undefined {
  const description = jsonSchemaOf(schema)
  if (!isObject(description) || !isObject(description.properties)) return undefined
  const required = Array.isArray(description.required) ? description.required : []
  return Object.entries(description.properties).map(([name, property]) => parameterOf(name, property, required.includes(name)))
}

/** Schemas of the Standard JSON Schema interface say what they accept; zod's do. */
function jsonSchemaOf(schema: StandardSchemaV1): unknown {
  const { jsonSchema } = schema['~standard'] as { readonly jsonSchema?: { input?: (options: { target: string }) => unknown } }
  return typeof jsonSchema?.input === 'function' ? jsonSchema.input({ target: 'draft-2020-12' }) : undefined
}

function parameterOf(name: string, property: unknown, required: boolean): Parameter {
  const shape = isObject(property) ? property : {}
  const type = parameterTypes.has(shape.type) ? (shape.type as ParameterType) : 'any'
  const written = shapeOf(shape)
  return {
    name,
    type,
    required: required && !('default' in shape),
    ...(typeof shape.description === 'string' && { description: shape.description }),
    ...('default' in shape && { default: shape.default }),
    ...(written !== type && written.length <= maxShapeLength && { shape: written }),
  }
}

/** JSON Schema in a few words. What has no short form is `any`: the tool will say what it did not accept. */
function shapeOf(schema: unknown, depth = 0): string {
  if (!isObject(schema) || depth > maxShapeDepth) return 'any'
  const options = schema.anyOf ?? schema.oneOf
  if (Array.isArray(options)) return options.map((option) => shapeOf(option, depth + 1)).join(' | ')
  if (Array.isArray(schema.enum)) return schema.enum.map((choice) => JSON.stringify(choice)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.type === 'array') return schema.items === undefined ? 'array' : `array of ${shapeOf(schema.items, depth + 1)}`
  if (schema.type === 'object' && isObject(schema.properties)) return objectShape(schema.properties, schema.required, depth)
  if (Array.isArray(schema.type)) return schema.type.join(' | ')
  return typeof schema.type === 'string' ? schema.type : 'any'
}

function objectShape(properties: Readonly<Record<string, unknown>>, required: unknown, depth: number): string {
  const needed = Array.isArray(required) ? required : []
  const fields = Object.entries(properties).map(([name, property]) => {
    return `${name}${needed.includes(name) ? '' : '?'}: ${shapeOf(property, depth + 1)}`
  })
  return fields.length === 0 ? 'object' : `{${fields.join(', ')}}`
}
