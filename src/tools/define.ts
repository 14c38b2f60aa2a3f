import { describeIssues, type StandardIssue, type StandardResult, type StandardSchemaV1 } from '../core/standard-schema.ts'
import { failed, outcomeOf, type Returned } from './outcome.ts'
import { type Parameter, parametersOf } from './parameters.ts'
import { isThenable } from './thenable.ts'
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
  const parameters = definition.parameters ?? parametersOf(schema)
  if (parameters === undefined) throw new RangeError(`${id}: its schema cannot describe its parameters; list them in \`parameters\``)

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
      return judged instanceof Promise
        ? judged.then((checked) => runChecked(definition, checked, call))
        : runChecked(definition, judged, call)
    },
  }
}

function runChecked<Schema extends StandardSchemaV1>(
  definition: ToolDefinition<Schema>,
  checked: StandardResult<unknown>,
  call: Call,
): Outcome | Promise<Outcome> {
  if (checked.issues) return failed('invalid_params', notAccepted(definition.id, checked.issues))
  const returned = definition.run(checked.value as OutputOf<Schema>, call)
  return isThenable(returned) ? outcomeLater(returned) : outcomeOf(returned)
}

/** By waiting, not by its `then`: a promise may have one of its own, which nobody else would ask. */
const outcomeLater = async (returned: PromiseLike<Returned>): Promise<Outcome> => outcomeOf(await returned)

const notAccepted = (id: string, issues: readonly StandardIssue[]) =>
  `${id} does not accept these parameters: ${describeIssues(issues)}. Nothing ran. Send the call again with parameters that fit.`
