import {
  callback,
  expects,
  filledText,
  flag,
  group,
  listOf,
  numberFrom,
  type OptionRule,
  type OptionRules,
  objectWith,
  oneOf,
  optional,
  text,
  wholeNumberFrom,
} from '../core/options.ts'
import { mcpRule } from '../ports/mcp-configuration.ts'
import type { AttachmentPolicy } from '../tools/attachments/policy.ts'
import { type AttachmentLimits, defaultAttachmentLimits } from '../tools/attachments/upload.ts'
import { parameterList } from '../tools/define.ts'
import type { AgentParts } from './agent.ts'
import type { Models } from './agent-context.ts'
import type { HookFunctions } from './hooks.ts'
import type { ReplayParts } from './replay/setup.ts'
import { settingsRule } from './settings.ts'
import { builtInIds, builtInNamespaces } from './tools.ts'

// The rules for the options that callers pass to createAgent, createAgentFrom, openStore and replay. If an option has no rule, the compiler
// reports an error.

/** A model that implements `Model` of ports/model.ts. */
const modelRule = group('a model', { stream: callback, name: text, window: numberFrom(1) }, 'other names allowed')

/** The rule for an option that is one model or an object with a model for each role. `isModel` tells whether a given object is a model. */
const modelOrRoles =
  (expected: OptionRule, isModel: (value: object) => boolean, model: OptionRule): OptionRule =>
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return expected(value)
    const roles: OptionRules<Models> = {
      decision: model,
      gate: optional(model),
      compaction: optional(model),
      fallback: optional(model),
    }
    return isModel(value) ? model(value) : group('models', roles)(value)
  }

const tool = group(
  'a tool made by `defineTool`',
  {
    id: text,
    description: text,
    parameters: parameterList,
    order: oneOf('hard', 'soft'),
    strategy: oneOf('exploration', 'exploitation', 'neutral'),
    constraints: listOf('texts', text),
    run: callback,
  },
  'other names allowed',
)

const hooks: OptionRules<HookFunctions> = {
  onBeforeCompaction: optional(callback),
  onAfterCompaction: optional(callback),
  saveSummary: optional(callback),
  onExternalEvent: optional(callback),
  onBeforeCompletion: optional(callback),
  onAfterCompletion: optional(callback),
  onFlushCompleted: optional(callback),
}

const rendererRule = objectWith('an object that makes documents, or false', 'mentions', 'render')

const builtInTool = expects(
  `the id of a built-in tool (${[...builtInIds, ...builtInNamespaces].join(', ')})`,
  (value) => builtInIds.includes(value as string) || builtInNamespaces.includes(value as string),
)

const builtIn: OptionRules<Omit<NonNullable<AgentParts['builtIn']>, never>> = {
  tools: optional((value) => (value === false ? undefined : listOf('ids of built-in tools, or false', builtInTool)(value))),
  memory: optional((value) => (value === false ? undefined : objectWith('an object with `search`, or false', 'search')(value))),
  knowledgeSearch: optional(objectWith('an object with `search`', 'search')),
  knowledge: optional(objectWith('an object with `read`', 'read')),
  skills: optional(objectWith('an object with `read`', 'read')),
  rendering: optional((value) => (value === false ? undefined : rendererRule(value))),
}

const attachmentLimits = Object.fromEntries(
  Object.keys(defaultAttachmentLimits).map((name) => [name, optional(numberFrom(0))]),
) as OptionRules<AttachmentLimits>

const attachments: OptionRules<AttachmentPolicy> = {
  limits: optional(group('an object with limits', attachmentLimits)),
  scan: optional(callback),
  unscanned: optional(oneOf('refuse', 'accept')),
  summarise: optional(callback),
}

const verdicts = oneOf('allow', 'ask', 'deny')

/** A function, or an object with a verdict for each tool. */
const approvalRule: OptionRule = (value) => {
  if (typeof value === 'function') return undefined
  const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : undefined
  if (names === undefined) return callback(value)
  return group('an object with a verdict for each tool', Object.fromEntries(names.map((name) => [name, verdicts])))(value)
}

/** The options that define what the agent does. `createAgentFrom` and `replay` both accept them. */
const definition: OptionRules<
  Pick<AgentParts, 'tools' | 'approve' | 'builtIn' | 'sandbox' | 'instructions' | 'customisation' | 'settings' | 'tokens'>
> = {
  tools: optional(listOf('tools', tool)),
  approve: optional(approvalRule),
  builtIn: optional(group(`an object with the fields ${Object.keys(builtIn).join(', ')}, all of them optional`, builtIn)),
  sandbox: optional(objectWith('an object with `run`, `languages` and `limits`', 'run')),
  instructions: optional(text),
  customisation: optional(text),
  settings: optional(settingsRule),
  tokens: optional(callback),
}

const toolsFor = optional(callback)
const namedModels = (model: OptionRule): OptionRule =>
  optional((value) => {
    const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
    return group('an object with models by name', Object.fromEntries(names.map((name) => [name, model])))(value)
  })

