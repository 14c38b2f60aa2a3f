import { contextLimit } from '../core/estimate/estimate.ts'
import { reliableCounter, roughTokens } from '../core/estimate/tokens.ts'
import type { EntryEvent } from '../core/event.ts'
import type { Dialect } from '../core/model-event.ts'
import { InvalidOption } from '../core/options.ts'
import type { StoredTurnOptions } from '../core/timeline/change.ts'
import type { Clock } from '../ports/clock.ts'
import type { Hosting } from '../ports/hosting.ts'
import type { Model } from '../ports/model.ts'
import type { ConversationStore } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import { type ApprovalFunction, approvalFunction, forPrograms } from '../tools/approval.ts'
import { listedSkills, toolLookup, usableSkills } from '../tools/skill-catalog.ts'
import type { Tool } from '../tools/tool.ts'
import type { AgentParts } from './agent.ts'
import { type BudgetWatch, watchBudgets } from './budgets/call-budgets.ts'
import { createRenderers, type Renderers } from './conversation/renderers.ts'
import { checkDialect, createSpeech, createSystemPrompt, type Speech } from './dialect.ts'
import { createEventHub, type EventHub } from './events/event-hub.ts'
import type { ChangingText, Texts } from './frozen/frozen-texts.ts'
import { createMcpText, mcpToolsIn } from './frozen/mcp-tools.ts'
import { createAnnouncer, createHooks, delayCompletion, type Hooks, safeCallbacks } from './hooks.ts'
import { createFallback, type FallbackModel } from './model-call/retry.ts'
import { observedEntries, observedModels, observedTools, startTelemetry } from './observed.ts'
import { type AgentSettings, agentSettings } from './settings.ts'
import { allTools, builtInTools, createToolbox, execTools, type Toolbox } from './tools.ts'
import type { OutputCheck } from './turn/output.ts'
import type { PendingTitle } from './turn/title.ts'
import type { ToolsFor } from './turn/turn-options.ts'

/** The objects that all conversations of one agent share. They are made once, when the agent is created. */
export interface AgentContext {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly hub: EventHub
  readonly models: Models
  readonly fallback?: FallbackModel | undefined
  /** The model for a decision that would exceed a budget with the usual model. Set if `budgets.whenReached` is `cheaper-model`. */
  readonly cheaper?: Model | undefined
  readonly budgetWatch: BudgetWatch
  /** The models that a run can choose by name. */
  readonly namedModels: ReadonlyMap<string, Model>
  /** Wraps a model that a run has chosen, so that the telemetry observes its calls. The models in `models` are already wrapped. */
  observed?(model: Model): Model
  readonly toolsFor?: ToolsFor | undefined
  readonly toolbox: Toolbox
  /** The dialect of the decision model and the system text. */
  readonly speech: Speech
  /** The dialect and the system text for another decision model, which a run has chosen. */
  speechOf?(model: Model): Speech
  readonly settings: AgentSettings
  readonly hooks: Hooks
  /**
   * True when a hook runs between the last response of a turn and the commit that ends the turn. In this case the response is committed
   * before the hook runs. Otherwise a crash in the hook would lose the response.
   */
  readonly hooksDelayCompletion: boolean
  /**
   * Calls the function `announce` of the application and returns its sections for the announce of a round. The promise never rejects. The
   * function is undefined when the application passed no `announce`.
   */
  readonly announce?: ReturnType<typeof createAnnouncer> | undefined
  /** The rule of the agent about calls that need an approval. Undefined when the agent has no such rule. */
  readonly approve?: ApprovalFunction | undefined
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  createRenderers(): Renderers
  readonly onEntry: ((conversationId: string, event: EntryEvent) => void) | undefined
  /** Reports a failure that no caller would see otherwise. Never throws. */
  onProblem(problem: Problem): void
  /** Called when the agent is closed. */
  onClosed(): void
  /** The parts of the system text that may change while the agent runs. Undefined for an agent without MCP servers. */
  readonly changing?: ChangingParts | undefined
}

/**
 * The parts of the system text that may change, and a function that makes the objects that depend on them. A turn freezes these texts: it
 * keeps them unchanged until it ends or is compacted.
 */
export interface ChangingParts {
  readonly texts: ReadonlyMap<string, ChangingText>
  servicesWith(texts: Texts): ToolServices
}

/** The objects that depend on the list of tools. */
export type ToolServices = Pick<AgentContext, 'toolbox' | 'speech' | 'speechOf'> & {
  /** Sentences for the model about tools that have changed since the turn began. */
  remarks?(): readonly string[]
}

/** The members of the agent's context that a turn uses. A replay makes them from a recording. */
export type TurnServices = Pick<
  AgentContext,
  | 'models'
  | 'fallback'
  | 'cheaper'
  | 'toolbox'
  | 'speech'
  | 'speechOf'
  | 'observed'
  | 'settings'
  | 'hooks'
  | 'hooksDelayCompletion'
  | 'announce'
  | 'approve'
  | 'clock'
  | 'hosting'
  | 'onProblem'
> & {
  readonly store: Pick<ConversationStore, 'blobs'>
  readonly remarks?: ToolServices['remarks']
  /** The options of the turn. Undefined when the turn has no options of its own. */
  readonly options?: StoredTurnOptions
  /** The title in a recording. Set in a replay, if the recorded turn asked for a title. */
  readonly recordedTitle?: PendingTitle | undefined
  /** Checks the answer of a turn that has an output schema. */
  readonly output?: OutputCheck
}

