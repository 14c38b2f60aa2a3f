import { contextLimit } from '../../core/estimate/estimate.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import { Failure } from '../../core/failure.ts'
import type { Dialect } from '../../core/model-event.ts'
import type { Fingerprints } from '../../core/render/runs.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import type { FrozenTexts } from '../../core/timeline/change.ts'
import type { InboxEvent } from '../../core/timeline/inbox-event.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { BlobStore } from '../../ports/blobs.ts'
import type { ModelRole } from '../../ports/model.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import { listedSkills, toolLookup, usableSkills } from '../../tools/skill-catalog.ts'
import type { AgentParts } from '../agent.ts'
import type { ToolServices, TurnServices } from '../agent-context.ts'
import type { ConversationContext } from '../conversation/context.ts'
import { recordsOf } from '../conversation/history.ts'
import { createInbox } from '../conversation/inbox.ts'
import { openLedger } from '../conversation/ledger.ts'
import { createRenderers, type Renderers } from '../conversation/renderers.ts'
import { createSpending } from '../conversation/spending.ts'
import { createSystemPrompt, type SystemPrompt } from '../dialect.ts'
import { turnWithTools } from '../frozen/frozen-tools.ts'
import { type FrozenServerTools, fittingTools } from '../frozen/mcp-tools.ts'
import { createHooks } from '../hooks.ts'
import { agentSettings } from '../settings.ts'
import { allTools, builtInTools, createToolbox, execTools } from '../tools.ts'
import type { Turn } from '../turn/turn.ts'
import { servicesFor } from '../turn/turn-options.ts'
import { comparePrompt } from './compare.ts'
import { createPlayer, type Player } from './player.ts'
import { recordedTools } from './recorded-tools.ts'
import { recordedInbox, recordedModel, recordedTool, recordedWorkspace } from './recorded-world.ts'
import { type Recording, withShownBlocks } from './recording.ts'

/** The parts of an agent that a replay needs. The store, the models and other parts with effects are replaced by the recording. */
export interface ReplayParts
  extends Pick<AgentParts, 'tools' | 'builtIn' | 'sandbox' | 'instructions' | 'customisation' | 'settings' | 'tokens'> {
  /** Only `implementation` is read, for the announce. No workspace is opened. */
  readonly workspaces?: Pick<Workspaces, 'implementation'>
  /** The context window of the recorded decision model, in tokens. Default: unlimited. */
  readonly window?: number
  /**
   * If set, the list of tools and the system text are not compared. A difference in them would hide all later differences, because a replay
   * ends at the first difference.
   */
  readonly anySystem?: true
}

/** A turn whose store, models, tools and inbox are replaced by a recording. */
export interface ReplaySetup {
  readonly turn: Turn
  readonly player: Player
  /** The turn as the next process resumed it, if the process died at this point of the recording. Otherwise undefined. */
  resumed(): Turn | undefined
  rounds(): number
}

/** The functions of a store that a replay calls. */
export type RecordedStore = Pick<ConversationStore, 'readJournal' | 'findByPath' | 'findByTurn' | 'findByCall' | 'readTurnLog' | 'blobs'>

