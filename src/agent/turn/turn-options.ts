import { systemMessageBlock } from '../../core/block/index.ts'
import type { ToolSignatures } from '../../core/decision/signature.ts'
import { isObject } from '../../core/json.ts'
import { InvalidOption } from '../../core/options.ts'
import { systemMessagePath } from '../../core/path/build.ts'
import type { Scope } from '../../core/scope.ts'
import type { StandardSchemaV1 } from '../../core/standard-schema.ts'
import type { Change, StoredTurnOptions } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import { parseTurnOptions } from '../../core/timeline/parse-change.ts'
import { assignIds, hasPath } from '../../core/timeline/timeline.ts'
import type { Model } from '../../ports/model.ts'
import { askingFor, namesTool } from '../../tools/approval.ts'
import type { AgentContext, TurnServices } from '../agent-context.ts'
import type { ConversationContext } from '../conversation/context.ts'
import type { Toolbox } from '../tools.ts'
import { createOutputCheck, isStorable, type OutputCheck, outputSchema } from './output.ts'
import type { TurnStart } from './start.ts'
import type { Turn } from './turn.ts'

/**
 * Options of `run` and `send` for one turn. They apply to the turn that the message starts. If a running turn reads the message, they have
 * no effect.
 */
export interface TurnChoices {
  /**
   * The model for the decisions of this turn: a name from the option `models` of the agent, or a model. A model that is not in `models` can
   * not be stored. If the process dies, a turn with such a model continues with the agent's own model.
   */
  readonly model?: string | Model
  /** How many rounds this turn may have. */
  readonly maxRounds?: number
  /** Instructions for this turn, of at most 20,000 characters. They are at the end of each prompt, so the system text stays the same. */
  readonly instructions?: string
  /** The ids of the tools that can be called in this turn. The system text still lists all tools. */
  readonly tools?: readonly string[]
  /** The tools whose calls wait for the approval of a person in this turn: ids, or names such as `mail.*`. */
  readonly ask?: readonly string[]
  /**
   * The schema of the output: any Standard Schema that describes itself as JSON Schema, such as one of zod or arktype. The answer of the
   * turn is then JSON, and `output` of the result has the parsed value.
   */
  readonly output?: StandardSchemaV1
}

/** The longest `instructions` of a run. */
export const maxInstructions = 20_000

/** The options of a turn: the part that the journal stores, and the values that can not be stored. */
export interface TurnOptions {
  readonly stored: StoredTurnOptions
  readonly model?: Model
  readonly output?: StandardSchemaV1
}

/** Checks the names in the options of a run. Returns undefined if there are no options. */
export function turnOptions(
  where: string,
  { model, maxRounds, instructions, tools, ask, output }: TurnChoices,
  { namedModels, toolbox }: Pick<AgentContext, 'namedModels' | 'toolbox'>,
): TurnOptions | undefined {
  if ([model, maxRounds, instructions, tools, ask, output].every((choice) => choice === undefined)) return undefined
  for (const [index, id] of (tools ?? []).entries()) {
    if (!isKnown(toolbox, id))
      throw new InvalidOption(where, `tools[${index}]`, `\`tools[${index}]\` must be the id of a tool, not "${id}"`)
  }
  for (const [index, id] of (ask ?? []).entries()) {
    if (!id.endsWith('*') && !isKnown(toolbox, id))
      throw new InvalidOption(where, `ask[${index}]`, `\`ask[${index}]\` must be the id of a tool or a name such as "mail.*", not "${id}"`)
  }
  const name = typeof model === 'object' ? [...namedModels].find(([, named]) => named === model)?.[0] : model
  if (typeof model === 'string' && !namedModels.has(model)) throw unknownModel(where, model, [...namedModels.keys()])
  const schema = output && outputSchema(where, output)
  const unstored = [...(model !== undefined && name === undefined ? ['model'] : []), ...(schema && !isStorable(schema) ? ['output'] : [])]
  return {
    stored: {
      ...(name !== undefined && { model: name }),
      ...(maxRounds !== undefined && { max_rounds: maxRounds }),
      ...(instructions !== undefined && { instructions }),
      ...(tools && { tools: inOrder(tools, toolbox) }),
      ...(ask && { ask }),
      ...(schema && { output: schema }),
      ...(unstored.length > 0 && { unstored }),
    },
    ...(typeof model === 'object' && { model }),
    ...(output && { output }),
  }
}

