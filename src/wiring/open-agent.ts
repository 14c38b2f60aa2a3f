import { createSystemClock } from '../adapters/clock/system.ts'
import { createPdfReader } from '../adapters/documents/pdf.ts'
import type { IndexReport } from '../adapters/knowledge/indexer.ts'
import { createPriceOf } from '../adapters/model/prices.ts'
import { type AgentParts, createAgentFrom } from '../agent/agent.ts'
import type { Agent } from '../agent/agent-interface.ts'
import { type Archive, createArchive } from '../agent/archive/archive.ts'
import { type BudgetControl, createBudgetControl } from '../agent/budgets/budget-control.ts'
import { watchBudgets } from '../agent/budgets/call-budgets.ts'
import { createOwner } from '../agent/conversation/claim.ts'
import { createDeletion } from '../agent/deletion.ts'
import type { ReplaceParts } from '../agent/replaceable-parts.ts'
import type { AgentSettings } from '../agent/settings.ts'
import type { Settings } from '../config/settings.ts'
import { documentEligibleMimes } from '../core/sources/source.ts'
import type { AgentDefinition } from './define-agent.ts'
import { openRenderer } from './documents.ts'
import { knowledgeCache, replayedKnowledge } from './knowledge.ts'
import { mcpCache } from './mcp.ts'
import { embeddingOf, memoryOption, replayedMemory, startCatchUp, startVectorsOf } from './memory.ts'
import { bookkeeping, bookkeepingWith, modelOf, namedModels } from './models.ts'
import { openTokenCounter, startOpenTelemetry } from './on-demand.ts'
import { openSandbox, type SandboxSettings } from './sandbox.ts'
import { skillsOption } from './skills.ts'
import { openStorage, openStoreToRead, openWorkspaces, type StoreSettings } from './storage.ts'
import { openStore } from './store.ts'
import { openWebTools } from './web-tools.ts'

/** Options of `openAgent` besides the settings. `sandbox` replaces the sandbox of the settings. */
export type OpenOptions = Pick<AgentParts, 'onEntry' | 'onProblem' | 'tools' | 'sandbox' | 'acceptOnly'> & {
  /** How many milliseconds a turn with a finished answer stays open for another message. */
  readonly exitGraceMs?: number
  /**
   * How many bytes of timelines are kept in memory after their turns have ended. A server has many conversations, so it keeps more than the
   * default.
   */
  readonly keptTimelineBytes?: number
  /**
   * Whether the knowledge base is read when the agent is opened, and watched from then on. A server does this. Otherwise it is read when
   * the agent first searches it.
   */
  readonly watchKnowledge?: boolean
  /** Called after documents of the knowledge base were read or removed. */
  readonly onKnowledge?: (report: IndexReport) => void
  /** The variables that contain the keys of search services. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

type AgentConfiguration = StoreSettings &
  SandboxSettings &
  Pick<Settings, 'model' | 'tokenCounter' | 'budget'> &
  Partial<
    Pick<Settings, 'budgets' | 'browser' | 'dialect' | 'fallbackModel' | 'telemetry' | 'memorySearch' | 'skills' | 'knowledge' | 'mcp'>
  > & {
    readonly agent?: Settings['agent']
    readonly web?: Settings['web']
  }

/** An agent, with the parts that were opened for it. */
export interface OpenAgent {
  readonly agent: Agent
  /**
   * Replaces the model, the tools, the texts and the limits by those of new settings. Turns that are running keep the old model, tools,
   * texts and limits. The store, the sandbox and the renderer are not replaced.
   */
  reload(settings: AgentConfiguration): Promise<void>
  /** Closes the agent, its store, its readers of documents and pages, and its renderer. */
  close(): Promise<void>
}

/** Opens the agent that the settings describe. */
export async function openAgent(
  settings: AgentConfiguration,
  { exitGraceMs = 0, keptTimelineBytes, environment = process.env, watchKnowledge = false, onKnowledge, ...options }: OpenOptions = {},
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
      settings: { exitGraceMs, ...(keptTimelineBytes !== undefined && { keptTimelineBytes }), ...agentSettings(settings, own) },
    }
  }

  /** Adds the parts that depend on the store. */
  const withStore = (settings: AgentConfiguration, parts: Awaited<ReturnType<typeof definedParts>>) => ({
    ...parts,
    ...withSandbox,
    builtIn: { ...memoryOption(store, clock, settings, vectors), ...parts.builtIn },
  })

  const replace = Promise.withResolvers<ReplaceParts>()
  const agent = createAgentFrom(
    {
      bookkeeping: bookkeepingWith(definitionOf(settings).settings),
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
): Promise<{ readonly archive: Archive; readonly budgets: BudgetControl; close(): Promise<void> }> {
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
  const budgetSettings = () => ({ budgets: agentSettings(settings).budgets ?? {} })
  const watch = watchBudgets(store.budgets, budgetSettings)
  const budgets = createBudgetControl({ budgets: store.budgets, watch, settings: budgetSettings })
  return { archive, budgets, close: () => store.close() }
}

/**
 * The settings of the agent. `own` has the settings in its definition. The limits always come from `budget` and `budgets`. The limits of
 * the definition were already merged into these.
 */
function agentSettings(
  { model, budget, budgets, dialect }: Pick<Settings, 'model' | 'budget'> & Partial<Pick<Settings, 'budgets' | 'dialect'>>,
  own: AgentDefinition['settings'] = {},
): Partial<AgentSettings> {
  return {
    priceOf: createPriceOf({ now: createSystemClock().now }),
    // the offline model answers from documents and cites them, so documents must be allowed as sources
    ...(model === 'offline' && { sources: { eligibleMimes: documentEligibleMimes } }),
    ...own,
    ...(dialect !== undefined && { dialect }),
    maxRounds: budget.rounds,
    maxMoney: budget.money,
    maxTurnTokens: budget.tokens,
    ...(budgets && { budgets: budgets as AgentSettings['budgets'] }), // an amount that is `undefined` is not limited
  }
}

/** The definition of the agent in the settings. If the setting was the path of a module, the caller must have loaded the module. */
function definitionOf({ agent = {} }: Pick<AgentConfiguration, 'agent'>): AgentDefinition {
  if (typeof agent === 'string') throw new TypeError(`the module ${agent} is not loaded`)
  return agent as AgentDefinition // checked by `defineAgent`
}
