import {
  callback,
  checkOptions,
  expects,
  filledText,
  flag,
  group,
  InvalidOption,
  listOf,
  type OptionRules,
  oneOf,
  optional,
  text,
} from '../core/options.ts'
import {
  describeIssues,
  isSchema,
  jsonSchemaOf,
  type OutputOf,
  type StandardIssue,
  type StandardResult,
  type StandardSchemaV1,
} from '../core/standard-schema.ts'
import type { CallToApprove } from './approval.ts'
import { isThenable, messageForModel } from './invoke.ts'
import { failed, outcomeOf, type Returned } from './outcome.ts'
import { parametersOf, takesText } from './parameters.ts'
import type { Call, LookUp, Outcome, Parameter, Strategy, Tool } from './tool.ts'

/** The argument of `defineTool`. */
export interface ToolDefinition<Schema extends StandardSchemaV1> {
  /** The id in the form `namespace.name`. The name may have further dots, such as `mcp.github.create-issue`. */
  readonly id: string
  readonly description: string
  /** Any Standard Schema. The model must write the parameters in the order of the fields of this schema. */
  readonly params: Schema
  /** The parameters for the model. Needed only for a schema that can not describe itself as JSON Schema. */
  readonly parameters?: readonly Parameter[]
  readonly order?: 'hard' | 'soft'
  readonly strategy?: Strategy
  /**
   * True when running the tool twice with one idempotency key does no harm. By default a call is not repeated after a crash. The model is
   * then told that the outcome of the call is unknown.
   */
  readonly repeatable?: boolean
  /**
   * True when calls of this tool may run at the same time as other calls. When at least two tools of an agent declare this, the model is
   * told that it may make several calls in one response. Not allowed together with `exec`.
   */
  readonly parallel?: boolean
  /**
   * How many milliseconds a call may take. After that, `call.signal` is aborted. The tool then has `stopGraceMs` milliseconds (a setting of
   * the agent) to return a result that is still used. Otherwise the call fails with `tool_timeout`.
   */
  readonly timeoutMs?: number
  /**
   * Set for a tool that runs the program in the `code` channel. `run` of such a tool gets the parameter `contract` as a list of
   * `ContractedFile` with physical paths of this turn.
   */
  readonly exec?: true
  /**
   * True when programs of exec tools may call this tool. Only set it for a tool that does no harm if a program calls it many times with
   * parameters that no person has seen. Not allowed together with `exec`.
   */
  readonly callableFromCode?: boolean
  /**
   * Set when a person has to approve calls before the tool runs. With true, each call needs an approval. A function decides for each call
   * whether it needs one. Until the person has decided, the turn waits and needs no process. Not allowed together with `callableFromCode`.
   */
  readonly approval?: true | ((params: OutputOf<Schema>, call: CallToApprove) => boolean | Promise<boolean>)
  /** Set when only an operator may approve. By default the user of the conversation may also approve. */
  readonly approver?: 'operator'
  readonly returns?: string
  readonly constraints?: readonly string[]
  /** True when the tool changes nothing but the timeline, such as a search. The report of effects leaves out its calls. */
  readonly readOnly?: boolean
  /**
   * Finds out the outcome of a call that was running when the process died. Returns `'not-done'` if the call has had no effect. In this
   * case `run` is called. Returns `'unknown'` if this can not be found out. Any other value is the result of the call, as `run` would
   * return it. If the function throws or takes longer than the setting `lookUpTimeoutMs`, the outcome is `'unknown'`.
   */
  lookUp?(idempotencyKey: string, params: OutputOf<Schema>, signal: AbortSignal): Returned
  /** Runs one call of the tool. Returns the result or a promise of it. */
  run(params: OutputOf<Schema>, call: Call): Returned
}

/**
 * Makes a tool from a schema and a function. The schema determines the types of the parameters of `run`. The returned `Tool` is not
 * generic, which keeps the compiler fast.
 */
export function defineTool<Schema extends StandardSchemaV1>(definition: ToolDefinition<Schema>): Tool {
  const where = isToolId(definition?.id) ? `defineTool ${definition.id}` : 'defineTool'
  checkOptions(where, definition, definitionRule)
  const { id, params: schema } = definition
  const parameters = definition.parameters ?? describeParameters(schema, where)
  if (definition.exec && !parameters.some(isContractParameter)) {
    const message = `a tool with exec needs the parameter \`contract\`, a list of {filename, description, visibility}`
    throw new InvalidOption(where, 'params', message)
  }
  if (definition.exec && definition.callableFromCode)
    throw new InvalidOption(where, 'callableFromCode', 'a tool with exec can not be called from code: leave this option out')
  if (definition.approval !== undefined && definition.callableFromCode)
    throw new InvalidOption(where, 'callableFromCode', 'a tool that needs an approval can not be called from code: leave this option out')
  if (definition.exec && definition.parallel)
    throw new InvalidOption(where, 'parallel', 'a tool with exec can not run in parallel: leave this option out')

  return {
    id,
    description: definition.description,
    parameters,
    order: definition.order ?? 'soft',
    strategy: definition.strategy ?? 'exploitation',
    repeatable: definition.repeatable ?? false,
    ...(definition.parallel && { parallel: true }),
    timeoutMs: definition.timeoutMs,
    exec: definition.exec ?? false,
    ...(definition.callableFromCode && { callableFromCode: true }),
    ...(definition.approval !== undefined && { approval: approvalOf(definition.params, definition.approval) }),
    ...(definition.approver !== undefined && { approver: definition.approver }),
    ...(definition.readOnly && { readOnly: true }),
    returns: definition.returns,
    constraints: definition.constraints ?? [],
    ...(definition.parameters === undefined && { takesText: (at: readonly string[]) => takesText(jsonSchemaOf(schema), at) }),
    async problemWith(params) {
      const { issues } = await schema['~standard'].validate(params)
      return issues && describeIssues(issues)
    },
    ...(definition.lookUp && { lookUp: (key, params, signal) => lookUpValidated(definition, key, params, signal) }),
    run(params, call) {
      const validation = schema['~standard'].validate(params)
      return isThenable(validation)
        ? Promise.resolve(validation).then((result) => runValidated(definition, result as StandardResult<unknown>, call))
        : runValidated(definition, validation, call)
    },
  }
}