function unknownModel(where: string, name: string, known: readonly string[]): InvalidOption {
  const names = known.length === 0 ? 'The agent has no option `models`' : `Known are ${known.map((each) => `"${each}"`).join(', ')}`
  return new InvalidOption(where, 'model', `there is no model with the name "${name}". ${names}`)
}

/** The ids in the order in which the system text lists the tools, so that the same choice always gives the same text. */
const inOrder = (ids: readonly string[], { tools, has, mayHave }: Toolbox): readonly string[] => {
  const listed = tools.flatMap(({ id }) => (ids.includes(id) ? [id] : []))
  return mayHave ? [...listed, ...new Set(ids.filter((id) => !has(id) && mayHave(id)).sort())] : listed
}

const isKnown = ({ has, mayHave }: Toolbox, id: string): boolean => has(id) || mayHave?.(id) === true

/** The options of a followup that waited in the inbox. They were stored with it. */
export function optionsIn({ payload }: InboxEvent): TurnOptions | undefined {
  const stored = isObject(payload) ? parseTurnOptions(payload.options) : undefined
  return stored && { stored }
}

/** What `toolsFor` of the application gets about a turn that is about to start. */
export interface TurnToOffer {
  readonly conversationId: string
  /** The tenant, project and user to whom the conversation belongs. */
  readonly scope: Scope
  readonly turnId: string
  readonly text: string
}

/** Chooses the tools that can be called in a turn. If it returns undefined, all tools can be called. */
export type ToolsFor = (turn: TurnToOffer) => readonly string[] | undefined | Promise<readonly string[] | undefined>

const TOOLS_FOR_TIMEOUT_MS = 10_000

/**
 * The options of a turn with the tools that `toolsFor` chooses. If `toolsFor` fails, the turn has no tools, because the application may use
 * it to withhold tools from a user.
 */
async function withToolsFor(
  { toolsFor, toolbox, onProblem }: AgentContext,
  turn: TurnToOffer,
  options: TurnOptions | undefined,
): Promise<TurnOptions | undefined> {
  if (!toolsFor) return options
  const given = options?.stored.tools
  const chosen = await withinTime(() => toolsFor(turn)).then(checkedIds, (error: unknown) => {
    onProblem({ where: 'toolsFor', error })
    return []
  })
  if (chosen === undefined) return options
  const tools = inOrder(given ? chosen.filter((id) => given.includes(id)) : chosen, toolbox)
  return { ...options, stored: { ...options?.stored, tools } }

  function checkedIds(ids: readonly string[] | undefined): readonly string[] | undefined {
    if (ids === undefined || (Array.isArray(ids) && ids.every((id) => isKnown(toolbox, id)))) return ids
    onProblem({ where: 'toolsFor', error: new TypeError('toolsFor must return a list of ids of tools, or undefined') })
    return Array.isArray(ids) ? ids : []
  }
}

async function withinTime<T>(work: () => T | Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`toolsFor took longer than ${TOOLS_FOR_TIMEOUT_MS} ms`)), TOOLS_FOR_TIMEOUT_MS)
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** The objects that a turn uses, changed by its options. A turn without options uses those of the agent. */
export function servicesFor(
  agent: TurnServices,
  options: TurnOptions | undefined,
  modelOf: (name: string) => Model | undefined,
): TurnServices {
  if (!options) return agent
  const { model: name, max_rounds: maxRounds, tools, ask } = options.stored
  const model = options.model ?? (name === undefined ? undefined : modelOf(name))
  const output = outputCheckOf(options)
  return {
    ...withModel(agent, model),
    ...(model && agent.observed && { models: { ...agent.models, decision: agent.observed(model) } }),
    ...(maxRounds !== undefined && { settings: { ...agent.settings, maxRounds } }),
    ...((tools || ask) && { toolbox: offering(agent.toolbox, tools, ask) }),
    ...(ask && { approve: askingFor(ask, agent.approve) }),
    ...(output && { output }),
    options: options.stored,
  }
}

