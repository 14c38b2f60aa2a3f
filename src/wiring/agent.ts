import { createMemoryBlobs } from '../adapters/blobs/memory.ts'
import { createSystemClock } from '../adapters/clock/system.ts'
import { createPdfReader } from '../adapters/documents/pdf.ts'
import { createDocumentRenderer } from '../adapters/documents/renderer.ts'
import type { IndexReport } from '../adapters/knowledge/indexer.ts'
import type { EmbeddingChoice } from '../adapters/model/embedding.ts'
import type { ModelChoice } from '../adapters/model/model-from.ts'
import { createPriceOf } from '../adapters/model/prices.ts'
import { createMemoryStore } from '../adapters/store/memory/store.ts'
import { createMemoryWorkspaces } from '../adapters/workspace/custom/custom.ts'
import { type Agent, type AgentParts, createAgentFrom } from '../agent/agent.ts'
import { agentOptions } from '../agent/agent-options.ts'
import { type Archive, createArchive } from '../agent/archive.ts'
import { createOwner } from '../agent/conversation/owner.ts'
import { createDeletion } from '../agent/deletion.ts'
import type { ReplaceParts } from '../agent/replaceable-parts.ts'
import type { Replayed } from '../agent/replay/replay.ts'
import type { RecordedStore, ReplayParts } from '../agent/replay/setup.ts'
import type { AgentSettings } from '../agent/settings.ts'
import type { Settings } from '../config/settings.ts'
import { checkOptions } from '../core/options.ts'
import { documentEligibleMimes } from '../core/sources/source.ts'
import type { DocumentRenderer } from '../ports/documents.ts'
import type { Knowledge, KnowledgeSearch } from '../ports/knowledge.ts'
import type { McpConfiguration } from '../ports/mcp-configuration.ts'
import type { FolderList, Skills } from '../ports/skills.ts'
import type { AgentDefinition, ModelChoices } from './define-agent.ts'
import { knowledgeCache, openKnowledgeOption, replayedKnowledge } from './knowledge.ts'
import { mcpCache, openMcpOption } from './mcp.ts'
import { embeddingOf, memoryOption, replayedMemory, startCatchUp, startVectorsOf } from './memory.ts'
import { bookkeeping, modelOf, modelsFrom, namedModels, offlineSources } from './models.ts'
import { openTokenCounter, startOpenTelemetry } from './on-demand.ts'
import { openSandbox, type SandboxSettings } from './sandbox.ts'
import { skillsOption } from './skills.ts'
import { checkNode, memoryFolders, openStorage, openStore, openStoreToRead, openWorkspaces, type StoreSettings } from './store.ts'
import { openWebTools } from './web-tools.ts'

/** Options of `createAgent`. Only `model` is required. */
export interface AgentOptions
  extends Omit<AgentParts, 'model' | 'models' | 'mcp' | 'store' | 'clock'>,
    Partial<Pick<AgentParts, 'store' | 'clock'>> {
  readonly model: ModelChoice | ModelChoices
  /** Models that a single run can choose by name: `run(id, text, { model: 'fast' })`. */
  readonly models?: Readonly<Record<string, ModelChoice>>
  /** Folders with skills, or an object that reads skills. `built-in` stands for the skills that are part of Daybook. Default: no skills. */
  readonly skills?: FolderList | Skills
  /** Folders with documents that the agent can search and read, or an object that does so. Default: none. */
  readonly knowledge?: FolderList | (Knowledge & KnowledgeSearch)
  /** MCP servers by name. The agent can call their tools, whose ids are `mcp.<server>.<tool>`. They are closed with the agent. */
  readonly mcp?: McpConfiguration
  /** The embedding model of the memory search: a name such as `openai/text-embedding-3-small`, a model of the AI SDK, or an `Embedder`. */
  readonly embedding?: EmbeddingChoice
}

/**
 * Creates an agent. Without `store`, conversations are kept in memory. Without `workspaces`, files are kept in memory. When `model` is a
 * name, the provider's package is loaded when the model is called for the first time.
 */