export async function setUpReplay(
  recorded: RecordedStore,
  conversationId: string,
  recording: Recording,
  parts: ReplayParts,
  define = definitionOf(parts),
): Promise<ReplaySetup> {
  const { turnId, startSeq } = recording
  const toolsOf = await recordedTools(recorded.blobs, recording)
  const { settings, count, tools } = define()
  const unpriced = wasUnpriced(recording) // the recording says whether a price was unknown, because `priceOf` may know the price now
  const spending = {
    ...createSpending(settings.priceOf),
    hasPrice: () => !unpriced || hasDecision(recording),
    isUnpriced: () => unpriced,
  }
  const prompts = comparePrompts(
    createRenderers(count, (id) => tools.some((tool) => tool.id === id)),
    recording,
    parts,
    () => current.turn.conversation.ledger.timeline,
  )
  const player = createPlayer(recording, prompts.compare)
  let current = openTurn(recording.start, startSeq)
  return {
    turn: current.turn,
    player,
    resumed() {
      if (!current.died()) return undefined
      const { timeline, lastSeq } = current.turn.conversation.ledger
      current = openTurn(timeline, lastSeq)
      return current.turn
    },
    rounds: prompts.rounds,
  }

  /** Opens the turn in the same way as a new process would. */
  function openTurn(saved: Timeline, lastSeq: number): { readonly turn: Turn; died(): boolean } {
    const stop = new AbortController()
    let died = false
    const halt = () => stop.abort(new DOMException('The recording ends here.', 'AbortError'))
    const die = () => {
      died = true
      halt()
    }
    const timeline = player.openingEvents().reduce((value, { change }) => applyChange(value, change), saved)
    const claim = { conversationId, ownerId: 'replay', epoch: 0, expiresAt: '', found: { epoch: 0, lastSeq, offers: 0 } }
    const store = {
      async append(_claim: unknown, changes: Parameters<Player['append']>[0]) {
        if (!player.diedBefore(changes)) return player.append(changes)
        die()
        throw stop.signal.reason
      },
    }
    const ledger = openLedger({ timeline, lastSeq }, claim, store, ({ change }) => {
      if (change.type === 'response.received') spending.uncounted.push(change)
    })
    const events = createInbox(ledger, turnId, stop.signal)
    const inbox = recordedInbox(events, player)
    const model = (role: ModelRole) => recordedModel(role, player, inbox, parts.window, { halt, die, endTime: () => events.limitTime(0) })
    /** The objects that depend on the list of tools that the turn has frozen. */
    const withTools = (frozen: FrozenTexts | undefined): ToolServices => {
      const { tools, systemOf } = define(toolsOf(frozen))
      return {
        toolbox: createToolbox(tools.map((tool) => recordedTool(tool, player, inbox, halt))),
        // A turn that another process has resumed may have responses of both dialects.
        speech: {
          get dialect() {
            return player.nextDialect()
          },
          get system() {
            return systemOf(player.nextDialect())
          },
          speakChannels: () => false,
        },
      }
    }
    const blobs = readOnlyBlobs(recorded.blobs)
    const servicesOf = (tools: ToolServices): TurnServices => ({
      models: { decision: model('decision'), gate: model('gate'), compaction: model('compaction') },
      ...tools,
      settings,
      hooks: createHooks([], { timeoutMs: 0, onError: () => {} }),
      hooksDelayCompletion: false,
      clock: { now: player.now, randomHex: (digits) => player.callId().slice(0, digits).padStart(digits, '0') },
      hosting: undefined,
      onProblem: () => {},
      store: { blobs },
      recordedTitle: player.recordedTitle(),
    })
    const options = recording.start.openTurn?.options
    const conversation: ConversationContext = {
      conversationId,
      scope: parseConversationKey(conversationId).scope,
      ledger,
      inbox,
      live: { emit: () => {}, hasWatchers: () => false, onJoin: () => {} },
      renderers: prompts.renderers,
      spending,
      budgets: {
        reserve: async (slot, _call, isWrapUp = false) => (slot === 'decision' ? player.reachedBudget(isWrapUp) : undefined),
        entryFor: () => undefined,
      },
      records: recordsOf(recorded, conversationId),
      blobs,
      entriesOfTurn: async () => ({ changes: player.played(), events: acceptedEvents(recording) }),
      signal: stop.signal,
      handOver: { requested: false },
    }
    const workspace = recordedWorkspace(recording, parts.workspaces?.implementation)
    const turn: Turn = turnWithTools(
      { turnId, conversation, workspace, times: { modelMs: 0, toolMs: 0 } },
      {
        services: withTools(saved.frozen),
        async changed() {
          const frozen = player.nextFrozen()
          return frozen && { frozen, services: withTools(frozen) }
        },
      },
      (tools) => ({
        ...servicesFor(servicesOf(tools), options && { stored: options }, () => undefined), // every model is replaced by the recording
        approve: undefined, // no person is asked again
        get hooksDelayCompletion() {
          // If a response is the next entry, the replay commits it alone, before its blocks. The comparison accepts this, whether the
          // recorded turn made one commit or two.
          return player.hasResponseNext()
        },
      }),
    )
    return { turn, died: () => died }
  }
}

/** The events that arrived before the turn and in it, by their ids. */
const acceptedEvents = ({ start, entries }: Recording): ReadonlyMap<string, InboxEvent> =>
  new Map(
    [...start.inbox, ...entries.flatMap(({ change }) => (change.type === 'event.accepted' ? [change.event] : []))].map((event) => [
      event.event_id,
      event,
    ]),
  )

