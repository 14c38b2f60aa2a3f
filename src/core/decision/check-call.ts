import type { Notice } from '../block/round.ts'
import { readContract } from '../contract/contract.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import { describeType, type RequestedCall } from './decision.ts'
import { suggestIds } from './edit-distance.ts'
import {
  checkOrder,
  isReference,
  matchesType,
  type OrderProblem,
  type Parameter,
  type ToolSignature,
  type ToolSignatures,
} from './signature.ts'
import { codeWithoutExec, snippet, violation, warning } from './violations.ts'

/** The result of checking a call: the parameters for the tool, or a notice about the rule that the call broke. */
export type CallCheck =
  | { readonly ok: true; readonly params: JsonObject; readonly signature: ToolSignature; readonly warnings: readonly Notice[] }
  | { readonly ok: false; readonly violation: Notice }

/** One problem of a call. The notice to the model lists all problems. */
interface CallIssue {
  readonly code: string
  readonly param?: string
  readonly expected?: string
  readonly got?: string
  readonly [field: string]: unknown
}

/**
 * Checks a call against the signature of its tool. If a required parameter is missing or has the wrong type, the call is rejected. Unknown
 * parameters are dropped with a warning, and so are optional parameters of the wrong type.
 *
 * `response.liveOutput` tells whether the user has seen a part of the response. It may take long, so it is called only if the call is
 * rejected.
 */
export function checkCall(decision: RequestedCall, tools: ToolSignatures, response: ShownResponse = nothingShown): CallCheck {
  const { toolId, code } = decision
  const signature = tools.find(toolId)
  if (signature === undefined) return refuse(unknownTool(toolId, tools.ids, response.liveOutput().showedContent()))
  if (signature.notOffered) return refuse(notOffered(toolId, tools.ids, response.liveOutput().showedContent()))
  if (signature.onlyInCode) return refuse(notCallableDirectly(toolId, response.liveOutput().showedContent()))
  if (code !== undefined && !signature.exec) return refuse(codeWithoutExec('call_tool', toolId, response.liveOutput().showedContent()))
  const params = toParams(decision.params, signature)
  if (params === undefined) return refuse(paramsNotObject(decision, signature, response.liveOutput().showedContent()))

  const order = checkOrder(signature, decision.paramKeys)
  const issues = findIssues(params, signature, order)
  if (issues.length > 0) return refuse(invalidCall(signature, issues, order, response.liveOutput().showedContent()))

  const { kept, dropped } = splitParams(params, signature)
  const warnings: Notice[] = []
  if (signature.id !== toolId) warnings.push(renamedTool(toolId, signature))
  if (order) warnings.push(orderWarning(toolId, order))
  if (dropped.length > 0) warnings.push(droppedParams(toolId, dropped))
  return { ok: true, params: kept, signature, warnings }
}

interface ShownResponse {
  liveOutput(): { showedContent(): boolean }
}

const nothingShown: ShownResponse = { liveOutput: () => ({ showedContent: () => false }) }

/**
 * The problems that reject a call: an invalid contract, a wrong order of parameters if the tool requires the order, and missing or wrong
 * required parameters.
 */
function findIssues(params: JsonObject, signature: ToolSignature, order: OrderProblem | undefined): readonly CallIssue[] {
  const contract = signature.exec ? checkContract(ownParam(params, 'contract')) : undefined
  const issues: CallIssue[] = contract ? [{ code: contract, param: 'contract' }] : []
  if (order?.binding) issues.push({ code: order.code })
  for (const parameter of signature.parameters) {
    const issue = checkRequired(parameter, params, contract !== undefined)
    if (issue) issues.push(issue)
  }
  return issues
}

/**
 * Checks the form of a contract. The paths in the contract are checked when the tool runs. If the contract is a reference, its form is also
 * checked only when the tool runs.
 */
function checkContract(given: Json | undefined): 'missing_contract' | 'invalid_contract' | undefined {
  if (isReference(given)) return undefined
  const contract = readContract(given)
  if (contract.ok) return undefined
  return contract.problems[0]?.error === 'missing_artifacts' ? 'missing_contract' : 'invalid_contract'
}

const refuse = (notice: Notice) => ({ ok: false as const, violation: notice })
const ownParam = (params: JsonObject, name: string): Json | undefined => (Object.hasOwn(params, name) ? params[name] : undefined)

/**
 * The parameters as an object. If the only required parameter of the tool is a list, the model may write just this list, or one string
 * instead of it. Undefined for other values.
 */
function toParams(params: Json, { parameters }: ToolSignature): JsonObject | undefined {
  if (isObject(params)) return params as JsonObject // the value was parsed from JSON
  const [needed, ...others] = parameters.filter(({ required }) => required)
  if (needed?.type !== 'array' || others.length > 0) return undefined
  if (Array.isArray(params)) return { [needed.name]: params }
  return typeof params === 'string' && params.trim() !== '' ? { [needed.name]: [params] } : undefined
}

function checkRequired({ name, type, required }: Parameter, params: JsonObject, contractReported: boolean): CallIssue | undefined {
  if (!required || (contractReported && name === 'contract')) return undefined
  const value = ownParam(params, name)
  if (value === undefined || value === null) return { code: 'missing_param', param: name, expected: type }
  if (isReference(value) || matchesType(value, type) || (name === 'contract' && typeof value === 'string')) return undefined
  return { code: 'wrong_type', param: name, expected: type, got: describeType(value) }
}