export function createAgent(options: AgentOptions): Agent {
  checkNode()
  checkOptions('createAgent', options, agentOptions)
  const clock = options.clock ?? createSystemClock()
  const store = options.store ?? createMemoryStore({ blobs: createMemoryBlobs(), clock })
  const documents = options.documents ?? createPdfReader()
  const workspaces = options.workspaces ?? createMemoryWorkspaces({ blobs: store.blobs, ...memoryFolders })
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
    bookkeeping,
    ...given,
    ...mcp.option,
    model,
    ...namedModels(options.models, { reader: documents }),
    store,
    clock,
    documents,
    workspaces,
    settings,
    builtIn,
  }
  if (options.builtIn?.rendering !== undefined) return closing(createAgentFrom(parts), mcp, knowledge, vectors)
  const rendering = createDocumentRenderer()
  return closing(createAgentFrom({ ...parts, builtIn: { ...builtIn, rendering } }), mcp, knowledge, vectors, rendering)
}

/**
 * Runs recorded turns again with the present code, the recorded responses and the recorded results of the tools. The agent has the built-in
 * tools that `createAgent` offers. Reports the first difference in each turn. No model is called, no tool runs and nothing is written. With
 * `turnId`, only this turn is replayed.
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
  const given = typeof parts === 'object' && parts !== null ? { ...parts, builtIn } : parts // `replayFrom` rejects other values
  const { replay: replayFrom } = await import('../agent/replay/replay.ts') // on demand, because turns do not need this module
  return replayFrom(store, conversationId, given, turnId)
}

/** The agent, whose `close` also closes what was opened for it. What the application passes is closed by the application. */
function closing(agent: Agent, ...opened: readonly ({ close(): Promise<void> } | undefined)[]): Agent {
  const { close } = agent
  return Object.assign(agent, {
    async close() {
      await close()
      for (const each of opened) await each?.close()
    },
  })
}

