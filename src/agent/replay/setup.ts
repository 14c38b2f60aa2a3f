import { roughTokens } from '../../core/estimate/tokens.ts'
import { Failure } from '../../core/failure.ts'
import { parseConversationKey } from '../../core/scope.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import type { ModelRole } from '../../ports/model.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { AgentParts } from '../agent.ts'
import { recordsOf } from '../conversation/history.ts'
import { createInbox } from '../conversation/inbox.ts'
import { openLedger } from '../conversation/ledger.ts'
import { createRenderers, type Renderers } from '../conversation/renderers.ts'
import { createSpending } from '../conversation/spending.ts'
import { createHooks } from '../hooks.ts'
import { systemFingerprint, systemText } from '../prompts/texts.ts'
import { agentSettings } from '../settings.ts'
import { builtInTools, createToolbox } from '../tools.ts'
import type { Turn } from '../turn/turn.ts'
import { comparePrompt } from './compare.ts'
import { createPlayer, type Player } from './player.ts'
import { recordedInbox, recordedModel, recordedTool, recordedWorkspace } from './recorded-world.ts'
import { type Recording, withShownBlocks } from './recording.ts'

/** What an agent is made of, without what touches the world: that is on record. */
export interface ReplayParts extends Pick<AgentParts, 'tools' | 'builtIn' | 'instructions' | 'customisation' | 'settings' | 'tokens'> {
  /** Of the model that decided; no limit when not said. */
  readonly window?: number
  /** Do not compare the system text. */
  readonly anySystem?: true
}

/** A turn as the agent would run it, in a world that is the record. */
export interface ReplaySetup {
  readonly turn: Omit<Turn, 'feedbacks'>
  readonly player: Player
  rounds(): number
}

/** What a replay may read: the journal, and what references in it stand for. */
export type RecordedStore = Pick<ConversationStore, 'readJournal' | 'findByPath' | 'findByTurn' | 'findByCall' | 'readTurnLog' | 'blobs'>

export function setUpReplay(recorded: RecordedStore, conversationId: string, recording: Recording, parts: ReplayParts): ReplaySetup {
  const { turnId, startSeq } = recording
  const constitution = agentDefinition(parts)
  const { settings, count, tools } = constitution
  const bill = createSpending(settings.priceOf)
  const stop = new AbortController()
  const halt = () => stop.abort(new DOMException('The record ends here.', 'AbortError'))
  const view = createRenderers(count)
  const watch = watchPrompts(view, recording, parts, () => ledger.timeline)
  const conductor = createPlayer(recording.entries, watch.check)
  const timeline = conductor.openingEvents().reduce((value, { change }) => applyChange(value, change), recording.start)
  const claim = { conversationId, ownerId: 'replay', epoch: 0, expiresAt: '' }
  const store = { append: async (_claim: unknown, changes: Parameters<Player['append']>[0]) => conductor.append(changes) }
  const ledger = openLedger({ timeline, lastSeq: startSeq }, claim, store, ({ change }) => bill.record(change))
  const inbox = recordedInbox(createInbox(ledger, turnId, stop.signal), conductor)
  const model = (role: ModelRole) => recordedModel(role, conductor, inbox, parts.window, halt)
  const turn: Omit<Turn, 'feedbacks'> = {
    ...constitution,
    ...noOutsideWorld,
    ...recordedWorkspace(recording),
    records: recordsOf(recorded, conversationId),
    blobs: {
      get: (sha256) => recorded.blobs.get(sha256),
      has: (sha256) => recorded.blobs.has(sha256),
      put: unavailable,
      remove: unavailable,
    },
    conversationId,
    scope: parseConversationKey(conversationId).scope,
    turnId,
    ledger,
    inbox,
    models: { decision: model('decision'), gate: model('gate'), compaction: model('compaction') },
    toolbox: createToolbox(tools.map((tool) => recordedTool(tool, conductor, inbox, halt))),
    renderers: watch.view,
    spending: bill,
    clock: { now: conductor.now, randomHex: (digits) => conductor.callId().slice(0, digits).padStart(digits, '0') },
    signal: stop.signal,
  }
  return { turn, player: conductor, rounds: watch.rounds }
}

function agentDefinition({ tools: own = [], builtIn, tokens: count = roughTokens, instructions, customisation, ...parts }: ReplayParts) {
  const settings = agentSettings(parts.settings)
  const tools = [...builtInTools({ ...builtIn, contextTokens: settings.contextTokens }), ...own]
  const said = { ...(instructions !== undefined && { instructions }), ...(customisation !== undefined && { customisation }) }
  const system = systemText({ tools, ...said })
  return {
    tools,
    count,
    system,
    systemTokens: () => count(system),
    systemFingerprint: systemFingerprint(system, tools),
    settings: { ...settings, retryDelaysMs: [], recordPrompts: true }, // what was waited for is on record
  }
}

/** Sees every prompt before it is sent, and compares it when its answer is entered. */
function watchPrompts(view: Renderers, recording: Recording, { anySystem }: ReplayParts, timeline: () => Turn['ledger']['timeline']) {
  type Prints = Parameters<Renderers['fingerprints']['record']>[0]
  let { shown } = recording
  let prints: Prints | undefined
  let rounds = 0
  const check: Parameters<typeof createPlayer>[1] = (now, { seq, change }) => {
    if (change.type !== 'response.received' || !now.prompt || !prints) return undefined
    rounds++
    const present = { record: now.prompt, prints, slice: view.renderer.slice(timeline(), recording.turnId) }
    const found = comparePrompt(present, change, seq, shown, { anySystem: anySystem === true })
    shown = withShownBlocks(shown, change.prompt?.shown)
    return found
  }
  const print: Renderers['fingerprints']['record'] = (looked, before, options) => {
    prints = looked
    return view.fingerprints.record(looked, before, options)
  }
  return { check, view: { ...view, printer: { record: print } }, rounds: () => rounds }
}

/** Nothing but the record is asked for anything. */
const unavailable = (): never => {
  throw new Failure('store.closed', 'a replay has no world outside its record')
}
const noOutsideWorld = {
  watchers: { any: () => false, onJoin: () => {} },
  hooks: createHooks([], { timeoutMs: 0, onError: () => {} }),
  emit: () => {},
  onProblem: () => {},
  entries: async () => ({ changes: [], events: new Map() }),
  resumed: false,
  callLog: undefined,
  readBlob: unavailable,
  hosting: undefined,
}