/**
 * The models of the agent. `decision` is called in every round, `gate` for the title of a new conversation, and `compaction` for summaries.
 */
export interface Models {
  readonly decision: Model
  readonly gate: Model
  readonly compaction: Model
  /**
   * The model that makes the decisions while the provider of `decision` can not answer. Without a fallback model, the turn waits or ends.
   */
  readonly fallback?: Model
}

/** A failure that the result of a turn does not show, such as an error in a hook, in a listener or while removing files. */
export interface Problem {
  readonly where: string
  readonly error: unknown
}

const HOOK_TIMEOUT_MS = 10_000
const ANNOUNCE_TIMEOUT_MS = 1_000 // only one second, because the round waits for the function `announce` of the application

/**
 * Makes the context of an agent. `hub` is passed only when the parts of an existing agent are replaced, and it is the hub of that agent. A
 * new agent gets a new hub.
 */
export function createAgentContext(parts: AgentParts, hub?: EventHub): AgentContext {
  const { store, clock, hosting, workspaces, documents } = parts
  const { onEntry, onProblem } = safeCallbacks(parts)
  const telemetry = startTelemetry(parts, onProblem)
  const settings = agentSettings(parts.settings)
  const models = observedModels(modelsByRole(parts.model), telemetry)
  const readsForModel = documents && models.decision.documents?.includes('application/pdf') === false ? { documents } : {}
  const skills =
    parts.builtIn?.skills &&
    usableSkills(
      parts.builtIn.skills,
      toolLookup(() => tools),
    )
  const options = { ...parts.builtIn, ...(skills && { skills }) }
  const builtIn = builtInTools({ ...options, ...readsForModel, contextTokens: contextLimit(settings, models.decision.window) })
  const approve = parts.approve && approvalFunction(parts.approve)
  const callable = [...builtIn, ...(parts.tools ?? [])].map((tool) => (approve ? forPrograms(tool, approve) : tool))
  const exec = execTools(parts.sandbox, callable, options, settings)
  const tools = allTools('createAgent', [...builtIn, ...exec], parts.tools)
  const count = parts.tokens ? reliableCounter(parts.tokens, (error) => onProblem({ where: 'tokens', error })) : roughTokens
  const texts = {
    ...(parts.instructions !== undefined && { instructions: parts.instructions }),
    ...(parts.customisation !== undefined && { customisation: parts.customisation }),
  }
  checkDialect(settings.dialect, models.decision, tools.length)

  function toolServices(tools: readonly Tool[], mayHave?: Toolbox['mayHave'], silent?: readonly string[]): ToolServices {
    const hasAny = toolLookup(() => tools, silent)
    const createSystem = (dialect: Dialect) => createSystemPrompt({ tools, dialect, ...texts, skills: listedSkills(skills, hasAny) }, count)
    const speeches = new WeakMap<Model, Speech>()
    const speechOf = (model: Model): Speech => {
      const speech = speeches.get(model) ?? createSpeech(settings.dialect, model, tools.length, createSystem)
      speeches.set(model, speech)
      return speech
    }
    const toolbox = createToolbox(observedTools(tools, telemetry))
    return { toolbox: mayHave ? { ...toolbox, mayHave, hasAny } : toolbox, speech: speechOf(models.decision), speechOf }
  }

  const mcp = parts.mcp && createMcpText(parts.mcp)
  const own = toolServices(tools, mcp?.mayHave)
  const { toolbox } = own
  return {
    store,
    clock,
    hosting,
    workspaces,
    hub: hub ?? createEventHub((error) => onProblem({ where: 'listener', error })),
    models,
    fallback: models.fallback && createFallback(models.fallback, clock),
    cheaper: cheaperModel(parts, settings),
    budgetWatch: watchBudgets(store.budgets, () => settings),
    namedModels: new Map(Object.entries(parts.models ?? {})),
    observed: (model) => telemetry?.model(model) ?? model,
    toolsFor: parts.toolsFor,
    toolbox,
    speech: own.speech,
    ...(own.speechOf && { speechOf: own.speechOf }),
    changing: mcp && mcpToolsIn(mcp, tools, settings.dialect, (all, silent) => toolServices(all, mcp.mayHave, silent)),
    settings,
    hooks: createHooks(parts.hooks ?? [], { timeoutMs: HOOK_TIMEOUT_MS, onError: (where, error) => onProblem({ where, error }) }),
    hooksDelayCompletion: delayCompletion(parts.hooks ?? []),
    announce: createAnnouncer(parts, { timeoutMs: ANNOUNCE_TIMEOUT_MS, onError: (error) => onProblem({ where: 'announce', error }) }),
    approve,
    createRenderers: () => createRenderers(count, toolbox.has),
    onEntry: observedEntries({ onEntry, onProblem }, telemetry),
    onProblem,
    onClosed: () => telemetry?.close(),
  }
}

/** The model for decisions that exceed a budget with the usual model. */
function cheaperModel({ models }: AgentParts, { budgets }: AgentSettings): Model | undefined {
  if (budgets.whenReached !== 'cheaper-model') return undefined
  const name = budgets.cheaperModel ?? ''
  const model = models?.[name]
  if (model) return model
  throw new InvalidOption(
    'settings',
    'budgets.cheaperModel',
    `\`budgets.cheaperModel\` must be the name of one of \`models\`, not "${name}"`,
  )
}

/** The model of each role. A role without its own model uses the decision model. */
function modelsByRole(model: AgentParts['model']): Models {
  if ('stream' in model) return { decision: model, gate: model, compaction: model }
  return { gate: model.decision, compaction: model.decision, ...model }
}
