import { roughTokens } from '../core/estimate/tokens.ts'
import type { AgentTelemetry } from '../ports/telemetry.ts'
import type { Tool } from '../tools/tool.ts'
import type { AgentParts } from './agent.ts'
import type { AgentContext, Models } from './agent-context.ts'
import { bookkeepingFor } from './conversation/spending.ts'

/** Starts the telemetry of an agent. Undefined when the agent has no telemetry. */
export function startTelemetry(parts: AgentParts, onProblem: AgentContext['onProblem']): AgentTelemetry | undefined {
  const { store, telemetry, bookkeeping = bookkeepingFor(parts.settings?.priceOf), tokens: count = roughTokens } = parts
  return telemetry?.observe({
    ...bookkeeping,
    count,
    readJournal: (conversationId) => store.readJournal(conversationId, { after: 0 }),
    onProblem,
  })
}

export function observedModels(models: Models, telemetry: AgentTelemetry | undefined): Models {
  if (!telemetry) return models
  const { decision, gate, compaction, fallback } = models
  return {
    decision: telemetry.model(decision),
    gate: telemetry.model(gate),
    compaction: telemetry.model(compaction),
    ...(fallback && { fallback: telemetry.model(fallback) }),
  }
}

export function observedTools(tools: readonly Tool[], telemetry: AgentTelemetry | undefined): readonly Tool[] {
  if (!telemetry) return tools
  return tools.map((tool) => ({
    ...tool,
    run: (params, call) => {
      const { conversationId, origin, toolId } = call
      const { turnId, callId } = origin
      return telemetry.tool({ conversationId, turnId, callId, toolId, description: tool.description }, () => tool.run(params, call))
    },
  }))
}

/** Calls `onEntry` of the application and then the telemetry. */
export function observedEntries(
  { onEntry, onProblem }: Pick<AgentContext, 'onEntry' | 'onProblem'>,
  telemetry: AgentTelemetry | undefined,
): AgentContext['onEntry'] {
  if (!telemetry) return onEntry
  return (conversationId, event) => {
    onEntry?.(conversationId, event)
    try {
      telemetry.onEntry(conversationId, event)
    } catch (error) {
      onProblem({ where: 'telemetry', error }) // the entry is already stored, so the turn continues
    }
  }
}
