import { fileURLToPath } from 'node:url'
import type { ModelChoice } from '../adapters/model/model-from.ts'
import type { AgentParts } from '../agent/agent.ts'
import { agentDefinition } from '../agent/agent-options.ts'
import type { SettingsLayer } from '../config/config.ts'
import { checkOptions } from '../core/options.ts'
import type { Knowledge, KnowledgeSearch } from '../ports/knowledge.ts'
import type { McpConfiguration } from '../ports/mcp-configuration.ts'
import type { ModelRole } from '../ports/model.ts'
import type { FolderList, Skills } from '../ports/skills.ts'

/**
 * A model for each role. A role without a model uses the model of `decision`. The model `fallback` makes decisions while the provider of
 * `decision` can not answer.
 */
export type ModelChoices = { readonly decision: ModelChoice } & {
  readonly [R in Exclude<ModelRole, 'decision'> | 'fallback']?: ModelChoice
}

/** The definition of an agent: its model, its tools and its texts. It does not say where conversations are stored. */
export interface AgentDefinition
  extends Pick<
    AgentParts,
    | 'tools'
    | 'toolsFor'
    | 'approve'
    | 'builtIn'
    | 'instructions'
    | 'customisation'
    | 'settings'
    | 'tokens'
    | 'attachments'
    | 'hooks'
    | 'announce'
  > {
  /** A setting `model` from a flag, the environment or the configuration file takes precedence over this model. */
  readonly model?: ModelChoice | ModelChoices
  /**
   * Folders with skills, or an object that reads skills. `built-in` stands for the skills that are part of Daybook. A setting `skills` from
   * a flag, the environment or the configuration file takes precedence.
   */
  readonly skills?: FolderList | Skills
  /**
   * Folders with documents that the agent can search and read, or an object that reads and searches them. A setting `knowledge` from a
   * flag, the environment or the configuration file takes precedence.
   */
  readonly knowledge?: FolderList | (Knowledge & KnowledgeSearch)
  /** MCP servers, whose tools the agent can call. */
  readonly mcp?: McpConfiguration
  /** Models that a single run can choose by name. */
  readonly models?: Readonly<Record<string, ModelChoice>>
}

/**
 * Checks the definition of an agent and returns it. Every command can run a module that exports the definition as `agent` or as its
 * default: `daybook chat --agent ./agent.ts`. In code, pass it to `createAgent`.
 */
export function defineAgent<const Definition extends AgentDefinition>(definition: Definition): Definition {
  checkOptions('defineAgent', definition, agentDefinition)
  return definition
}

/** The folders as paths, because settings can not have URLs. */
const withPaths = (choice: FolderList | object): unknown =>
  Array.isArray(choice) ? (choice as FolderList).map((folder) => (folder instanceof URL ? fileURLToPath(folder) : folder)) : choice

/** The parts of a definition that flags, the environment and a configuration file can replace. */
export function definitionLayer(origin: string, { model, settings, skills, knowledge }: AgentDefinition): SettingsLayer {
  return {
    origin,
    values: {
      ...(model !== undefined && { model }),
      ...(skills !== undefined && { skills: withPaths(skills) }),
      ...(knowledge !== undefined && { knowledge: withPaths(knowledge) }),
      ...(settings?.dialect !== undefined && { dialect: settings.dialect }),
      ...(settings?.maxRounds !== undefined && { 'budget.rounds': settings.maxRounds }),
      ...(settings?.maxMoney !== undefined && { 'budget.money': settings.maxMoney }),
      ...(settings?.maxTurnTokens !== undefined && { 'budget.tokens': settings.maxTurnTokens }),
      ...Object.fromEntries(Object.entries(settings?.budgets ?? {}).map(([name, value]) => [`budgets.${name}`, value])),
    },
  }
}
