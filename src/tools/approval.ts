import type { JsonObject } from '../core/json.ts'
import type { Scope } from '../core/scope.ts'
import { failed } from './outcome.ts'
import type { Tool } from './tool.ts'

/** What happens with a call: it runs, a person is asked first, or it is refused. */
export type Approval = 'allow' | 'ask' | 'deny'

/** A call for which a rule has to decide. Its tool has not run yet. */
export interface CallToApprove {
  readonly conversationId: string
  readonly turnId: string
  readonly callId: string
  readonly toolId: string
  readonly params: JsonObject
  /** The tenant, project and user that own the conversation. */
  readonly scope: Scope
}

/**
 * The rule of an agent about calls. It is a function, or an object with a verdict for each tool. In the object, `mail.*` stands for all
 * tools of `mail`, and `*` for all tools. If several names match the tool, the verdict of the longest name is used. A call for which the
 * rule has no verdict is allowed.
 */
export type ApprovalRule = ApprovalFunction | { readonly [toolId: string]: Approval }

/** Decides about a call. Undefined means that the rule has no verdict for the call. */
export type ApprovalFunction = (call: CallToApprove) => Approval | undefined | Promise<Approval | undefined>

/** Makes a function from the rule. */
export function approvalFunction(rule: ApprovalRule): ApprovalFunction {
  if (typeof rule === 'function') return rule
  const names = Object.keys(rule).sort((a, b) => b.length - a.length)
  return ({ toolId }) => {
    const name = names.find((each) => fits(each, toolId))
    return name === undefined ? undefined : rule[name]
  }
}

const fits = (name: string, toolId: string) => name === toolId || (name.endsWith('*') && toolId.startsWith(name.slice(0, -1)))

/** Whether a list of names, such as `mail.*`, has a name that matches the tool. */
export const namesTool = (names: readonly string[], toolId: string): boolean => names.some((name) => fits(name, toolId))

/**
 * The rule of a turn with the option `ask`: a person is asked about calls of the named tools. A call that the rule of the agent refuses is
 * still refused.
 */
export const askingFor =
  (names: readonly string[], rule: ApprovalFunction | undefined): ApprovalFunction =>
  async (call) => {
    const verdict = await rule?.(call)
    return verdict !== 'deny' && namesTool(names, call.toolId) ? 'ask' : verdict
  }

/**
 * Decides about a call by the tool's own `approval` and the rule of the agent. The stricter of the two verdicts is used, so the rule can
 * not switch off an approval that the tool requires.
 */
export async function judgeCall(tool: Tool, rule: ApprovalFunction | undefined, call: CallToApprove): Promise<Approval> {
  const byRule = (await rule?.(call)) ?? 'allow'
  if (byRule === 'deny' || tool.approval === undefined) return byRule
  const asks = tool.approval === true || (await tool.approval(call.params, call))
  return asks ? 'ask' : byRule
}

/**
 * A copy of the tool for programs that the model wrote. A call that the rule does not allow fails, because a program can not wait until a
 * person has decided.
 */
export function forPrograms(tool: Tool, rule: ApprovalFunction): Tool {
  if (!tool.callableFromCode) return tool
  return {
    ...tool,
    async run(params, call) {
      const { conversationId, origin, scope } = call
      const asked = { conversationId, turnId: origin.turnId, callId: origin.callId, toolId: tool.id, params: params as JsonObject, scope }
      if ((await judgeCall(tool, rule, asked)) === 'allow') return tool.run(params, call)
      return failed('approval_needed', `A person has to decide about calls of ${tool.id}, so programs can not call it. Call it as a tool.`)
    },
  }
}
