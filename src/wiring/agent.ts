import { createSystemClock } from '../adapters/clock/system.ts'
import { createPdfReader } from '../adapters/documents/pdf.ts'
import { createDocumentRenderer } from '../adapters/documents/renderer.ts'
import type { EmbeddingChoice } from '../adapters/model/embedding.ts'
import type { ModelChoice } from '../adapters/model/model-from.ts'
import { createPriceOf } from '../adapters/model/prices.ts'
import { type AgentParts, createAgentFrom } from '../agent/agent.ts'
import type { Agent } from '../agent/agent-interface.ts'
import { agentOptions } from '../agent/agent-options.ts'
import type { Replayed } from '../agent/replay/replay.ts'
import type { RecordedStore, ReplayParts } from '../agent/replay/setup.ts'
import { checkOptions } from '../core/options.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { Knowledge, KnowledgeSearch } from '../ports/knowledge.ts'
import type { McpConfiguration } from '../ports/mcp-configuration.ts'
import type { FolderList, Skills } from '../ports/skills.ts'
import type { Workspaces } from '../ports/workspace.ts'
import type { ModelChoices } from './define-agent.ts'
import { openKnowledgeOption, replayedKnowledge } from './knowledge.ts'
import { openMcpOption } from './mcp.ts'
import { memoryOption, replayedMemory, startVectorsOf } from './memory.ts'
import { bookkeepingWith, modelsFrom, namedModels, offlineSources } from './models.ts'
import { skillsOption } from './skills.ts'
import { checkNode, hostingOf, openMemoryStore } from './store.ts'

/** Options of `createAgent`. Only `model` is required. */
export interface AgentOptions
  extends Omit<AgentParts, 'model' | 'models' | 'mcp' | 'store' | 'clock'>,
    Partial<Pick<AgentParts, 'store' | 'clock'>> {
  readonly model: ModelChoice | ModelChoices
  /** Models that a single run can choose by name: `run(id, text, { model: 'fast' })`. */
  readonly models?: Readonly<Record<string, ModelChoice>>
  /**
   * Folders with skills, or an object that reads skills. The name `built-in` stands for the skills that are part of Daybook. Default: no
   * skills.
   */
  readonly skills?: FolderList | Skills
  /** Folders with documents that the agent can search and read, or an object that reads and searches them. Default: no documents. */
  readonly knowledge?: FolderList | (Knowledge & KnowledgeSearch)
  /**
   * MCP servers by name. The agent can call their tools, whose ids are `mcp.<server>.<tool>`. Closing the agent also closes the servers.
   */
  readonly mcp?: McpConfiguration
  /** The embedding model of the memory search: a name such as `openai/text-embedding-3-small`, a model of the AI SDK, or an `Embedder`. */
  readonly embedding?: EmbeddingChoice
}

/**
 * Creates an agent. Without `store`, conversations are kept in memory. Without `workspaces`, files of turns are kept in memory. Without
 * `hosting`, hosted files are stored with the conversations, if `store` comes from `openStore` or is left out. With any other store, no
 * files are hosted. If `model` is a name, the provider's package is loaded when the model is called for the first time.
 */
export function createAgent(options: AgentOptions): Agent {
  checkNode()
  checkOptions('createAgent', options, agentOptions)
  const clock = options.clock ?? createSystemClock()
  const store = options.store ?? openMemoryStore(clock)
  const hosting = options.hosting ?? hostingOf(store)
  const documents = options.documents ?? createPdfReader()
  const workspaces = options.workspaces ?? memoryWorkspaces(store.blobs)
  const model = modelsFrom(options.model, { reader: documents })
  const settings = { priceOf: createPriceOf({ now: clock.now }), ...offlineSources(model), ...options.settings }
  const knowledge = openKnowledgeOption(options.knowledge, { documents, onProblem: options.onProblem })
  const vectors = startVectorsOf(store, options.builtIn?.memory === undefined ? options.embedding : undefined, options.onProblem)
  const builtIn = {
    ...memoryOption(store, clock, {}, vectors),
    ...skillsOption(options.skills, options.onProblem),
    ...knowledge.option,
    ...options.builtIn,
  }
  const mcp = openMcpOption(options.mcp, options.onProblem)
  const { models: _named, skills: _skills, knowledge: _knowledge, embedding: _embedding, mcp: _servers, ...given } = options
  const parts = {
    bookkeeping: bookkeepingWith(options.settings),
    ...given,
    ...mcp.option,
    model,
    ...namedModels(options.models, { reader: documents }),
    store,
    clock,
    documents,
    workspaces,
    ...(hosting && { hosting }),
    settings,
    builtIn,
  }
  if (options.builtIn?.rendering !== undefined) return closing(createAgentFrom(parts), mcp, knowledge, vectors)
  const rendering = createDocumentRenderer()
  return closing(createAgentFrom({ ...parts, builtIn: { ...builtIn, rendering } }), mcp, knowledge, vectors, rendering)
}

/** Workspaces in memory. Their code is imported when the first workspace is opened, which keeps the import of Daybook fast. */
function memoryWorkspaces(blobs: BlobStore): Workspaces {
  let opened: Promise<Workspaces> | undefined
  const open = () => {
    opened ??= import('./memory-workspaces.ts').then(({ openMemoryWorkspaces }) => openMemoryWorkspaces(blobs))
    return opened
  }
  return {
    implementation: 'custom',
    open: async (owner, conversationId) => (await open()).open(owner, conversationId),
    mayHaveFiles: () => opened !== undefined,
    remove: async (owner, conversationId) => (await opened)?.remove(owner, conversationId),
  }
}

/**
 * Runs recorded turns again with the current code, and reports the first difference in each turn. The responses of the model and the
 * results of the tools are taken from the journal. The agent has the built-in tools that `createAgent` offers. No model is called, no tool
 * runs and nothing is written. With `turnId`, only this turn is replayed.
 */
export async function replay(
  store: RecordedStore,
  conversationId: string,
  parts: ReplayParts = {},
  turnId?: string,
): Promise<readonly Replayed[]> {
  const { skills, knowledge, builtIn: own } = (parts ?? {}) as ReplayParts & Pick<AgentOptions, 'skills' | 'knowledge'>
  const builtIn = {
    ...replayedMemory(),
    ...skillsOption(skills),
    ...replayedKnowledge(knowledge),
    rendering: createDocumentRenderer(),
    ...own,
  }
  // a value that is not an object is passed on unchanged, and `replayFrom` rejects it
  const given = typeof parts === 'object' && parts !== null ? { ...parts, builtIn } : parts
  const { replay: replayFrom } = await import('../agent/replay/replay.ts') // imported on demand, because turns do not need this module
  return replayFrom(store, conversationId, given, turnId)
}

/**
 * Makes `close` of the agent also close the parts that were opened for it. Parts that the application has passed are closed by the
 * application.
 */
function closing(agent: Agent, ...opened: readonly ({ close(): Promise<void> } | undefined)[]): Agent {
  const { close } = agent
  return Object.assign(agent, {
    async close() {
      await close()
      for (const each of opened) await each?.close()
    },
  })
}
