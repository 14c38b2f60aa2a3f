import { Failure } from '../../core/failure.ts'
import { readConversationKey } from '../../core/scope.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import { roughTokens } from '../../core/tokens.ts'
import type { ModelRole } from '../../ports/model.ts'
import type { ConversationStore } from '../../ports/store.ts'
import type { AgentParts } from '../agent.ts'
import { createBill } from '../bill.ts'
import { builtInTools } from '../built-in-tools.ts'
import { createHooks } from '../hooks.ts'
import { createInbox } from '../inbox.ts'
import { openLedger } from '../ledger.ts'
import { systemPrint, systemText } from '../prompt/system.ts'
import { recordsOf } from '../records.ts'
import { agentSettings } from '../settings.ts'
import { createToolbox } from '../toolbox.ts'
import type { Turn } from '../turn.ts'
import { createView, type View } from '../view.ts'
import { type Conductor, createConductor } from './conductor.ts'
import { promptDiffers } from './prompt.ts'
import { recordedWorkspace } from './recorded-workspace.ts'
import { recordedInbox, recordedModel, recordedTool } from './recorded-world.ts'
import { type Recording, withShown } from './recording.ts'

/** What an agent is made of, without what touches the world: that is on record. */
export interface ReplayParts extends Pick<AgentParts, 'tools' | 'builtIn' | 'instructions' | 'customisation' | 'settings' | 'tokens'> {
  /** Of the model that decided; no limit when not said. */
  readonly window?: number
  /** Do not compare the system text. */
  readonly anySystem?: true
}

/** A turn as the agent would run it, in a world that is the record. */
export interface Stage {
  readonly turn: Omit<Turn, 'news'>
  readonly conductor: Conductor
  rounds(): number
}

/** What a replay may read: the journal, and what references in it stand for. */
export type RecordedStore = Pick<ConversationStore, 'readJournal' | 'findByPath' | 'findByTurn' | 'findByCall' | 'readTurnLog' | 'blobs'>

export function setUp(recorded: RecordedStore, conversationId: string, recording: Recording, parts: ReplayParts): Stage {
  const { turnId, startSeq } = recording
  const constitution = constitutionOf(parts)
  const { settings, count, tools } = constitution
  const bill = createBill(settings.priceOf)
  const stop = new AbortController()
  const halt = () => stop.abort(new DOMException('The record ends here.', 'AbortError'))
  const view = createView(count)
  const watch = watchPrompts(view, recording, parts, () => ledger.timeline)
  const conductor = createConductor(recording.entries, watch.check)
  const timeline = conductor.opening().reduce((value, { change }) => applyChange(value, change), recording.start)
  const claim = { conversationId, ownerId: 'replay', epoch: 0, expiresAt: '' }
  const store = { append: async (_claim: unknown, changes: Parameters<Conductor['append']>[0]) => conductor.append(changes) }
  const ledger = openLedger({ timeline, lastSeq: startSeq }, claim, store, ({ change }) => bill.take(change))
  const inbox = recordedInbox(createInbox(ledger, turnId, stop.signal), conductor)
  const model = (role: ModelRole) => recordedModel(role, conductor, inbox, parts.window, halt)
  const turn: Omit<Turn, 'news'> = {
    ...constitution,
    ...nothingOutside,
    ...recordedWorkspace(recording),
    records: recordsOf(recorded, conversationId),
    blobs: { get: (sha256) => recorded.blobs.get(sha256), has: (sha256) => recorded.blobs.has(sha256), put: outside, remove: outside },
    conversationId,
    scope: readConversationKey(conversationId).scope,
    turnId,
    ledger,
    inbox,
    models: { decision: model('decision'), gate: model('gate'), compaction: model('compaction') },
    toolbox: createToolbox(tools.map((tool) => recordedTool(tool, conductor, inbox, halt))),
    view: watch.view,
    bill,
    clock: { now: conductor.now, randomHex: (digits) => conductor.callId().slice(0, digits).padStart(digits, '0') },
    signal: stop.signal,
  }
  return { turn, conductor, rounds: watch.rounds }
}

function constitutionOf({ tools: own = [], builtIn, tokens: count = roughTokens, instructions, customisation, ...parts }: ReplayParts) {
  const settings = agentSettings(parts.settings)
  const tools = [...builtInTools({ ...builtIn, contextTokens: settings.contextTokens }), ...own]
  const said = { ...(instructions !== undefined && { instructions }), ...(customisation !== undefined && { customisation }) }
  const system = systemText({ tools, ...said })
  return {
    tools,
    count,
    system,
    systemTokens: () => count(system),
    systemPrint: systemPrint(system, tools),
    settings: { ...settings, retryDelaysMs: [], recordPrompts: true }, // what was waited for is on record
  }
}

/** Sees every prompt before it is sent, and compares it when its answer is entered. */
function watchPrompts(view: View, recording: Recording, { anySystem }: ReplayParts, timeline: () => Turn['ledger']['timeline']) {
  type Prints = Parameters<View['printer']['print']>[0]
  let { shown } = recording
  let prints: Prints | undefined
  let rounds = 0
  const check: Parameters<typeof createConductor>[1] = (now, { seq, change }) => {
    if (change.type !== 'response.received' || !now.prompt || !prints) return undefined
    rounds++
    const present = { record: now.prompt, prints, slice: view.renderer.slice(timeline(), recording.turnId) }
    const found = promptDiffers(present, change, seq, shown, { anySystem: anySystem === true })
    shown = withShown(shown, change.prompt?.shown)
    return found
  }
  const print: View['printer']['print'] = (looked, before, options) => {
    prints = looked
    return view.printer.print(looked, before, options)
  }
  return { check, view: { ...view, printer: { print } }, rounds: () => rounds }
}

/** Nothing but the record is asked for anything. */
const outside = (): never => {
  throw new Failure('store.closed', 'a replay has no world outside its record')
}
const nothingOutside = {
  audience: { isPresent: () => false, whenJoined: () => {} },
  hooks: createHooks([], { timeoutMs: 0, onError: () => {} }),
  emit: () => {},
  onProblem: () => {},
  entries: async () => ({ changes: [], events: new Map() }),
  takenUp: false,
  calls: undefined,
  readBlob: outside,
  hosting: undefined,
}