/**
 * The approval of a tool. A function gets the parsed parameters. A call with invalid parameters needs no approval, because it fails anyway.
 */
function approvalOf<Schema extends StandardSchemaV1>(
  schema: Schema,
  approval: NonNullable<ToolDefinition<Schema>['approval']>,
): NonNullable<Tool['approval']> {
  if (approval === true) return true
  return async (params, call) => {
    const parsed = await schema['~standard'].validate(params)
    return parsed.issues === undefined && (await approval(parsed.value as OutputOf<Schema>, call))
  }
}

/** The rule for the option `parameters`. */
export const parameterList = listOf('parameters', group('a parameter', { name: filledText, type: text }, 'other names allowed'))

/** The greatest length of a tool id. Longer ids would fill the lists of tools in prompts and logs. */
const MAX_ID_CHARS = 200

/** Whether a value can be the id of a tool: a namespace and at least one more word, with dots between them. */
export const isToolId = (id: unknown): id is string =>
  typeof id === 'string' && id.length <= MAX_ID_CHARS && /^[a-z][a-z0-9_]*(\.[a-z0-9_][a-z0-9_-]*)+$/i.test(id)

/** `setTimeout` accepts at most 2^31 - 1 milliseconds (24 days). With a greater number it would fire immediately. */
const isTimerDuration = (ms: unknown): boolean => typeof ms === 'number' && ms > 0 && ms < 2 ** 31

const definitionRule = group('an object that describes a tool', {
  id: expects('a tool id of the form namespace.name', isToolId),
  description: text,
  params: expects('a schema, such as one of zod, valibot or arktype', isSchema),
  parameters: optional(parameterList),
  order: optional(oneOf('hard', 'soft')),
  strategy: optional(oneOf('exploration', 'exploitation', 'neutral')),
  repeatable: optional(flag),
  parallel: optional(flag),
  timeoutMs: optional(expects('greater than 0 and at most 24 days', isTimerDuration)),
  exec: optional(flag),
  callableFromCode: optional(flag),
  approval: optional(expects('true or a function', (value) => value === true || typeof value === 'function')),
  approver: optional(oneOf('operator')),
  readOnly: optional(flag),
  lookUp: optional(callback),
  returns: optional(text),
  constraints: optional(listOf('texts', text)),
  run: callback,
} satisfies OptionRules<ToolDefinition<StandardSchemaV1>>)

const isContractParameter = ({ name, type }: Parameter) => name === 'contract' && (type === 'array' || type === 'any')

function describeParameters(schema: StandardSchemaV1, where: string): readonly Parameter[] {
  const message = 'its schema cannot describe its parameters; list them in `parameters`'
  let parameters: readonly Parameter[] | undefined
  try {
    parameters = parametersOf(schema)
  } catch (cause) {
    throw new InvalidOption(where, 'parameters', `${message} (${messageForModel(cause)})`, { cause })
  }
  if (parameters === undefined) throw new InvalidOption(where, 'parameters', undescribed(schema, message))
  return parameters
}

/** The message for a schema from which no parameters could be read. */
function undescribed(schema: StandardSchemaV1, message: string): string {
  if (jsonSchemaOf(schema) !== undefined)
    return 'its schema must be that of an object, whose fields are the parameters; otherwise list them in `parameters`'
  const isValibot = schema['~standard'].vendor === 'valibot'
  return isValibot ? `${message}; with valibot, write toStandardJsonSchema(…) of @valibot/to-json-schema around it` : message
}

function runValidated<Schema extends StandardSchemaV1>(
  definition: ToolDefinition<Schema>,
  validation: StandardResult<unknown>,
  call: Call,
): Outcome | Promise<Outcome> {
  if (validation.issues) return failed('invalid_params', invalidParamsMessage(definition.id, validation.issues))
  const returned = definition.run(validation.value as OutputOf<Schema>, call)
  return isThenable(returned) ? awaitOutcome(returned) : outcomeOf(returned)
}

async function lookUpValidated<Schema extends StandardSchemaV1>(
  definition: ToolDefinition<Schema>,
  key: string,
  params: unknown,
  signal: AbortSignal,
): Promise<LookUp> {
  const validation = await definition.params['~standard'].validate(params)
  if (validation.issues) return 'not-done' // `run` refuses these parameters, too
  const found: unknown = await definition.lookUp?.(key, validation.value as OutputOf<Schema>, signal)
  return found === 'not-done' || found === 'unknown' ? found : outcomeOf(found)
}

/**
 * Waits for the value and makes an outcome of it. It uses `await` and not `returned.then(outcomeOf)`, because a class may have a method
 * `then` that does not return a promise. `await` works with such a class, too.
 */
const awaitOutcome = async (returned: PromiseLike<unknown>): Promise<Outcome> => outcomeOf(await returned)

const invalidParamsMessage = (id: string, issues: readonly StandardIssue[]) =>
  `${id} does not accept these parameters: ${describeIssues(issues)}. Nothing ran. Send the call again with parameters that fit.`
