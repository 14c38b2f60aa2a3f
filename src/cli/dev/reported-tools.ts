import { errorMessage } from '../../core/failure.ts'
import type { AgentDefinition } from '../../wiring/define-agent.ts'
import type { SettingsWithAgent } from '../context.ts'
import { placeInStack } from '../modules/load-failure.ts'
import type { ModuleLoad } from '../modules/load-module.ts'
import { plainLine } from '../terminal.ts'

type Tool = NonNullable<AgentDefinition['tools']>[number]

/**
 * The settings with an agent whose tools also report their exceptions to the developer, with the place in the developer's files. Otherwise
 * only the model is told that a tool failed.
 */
export function withReportedTools(
  settings: SettingsWithAgent,
  load: ModuleLoad,
  folder: string,
  report: (line: string) => void,
): SettingsWithAgent {
  const { agent } = settings
  if (!agent?.tools) return settings
  const reportError = (tool: Tool, error: unknown) => {
    const place = placeInStack(load, folder, error)
    report(plainLine(`${tool.id} failed: ${errorMessage(error)}${place === undefined ? '' : ` (${place})`}`))
  }
  const reported = (tool: Tool): Tool => ({
    ...tool,
    async run(params, call) {
      try {
        return await tool.run(params, call)
      } catch (error) {
        if (!call.signal.aborted) reportError(tool, error)
        throw error
      }
    },
  })
  return { ...settings, agent: { ...agent, tools: agent.tools.map(reported) } }
}
