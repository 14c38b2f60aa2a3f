import { isObject, type JsonObject, parseJson } from '../../core/json.ts'
import { withoutPayloadHeader } from '../prompt/entries.ts'
import type { CallRecord, Situation } from '../prompt/situation.ts'
import { answer, type Decision, escapeMarkup } from './decision.ts'
import { canCall } from './plan.ts'

/**
 * The decision for a message that names a tool of the application and its parameters, such as `bill.split {"total": 90}`. With such
 * messages, developers can try their tools without a language model. Undefined for other messages.
 */
export function requestedCall(situation: Situation): Decision | undefined {
  const { tools, calls, request, announce } = situation
  const end = request.search(/\s|\{|$/)
  const toolId = request.slice(0, end)
  const given = request.slice(end).trim()
  if (!tools.has(toolId) || isBuiltIn(toolId)) return undefined
  const params = given === '' ? {} : parseJson(given)
  if (!isObject(params))
    return answer('The parameters are not JSON.', `Write the parameters as JSON, such as \`${toolId} {"name": "value"}\`.`)
  const call = calls.findLast((each) => each.toolId === toolId)
  if (call) return answer('The tool has answered.', resultText(call))
  // The first round made the call, but the call was rejected before the tool ran.
  if (announce.round > 1 && calls.length === 0) return answer('The call was rejected.', rejectedText(toolId, tools.get(toolId) ?? []))
  if (!canCall(situation, toolId)) return undefined
  const thinking = 'The message names a tool and its parameters, so I call the tool.'
  return { kind: 'call', thinking, notes: `I call ${toolId}.`, toolId, params: params as JsonObject }
}

const isBuiltIn = (toolId: string) => toolId.startsWith('react.') || toolId.startsWith('exec_tools.')

const rejectedText = (toolId: string, names: readonly string[]) =>
  `The call of \`${toolId}\` was rejected: a parameter is missing or wrong. Its parameters are ${names.map((name) => `\`${name}\``).join(', ')}.`

/** The result of a call as a code block. If the prompt shows two results of the call, the first one describes the second. */
function resultText({ toolId, results, failed }: CallRecord): string {
  const body = withoutPayloadHeader(results.at(-1)?.body ?? '').trim()
  return `\`${toolId}\` ${failed ? 'failed' : 'returned'}:\n\n\`\`\`\n${escapeMarkup(body).replaceAll('```', "'''")}\n\`\`\``
}