/**
 * Whether the recorded turn ended because the price of a call was not known. If the price was unknown before the first call, the turn made
 * no call.
 */
const wasUnpriced = ({ entries }: Recording): boolean =>
  entries.some(({ change }) => change.type === 'turn.closed' && change.exit_reason === 'unpriced')

const hasDecision = ({ entries }: Recording): boolean =>
  entries.some(({ change }) => change.type === 'response.received' && change.role === undefined)

/**
 * Makes a function that returns the tools, the system text and the settings of the current agent. `ofServers` are the tools of MCP servers
 * that a turn has frozen. The definition without such tools is made once.
 */
export function definitionOf(parts: ReplayParts): (ofServers?: FrozenServerTools) => ReturnType<typeof agentDefinition> {
  let plain: ReturnType<typeof agentDefinition> | undefined
  return (ofServers) => {
    if (ofServers !== undefined && ofServers.tools.length + ofServers.silent.length > 0) return agentDefinition(parts, ofServers)
    plain ??= agentDefinition(parts)
    return plain
  }
}

function agentDefinition(
  { tools: own = [], builtIn, tokens: count = roughTokens, instructions, customisation, ...parts }: ReplayParts,
  ofServers: FrozenServerTools = { tools: [], silent: [] },
) {
  const settings = agentSettings(parts.settings)
  const contextTokens = contextLimit(settings, parts.window ?? Number.MAX_SAFE_INTEGER)
  const ofRuntime = builtInTools({ ...builtIn, contextTokens })
  // exec tools are never run in a replay, but the system text lists them
  const exec = execTools(parts.sandbox, [...ofRuntime, ...own], builtIn ?? {}, settings)
  const ofAgent = allTools('replay', [...ofRuntime, ...exec], own)
  const tools = [...ofAgent, ...fittingTools(ofServers.tools, ofAgent, settings.dialect)]
  const hasTool = toolLookup(() => tools, ofServers.silent)
  const texts = {
    ...(instructions !== undefined && { instructions }),
    ...(customisation !== undefined && { customisation }),
    skills: listedSkills(builtIn?.skills && usableSkills(builtIn.skills, hasTool), hasTool),
  }
  const systems = new Map<Dialect, SystemPrompt>()
  const systemOf = (dialect: Dialect): SystemPrompt => {
    const system = systems.get(dialect) ?? createSystemPrompt({ tools, dialect, ...texts }, count)
    systems.set(dialect, system)
    return system
  }
  return {
    tools,
    count,
    systemOf,
    // A replay neither retries nor waits for a provider, because the journal records only the attempt that got a response or ended the
    // turn.
    settings: { ...settings, retryDelaysMs: [], providerWaitSeconds: 0, recordPrompts: true },
  }
}

/** Stores the fingerprints of each prompt. When the response is committed, the prompt is compared with the recorded prompt. */
function comparePrompts(renderers: Renderers, recording: Recording, { anySystem }: ReplayParts, timeline: () => Timeline) {
  let { shown } = recording
  let fingerprints: Fingerprints | undefined
  let rounds = 0
  const compare: Parameters<typeof createPlayer>[1] = (response, { seq, change }) => {
    if (change.type !== 'response.received' || !response.prompt || !fingerprints) return undefined
    rounds++
    const present = { record: response.prompt, fingerprints, slice: renderers.renderer.slice(timeline(), recording.turnId) }
    const divergence = comparePrompt(present, change, seq, shown, { anySystem: anySystem === true })
    shown = withShownBlocks(shown, change.prompt?.shown)
    return divergence
  }
  const record: Renderers['fingerprints']['record'] = (present, before, options) => {
    fingerprints = present
    return renderers.fingerprints.record(present, before, options)
  }
  const intercepted: Renderers = { ...renderers, fingerprints: { record } }
  return { compare, renderers: intercepted, rounds: () => rounds }
}

const readOnlyBlobs = (blobs: BlobStore): BlobStore => ({
  get: (sha256) => blobs.get(sha256),
  stream: (blob, range) => blobs.stream(blob, range),
  has: (sha256) => blobs.has(sha256),
  put: unavailable,
  putStream: unavailable,
  remove: unavailable,
})

const unavailable = (): never => {
  throw new Failure('store.closed', 'a replay can not store or remove blobs')
}