/** Options of `openAgent` besides the settings. `sandbox` takes the place of the sandbox that the settings ask for. */
export type OpenOptions = Pick<AgentParts, 'onEntry' | 'onProblem' | 'tools' | 'sandbox'> & {
  /** How many milliseconds a turn with a finished answer stays open for another message. */
  readonly exitGraceMs?: number
  /** Whether the knowledge base is read at once and watched, as a server does. Otherwise it is read when the agent first searches it. */
  readonly watchKnowledge?: boolean
  /** Called after documents of the knowledge base were read or removed. */
  readonly onKnowledge?: (report: IndexReport) => void
  /** The variables that contain the keys of search services. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/** Opens the renderer that the settings describe. No browser is started before the first document. */
export const openRenderer = ({ browser }: Partial<Pick<Settings, 'browser'>>): DocumentRenderer =>
  createDocumentRenderer(browser === undefined ? {} : { browser: browser === 'none' ? false : browser })

type AgentConfiguration = StoreSettings &
  SandboxSettings &
  Pick<Settings, 'model' | 'tokenCounter' | 'budget'> &
  Partial<Pick<Settings, 'browser' | 'dialect' | 'fallbackModel' | 'telemetry' | 'memorySearch' | 'skills' | 'knowledge' | 'mcp'>> & {
    readonly agent?: Settings['agent']
    readonly web?: Settings['web']
  }

/** An agent and what it was opened with. */
export interface OpenAgent {
  readonly agent: Agent
  /**
   * Replaces the model, the tools, the texts and the limits by those of new settings. Running turns end with the old ones. The store, the
   * sandbox and the renderer stay.
   */
  reload(settings: AgentConfiguration): Promise<void>
  /** Closes the agent, its store, its readers of documents and pages, and its renderer. */
  close(): Promise<void>
}

/** Opens the agent that the settings describe. */
export async function openAgent(
  settings: AgentConfiguration,
  { exitGraceMs = 0, environment = process.env, watchKnowledge = false, onKnowledge, ...options }: OpenOptions = {},
): Promise<OpenAgent> {
  const documents = createPdfReader()
  const rendering = openRenderer(settings)
  const { onProblem } = options
  const knowledge = knowledgeCache({ documents, onProblem, onUpdate: onKnowledge, watch: watchKnowledge })
  const mcp = mcpCache(onProblem, settings.data)
  const closers = [() => mcp.close(), () => knowledge.close(), () => documents.close(), () => rendering.close()]
  const firstParts = await definedParts(settings)
  const [{ store, hosting }, sandbox] = await Promise.all([openStorage(settings), options.sandbox ?? openSandbox(settings)])
  const withSandbox = sandbox && { sandbox }
  const clock = createSystemClock()
  const vectors = startVectorsOf(store, embeddingOf(settings), options.onProblem, { environment })

  /** The parts of the agent that depend on its definition and not on where its conversations are stored. */
  async function definedParts(settings: AgentConfiguration) {
    const { model: _, skills: _skills, knowledge: _knowledge, models, settings: own, mcp: servers, ...definition } = definitionOf(settings)
    const model = modelOf(settings, documents)
    const web = await openWebTools(settings, { documents, model, environment, own: options.tools ?? definition.tools ?? [] })
    closers.push(() => web.close())
    return {
      ...definition,
      ...options,
      tools: web.tools,
      ...(await mcp.option(settings.mcp, servers)),
      model,
      ...namedModels(models, { reader: documents }),
      builtIn: { rendering, ...skillsOption(settings.skills, onProblem), ...knowledge.open(settings), ...definition.builtIn },
      ...(settings.tokenCounter === 'o200k' && { tokens: await openTokenCounter() }),
      ...(settings.telemetry === 'opentelemetry' && { telemetry: await startOpenTelemetry() }),
      settings: { exitGraceMs, ...agentSettings(settings, own) },
    }
  }

  /** Adds what depends on the store. */
  const withStore = (settings: AgentConfiguration, parts: Awaited<ReturnType<typeof definedParts>>) => ({
    ...parts,
    ...withSandbox,
    builtIn: { ...memoryOption(store, clock, settings, vectors), ...parts.builtIn },
  })

  const replace = Promise.withResolvers<ReplaceParts>()
  const agent = createAgentFrom(
    {
      bookkeeping,
      ...withStore(settings, firstParts),
      store,
      clock,
      workspaces: await openWorkspaces(settings, store.blobs),
      hosting,
      documents,
    },
    replace.resolve,
  )
  const endCatchUp = startCatchUp(store, (error) => options.onProblem?.({ where: 'memory index', error }))
  return {
    agent,
    reload: async (changed) => (await replace.promise)(withStore(changed, await definedParts(changed))),
    async close() {
      await endCatchUp()
      await vectors?.close()
      await agent.close()
      for (const close of closers) await close()
      await store.close()
    },
  }
}

/**
 * Opens the stored conversations without an agent. Commands that run no turn use this function, because it needs no model. If there is no
 * data folder, it is created only if `create` is true.
 */
export async function openArchive(
  settings: AgentConfiguration,
  { create = false } = {},
): Promise<{ readonly archive: Archive; close(): Promise<void> }> {
  const { store, hosting } = await openStorage(settings, create ? openStore : openStoreToRead)
  const clock = createSystemClock()
  const owner = createOwner(clock)
  const workspaces = await openWorkspaces(settings, store.blobs)
  const archive = createArchive({
    store,
    clock,
    owner,
    hosting,
    workspaces,
    agentParts: () => ({
      settings: agentSettings(settings),
      builtIn: {
        ...replayedMemory(settings),
        ...skillsOption(settings.skills),
        ...replayedKnowledge(settings.knowledge),
        rendering: openRenderer(settings),
      },
    }),
    bookkeeping,
    publishEntry: () => {}, // this process has no followers
    deletion: createDeletion({ store, owner, hosting, workspaces, exclude: (_, work) => work([]), announceDeleted: () => {} }),
    commitToRunning: async () => false, // this process runs no turns
  })
  return { archive, close: () => store.close() }
}

/** `own` are the settings of the agent. The limits of a turn come from `budget`, which has those of the agent if no others were given. */
function agentSettings(
  { model, budget, dialect }: Pick<Settings, 'model' | 'budget'> & Partial<Pick<Settings, 'dialect'>>,
  own: AgentDefinition['settings'] = {},
): Partial<AgentSettings> {
  return {
    priceOf: createPriceOf({ now: createSystemClock().now }),
    // the offline model answers from documents and cites them, so document types must be citable
    ...(model === 'offline' && { sources: { eligibleMimes: documentEligibleMimes } }),
    ...own,
    ...(dialect !== undefined && { dialect }),
    maxRounds: budget.rounds,
    maxMoney: budget.money,
  }
}

/** The agent in the settings. A path must have been replaced by the agent of that module before. */
function definitionOf({ agent = {} }: Pick<AgentConfiguration, 'agent'>): AgentDefinition {
  if (typeof agent === 'string') throw new TypeError(`the module ${agent} is not loaded`)
  return agent as AgentDefinition // checked by `defineAgent`
}