const storeRule = objectWith('an open store, as `openStore` gives it', 'claim', 'append', 'loadVisible', 'readJournal', 'head', 'list')
const clockRule = objectWith('an object with `now` and `randomHex`', 'now', 'randomHex')

/** The rules for the options of `createAgentFrom`. */
export const agentPartRules: OptionRules<AgentParts> = {
  model: modelOrRoles(modelRule, (value) => 'stream' in value, modelRule),
  models: namedModels(modelRule),
  toolsFor,
  mcp: optional(objectWith('an object with MCP servers', 'list', 'latest', 'call')),
  ...definition,
  store: storeRule,
  clock: clockRule,
  workspaces: optional(objectWith('an object with workspaces', 'open', 'remove')),
  hosting: optional(objectWith('an object that hosts files', 'host', 'resolve', 'read', 'remove')),
  documents: optional(objectWith('an object that reads documents', 'pdf')),
  attachments: optional(group('an object with rules for uploaded files', attachments)),
  hooks: optional(listOf('objects with hooks', group('an object with hooks', hooks))),
  announce: optional(callback),
  acceptOnly: optional(flag),
  bookkeeping: optional(objectWith('an object with `chargeOf` and `rulesOf`', 'chargeOf', 'rulesOf')),
  telemetry: optional(objectWith('an object with `observe`, such as `openTelemetry` of daybook/telemetry gives it', 'observe')),
  onEntry: optional(callback),
  onProblem: optional(callback),
}

/** Folders, or an object that the application has made. */
const foldersOr = (expected: string, ...methods: readonly string[]): OptionRule => {
  const folder = expects('the path of a folder', (value) => (typeof value === 'string' && value.trim() !== '') || value instanceof URL)
  const made = objectWith(expected, ...methods)
  return optional((value) => (Array.isArray(value) ? listOf('folders', folder)(value) : made(value)))
}

/**
 * Options of `createAgent` and `defineAgent` that name folders. `createAgentFrom` gets the objects that were opened in these folders, as
 * parts of `builtIn`.
 */
export const folderRules = {
  skills: foldersOr('a list of folders, or an object with `read`', 'read'),
  knowledge: foldersOr('a list of folders, or an object with `read` and `search`', 'read', 'search'),
}

const isOneModel = (value: object): boolean => 'stream' in value || 'doStream' in value
const modelName = expects('the name of a model, a model, or an object with a model for each role', (value) => typeof value === 'string')
const modelChoice: OptionRule = (value) => {
  if (typeof value !== 'object' || value === null) return modelName(value)
  return 'doStream' in value ? objectWith('a model of the AI SDK', 'doStream')(value) : modelRule(value)
}

/** The option of `createAgent` that chooses an embedding model. */
export const embeddingRules = {
  embedding: optional((value) =>
    typeof value === 'string' || (typeof value === 'object' && value !== null && 'doEmbed' in value)
      ? undefined
      : objectWith('the name of an embedding model, one of the AI SDK, or an object with `embed`', 'embed')(value),
  ),
}

/** The rules for the options of `createAgent`. Only `model` is required. It may also be the name of a model or a model of the AI SDK. */
export const agentOptions = group('an object with at least `model`', {
  ...agentPartRules,
  model: modelOrRoles(modelName, isOneModel, modelChoice),
  models: namedModels(modelChoice),
  mcp: optional(mcpRule),
  store: optional(storeRule),
  clock: optional(clockRule),
  ...folderRules,
  ...embeddingRules,
})

/** The rules for the options of `defineAgent`: everything that defines what the agent does, but not where it runs. */
export const agentDefinition = group('an object with parts of an agent', {
  ...definition,
  model: optional(modelOrRoles(modelName, isOneModel, modelChoice)),
  models: namedModels(modelChoice),
  mcp: optional(mcpRule),
  toolsFor,
  attachments: agentPartRules.attachments,
  hooks: agentPartRules.hooks,
  announce: agentPartRules.announce,
  ...folderRules,
})

/** The rules for the options of `openStore`. Other names are allowed, because the `daybook` command passes all its settings. */
export const storeOptions: OptionRule = (options) => {
  const inMemory = (options as { readonly store?: unknown } | null | undefined)?.store === 'memory'
  const rules = { data: inMemory ? optional(filledText) : filledText, store: optional(oneOf('sqlite', 'memory')) }
  return group("an object such as { data: '.daybook' }", rules, 'other names allowed')(options)
}

const replayParts: OptionRules<ReplayParts> = {
  ...definition,
  workspaces: optional(group('an object with `implementation`', { implementation: text }, 'other names allowed')),
  window: optional(wholeNumberFrom(1)),
  anySystem: optional(flag),
}

/** The rules for the arguments of `replay`. `parts` may also contain parts of an agent that a replay does not use. */
export const replayArguments = group('arguments', {
  store: objectWith('an open store, as `openStore` gives it', 'readJournal', 'findByPath', 'findByTurn', 'findByCall', 'readTurnLog'),
  conversationId: text,
  parts: group('an object with parts of the agent', replayParts, 'other names allowed'),
  turnId: optional(text),
})
