import type { ToolSignature, ToolSignatures } from '../core/decision/signature.ts'
import type { Tool } from '../tools/tool.ts'

/** The tools of an agent, by id. */
export interface Toolbox {
  readonly tools: readonly Tool[]
  find(id: string): Tool | undefined
  /** As data, for checking a call. */
  readonly signatures: ToolSignatures
}

/** Names from elsewhere that mean one of ours. */
const aliases: ReadonlyMap<string, string> = new Map([['react.memory_hide', 'react.hide']])

/** Exist only inside programs that exec tools run. */
const onlyInCode = ['ctx_tools.fetch_ctx', 'context_tools.fetch_ctx', 'io_tools.tool_call']

export function createToolbox(tools: readonly Tool[]): Toolbox {
  const byId = new Map(tools.map((tool) => [tool.id, tool]))
  if (byId.size !== tools.length) {
    const twice = tools.find((tool, index) => tools.findIndex(({ id }) => id === tool.id) !== index)
    throw new RangeError(`two tools are called ${twice?.id}`)
  }
  const signatures = new Map<string, ToolSignature>([
    ...tools.map((tool) => [tool.id, signatureOf(tool)] as const),
    ...onlyInCode.map((id) => [id, { id, parameters: [], order: 'soft', onlyInCode: true, strategy: 'neutral' } as const] as const),
  ])
  const ours = (id: string) => aliases.get(id) ?? id
  return {
    tools,
    find: (id) => byId.get(ours(id)),
    signatures: { ids: [...byId.keys()], find: (id) => signatures.get(ours(id)) },
  }
}

function signatureOf({ id, parameters, order, exec, strategy }: Tool): ToolSignature {
  return { id, parameters, order, strategy, ...(exec && { exec: true as const }) }
}
