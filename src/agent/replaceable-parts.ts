import { checkOptions, group } from '../core/options.ts'
import { type AttachmentLimits, defaultAttachmentLimits } from '../tools/attachments/upload.ts'
import type { AgentParts } from './agent.ts'
import { type AgentContext, createAgentContext } from './agent-context.ts'
import { agentPartRules } from './agent-options.ts'

/** The parts of an agent that have data or threads. They can not be replaced while the agent exists. */
type KeptPart = 'store' | 'clock' | 'workspaces' | 'hosting' | 'documents' | 'bookkeeping' | 'acceptOnly'

/**
 * Replaces the model, the tools, the texts, the settings and the hooks of an agent. A conversation that is running keeps the old parts
 * until its turns have ended.
 */
export type ReplaceParts = (parts: Omit<AgentParts, KeptPart>) => void

/** The parts of an agent and the context that is made of them. */
export interface CurrentParts {
  readonly parts: AgentParts
  readonly context: AgentContext
}

/** Checks the parts and makes the context. `onReplaceable` is called with the function that replaces the parts later. */
export function createCurrentParts(parts: AgentParts, onReplaceable?: (replace: ReplaceParts) => void): () => CurrentParts {
  checkParts(parts)
  let current = { parts, context: createAgentContext(parts) }
  onReplaceable?.((next) => {
    const { store, clock, workspaces, hosting, documents, bookkeeping } = parts
    const kept = { ...(workspaces && { workspaces }), ...(hosting && { hosting }), ...(documents && { documents }) }
    const all = { ...next, store, clock, ...kept, ...(bookkeeping && { bookkeeping }) }
    checkParts(all)
    current = { parts: all, context: createAgentContext(all, current.context.hub) }
  })
  return () => current
}

const checkParts = (parts: AgentParts) =>
  checkOptions('createAgentFrom', parts, group('an object with the parts of an agent', agentPartRules))

/** What an agent offers to its callers. */
export interface AgentAbout {
  /** The name of the model that decides and answers. */
  readonly model: string
  /** The names of the models that `run` and `send` can choose with `model`. */
  readonly models: readonly string[]
  readonly attachments: Pick<AttachmentLimits, 'files' | 'messageBytes'>
}

export function aboutAgent({ parts, context: { models, namedModels } }: CurrentParts): AgentAbout {
  const { files, messageBytes } = { ...defaultAttachmentLimits, ...parts.attachments?.limits }
  return { model: models.decision.name, models: [...namedModels.keys()], attachments: { files, messageBytes } }
}