/** The objects that a turn uses, with another decision model, its dialect and its system text. */
export function withModel(agent: TurnServices, model: Model | undefined): TurnServices {
  const speech = model && agent.speechOf?.(model)
  return {
    ...agent,
    ...(speech && { speech }),
    ...(model && { models: { ...agent.models, decision: model } }),
  }
}

/** Checks the output of a turn. Undefined when the turn has no schema, or has lost it because it could not be stored. */
function outputCheckOf({ stored, output: live }: TurnOptions): OutputCheck | undefined {
  if (!stored.output || (!live && stored.unstored?.includes('output'))) return undefined
  return createOutputCheck(stored.output, live)
}

/**
 * A toolbox that offers only some of its tools. `find` and `has` still know all of them, because the system text lists all of them. A
 * program can not wait for a person, so it may not call the tools of `ask`.
 */
function offering(toolbox: Toolbox, ids: readonly string[] | undefined, ask: readonly string[] = []): Toolbox {
  const offersToPrograms = (id: string) => (ids?.includes(id) ?? true) && !namesTool(ask, id)
  if (!ids) return { ...toolbox, offersToPrograms }
  const offers = (id: string) => ids.includes(id)
  const { find, ids: requestedIds } = toolbox.signatures
  const signatures: ToolSignatures = {
    ids,
    requestedIds,
    find(id) {
      const signature = find(id)
      return signature && !offers(signature.id) ? { ...signature, notOffered: true } : signature
    },
  }
  return { ...toolbox, signatures, offers, offersToPrograms }
}

/** The options of a turn that is about to run. A resumed turn has those that were stored when it was opened. */
export function optionsForTurn(
  { agent, conversationId, scope, ledger }: ConversationContext & { readonly agent: AgentContext },
  turnId: string,
  start: TurnStart,
): TurnOptions | undefined | Promise<TurnOptions | undefined> {
  if (start.kind === 'unfinished') {
    const stored = ledger.timeline.openTurn?.options
    return stored && { stored }
  }
  const { text, options } = start.input
  return agent.toolsFor ? withToolsFor(agent, { conversationId, turnId, scope, text }, options) : options
}

export const withOptions = (start: TurnStart, options: TurnOptions | undefined): TurnStart =>
  start.kind === 'message' && options ? { ...start, input: { ...start.input, options } } : start

const LOST_OPTIONS = 'lost_options'

/**
 * Tells the model and the operator which options a resumed turn has lost: options that could not be stored, and a model that this agent
 * does not know by its name.
 */
export async function reportLostOptions(
  { turnId, agent, conversation: { ledger } }: Turn,
  { unstored = [], model }: StoredTurnOptions,
  namedModels: ReadonlyMap<string, Model>,
): Promise<void> {
  const lost = [...unstored, ...(model !== undefined && !namedModels.has(model) ? ['model'] : [])]
  if (lost.length === 0 || hasPath(ledger.timeline, systemMessagePath(turnId, LOST_OPTIONS))) return
  const text = `The process that ran this turn ended, and these options of the turn ended with it: ${lost.join(', ')}. The turn goes on with the usual ones.`
  agent.onProblem({ where: 'options', error: new Error(text) })
  const drafts = [systemMessageBlock(turnId, agent.clock.now(), { key: LOST_OPTIONS, text, kind: LOST_OPTIONS })]
  await ledger.commit((timeline) => [{ type: 'blocks.appended', blocks: assignIds(timeline, drafts) }])
}

/**
 * Whether a change tells which options a resumed turn has lost. A replay does not make this change, because in a replay no process dies.
 */
export const isAboutLostOptions = (change: Change): boolean =>
  change.type === 'blocks.appended' && change.blocks.every(({ type, meta }) => type === 'system.message' && meta?.kind === LOST_OPTIONS)