/** Splits the parameters into those that the tool gets and those that are dropped. A parameter that is null is treated as missing. */
function splitParams(
  params: JsonObject,
  { parameters }: ToolSignature,
): { readonly kept: JsonObject; readonly dropped: readonly CallIssue[] } {
  const names = Object.keys(params)
  if (names.every((name) => isAccepted(params[name] as Json, parameterOf(name, parameters)))) return { kept: params, dropped: [] }
  const kept: [string, Json][] = []
  const dropped: CallIssue[] = []
  for (const name of names) {
    const value = params[name] as Json
    const known = parameterOf(name, parameters)
    if (known === undefined) dropped.push({ code: 'unknown_param', param: snippet(name) })
    else if (value === null) continue
    else if (isAccepted(value, known)) kept.push([name, value])
    else dropped.push({ code: 'wrong_type', param: name, expected: known.type, got: describeType(value) })
  }
  return { kept: Object.fromEntries(kept), dropped }
}

const parameterOf = (name: string, parameters: readonly Parameter[]): Parameter | undefined =>
  parameters.find((parameter) => parameter.name === name)

/** Whether the tool gets the value. `known` is the parameter, if the tool has it. */
const isAccepted = (value: Json, known: Parameter | undefined): boolean =>
  known !== undefined && value !== null && (known.required || isReference(value) || matchesType(value, known.type))

function unknownTool(toolId: string, ids: readonly string[], shown: boolean): Notice {
  const near = suggestIds(toolId, ids)
  const meant = near.length === 0 ? '' : ` Did you mean ${near.join(', ')}?`
  return violation('tool_call_invalid', {
    problem: `There is no tool "${snippet(toolId)}".${meant}`,
    next: 'Call a tool that the catalogue lists, by its full id.',
    shown,
    extra: { tool_id: snippet(toolId), violations: [{ code: 'unknown_tool_id', suggestions: near }] },
  })
}

function notCallableDirectly(toolId: string, shown: boolean): Notice {
  return violation('tool_not_allowed_in_react', {
    problem: `"${snippet(toolId)}" exists only inside programs; it can not be called from an action.`,
    next: 'Call an exec tool and use it in the `code` channel, or choose a tool of the catalogue that can be called directly.',
    shown,
    extra: { tool_id: snippet(toolId) },
  })
}

function notOffered(toolId: string, ids: readonly string[], shown: boolean): Notice {
  return violation('tool_not_offered', {
    problem: `"${snippet(toolId)}" can not be called in this turn.`,
    next: ids.length === 0 ? 'No tool can be called in this turn: answer.' : `These can: ${ids.join(', ')}.`,
    shown,
    extra: { tool_id: snippet(toolId) },
  })
}

function paramsNotObject({ toolId, params }: RequestedCall, signature: ToolSignature, shown: boolean): Notice {
  return violation('tool_call_invalid', {
    problem: `tool_call.params of "${snippet(toolId)}" must be an object, not ${describeType(params)}.`,
    next: `Send the call again with ${describeUsage(signature)}.`,
    shown,
    extra: { tool_id: snippet(toolId), violations: [{ code: 'bad_params', got: describeType(params) }] },
  })
}

/** The notice for a rejected call. It lists all problems, so that the model can correct all of them in one round. */
function invalidCall(signature: ToolSignature, issues: readonly CallIssue[], order: OrderProblem | undefined, shown: boolean): Notice {
  const onlyParams = issues.every(({ code }) => code === 'missing_param' || code === 'wrong_type')
  const onlyOrder = order?.binding && issues.length === 1 ? order : undefined
  const code = onlyOrder ? onlyOrder.code : onlyParams ? 'tool_signature_red' : 'tool_call_invalid'
  const details = onlyOrder ? { keys: onlyOrder.got, expected: onlyOrder.expected } : { violations: issues }
  return violation(code, {
    problem: `The call of "${signature.id}" can not be carried out: ${issues.map((issue) => describeIssue(issue, order)).join('; ')}.`,
    next: `Send the call again with ${describeUsage(signature)}.`,
    shown,
    extra: { tool_id: signature.id, ...details },
  })
}

function describeIssue({ code, param, expected, got }: CallIssue, order: OrderProblem | undefined): string {
  if (code === order?.code) return `its parameters are in the wrong order (${order.got.join(', ')} instead of ${order.expected.join(', ')})`
  switch (code) {
    case 'missing_param':
      return `the required parameter "${param}" is missing`
    case 'wrong_type':
      return `the parameter "${param}" must be of type ${expected}, not ${got}`
    case 'missing_contract':
      return 'it declares no files: "contract" is missing or empty'
    default:
      return '"contract" must be a list of {"filename", "description", "visibility"?}, visibility external or internal'
  }
}

function describeUsage({ parameters }: ToolSignature): string {
  if (parameters.length === 0) return 'empty params: {}'
  return `params in this order: ${parameters.map(({ name, type, required }) => `${name} (${type}${required ? ', required' : ''})`).join(', ')}`
}

function orderWarning(toolId: string, { expected, got }: OrderProblem): Notice {
  return warning(
    'param_order',
    `The parameters of "${toolId}" came in another order than documented; the call went ahead. Use: ${expected.join(', ')}.`,
    { tool_id: toolId, expected, got },
  )
}

function renamedTool(toolId: string, { id }: ToolSignature): Notice {
  return warning('tool_alias', `"${snippet(toolId)}" is called "${id}" now; the call went ahead. Use that name.`, { tool_id: id })
}

function droppedParams(toolId: string, issues: readonly CallIssue[]): Notice {
  const named = issues.slice(0, 8)
  const names = named.map(({ code, param, expected }) =>
    code === 'unknown_param' ? `"${param}" (unknown)` : `"${param}" (must be ${expected})`,
  )
  return {
    code: 'tool_signature_validation',
    message: `Some parameters of "${toolId}" were dropped: ${names.join(', ')}. The call went ahead without them. Use only documented parameters.`,
    status: 'yellow',
    tool_id: toolId,
    issues: named,
  }
}
