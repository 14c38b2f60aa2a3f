import { checkCall } from '../../core/decision/check-call.ts'
import { hasReference } from '../../core/decision/signature.ts'
import type { JsonObject } from '../../core/json.ts'
import { applyChange } from '../../core/timeline/apply.ts'
import type { ResponseReceived } from '../../core/timeline/change.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { ConversationInfo } from '../../ports/store/list.ts'
import type { ConversationStore } from '../../ports/store.ts'
import { waitingList } from '../archive/waiting-list.ts'
import { createRenderers, type Renderers } from '../conversation/renderers.ts'
import { createToolbox, type Toolbox } from '../tools.ts'
import { compareShownBlocks } from './compare.ts'
import type { Divergence, PromptDivergence } from './divergence.ts'
import { recordedTools } from './recorded-tools.ts'
import { type RecordedPrompt, type Recording, recordingsIn, withShownBlocks } from './recording.ts'
import { runReplay } from './replay.ts'
import { definitionOf, type RecordedStore, type ReplayParts, setUpReplay } from './setup.ts'

/** What the current agent would do differently in a stored conversation. If there are no findings, the conversation continues as before. */
export interface RehearsedConversation {
  readonly conversationId: string
  /** Whether a turn of the conversation is open. */
  readonly open: boolean
  /**
   * The differences between the last prompt of the conversation and the same prompt as the current agent makes it. The next prompt begins
   * with the prompt of the current agent, so the provider can read it from its cache only up to the first difference.
   */
  readonly prompt: readonly PromptDivergence[]
  /** The first point at which the current agent takes another step in the last turn, or writes another block. */
  readonly divergence?: Divergence
  /** The calls that wait for an approval and that the current agent can not run. */
  readonly unfitWaits: readonly UnfitWait[]
  /**
   * The tokens that the provider can not read from its cache because of the first difference in `prompt`, if the cache has not expired. Set
   * if `prompt` has a difference.
   */
  readonly lost?: LostCache
  /** Why the conversation could not be checked. */
  readonly unchecked?: string
}

/** A call that waits for an approval, and why the current tools of the agent can not run it. */
export interface UnfitWait {
  readonly callId: string
  readonly toolId: string
  readonly problem: string
}

/** The part of the last prompt that the provider has to process again. `tokens` is an estimate. */
export interface LostCache {
  readonly tokens: number
  readonly model: string
  /** When the model was asked for the last time, and how many seconds its provider keeps the cache. Null when the cache does not expire. */
  readonly askedAt: string
  readonly ttlSeconds: number | null
}

/** The functions of a store that a rehearsal calls. All of them only read. */
export type RehearsedStore = RecordedStore & Pick<ConversationStore, 'list' | 'head'>

/**
 * Compares every conversation of a store with what the current agent would do. No model is called, no tool runs and nothing is written.
 * Yields one result for each conversation, in the order of the list.
 */
export async function* rehearse(
  store: RehearsedStore,
  parts: ReplayParts,
  only: { readonly open?: true } = {},
): AsyncGenerator<RehearsedConversation> {
  const agent: PresentAgent = { parts: { ...parts, anySystem: true }, define: definitionOf(parts), anySystem: parts.anySystem === true }
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 100, ...(cursor !== undefined && { cursor }) })
    for (const info of page.conversations) {
      if (only.open && info.openTurn === null) continue
      yield await rehearseConversation(store, info, agent)
    }
    cursor = page.next
  } while (cursor !== undefined)
}

/** The agent that is rehearsed. A replay of a turn ignores the system text, which is compared separately. */
interface PresentAgent {
  readonly parts: ReplayParts
  readonly define: ReturnType<typeof definitionOf>
  readonly anySystem: boolean
}

async function rehearseConversation(store: RehearsedStore, info: ConversationInfo, agent: PresentAgent): Promise<RehearsedConversation> {
  const { conversationId, openTurn } = info
  let last: Recording | undefined
  let asked: Recording | undefined // the last turn in which the model was asked
  for await (const recording of recordingsIn(store.readJournal(conversationId, { after: 0 }))) {
    last = recording
    if (lastDecision(recording)) asked = recording
  }
  const unfit = last ? await unfitWaits(store, info, agent, last) : []
  const common = { conversationId, open: openTurn !== null, prompt: [], unfitWaits: unfit }
  if (!last || !asked) return common
  if (asked.torn || last.torn) return { ...common, unchecked: 'the last turn was imported, or a part of its history was deleted' }
  const compared = await compareLastPrompt(store, asked, agent)
  const divergence = await runReplay(await setUpReplay(store, conversationId, last, agent.parts, agent.define), last)
  return { ...common, ...compared, ...(divergence && { divergence }) }
}

function lastDecision({
  entries,
}: Recording): { readonly seq: number; readonly response: ResponseReceived; readonly index: number } | undefined {
  const index = entries.findLastIndex(({ change }) => change.type === 'response.received' && change.role === undefined)
  const entry = entries[index]
  return entry?.change.type === 'response.received' ? { seq: entry.seq, response: entry.change, index } : undefined
}

/** Renders the last prompt of a turn again, and compares its system text and its blocks with the hashes in the journal. */
async function compareLastPrompt(
  store: RehearsedStore,
  recording: Recording,
  { define, anySystem }: PresentAgent,
): Promise<Pick<RehearsedConversation, 'prompt' | 'lost'>> {
  const { seq, response, index } = lastDecision(recording) as NonNullable<ReturnType<typeof lastDecision>>
  const record = response.prompt
  if (!record?.shown) return { prompt: [] } // an older version of Daybook wrote the entry and recorded no prompt
  const { timeline, shown } = stateBefore(recording, index)
  const toolsOf = await recordedTools(store.blobs, recording)
  const { systemOf, tools, count } = define(toolsOf(timeline.frozen))
  const renderers = createRenderers(count, (id) => tools.some((tool) => tool.id === id))
  const present = { slice: renderers.renderer.slice(timeline, recording.turnId), fingerprints: renderers.renderer.fingerprints(timeline) }
  const system = systemOf(response.dialect ?? 'channels')
  const place = { kind: 'prompt', seq, iteration: response.iteration } as const
  const compareSystem = !anySystem && record.system !== undefined
  const block = compareShownBlocks(present, record, shown)
  const prompt: PromptDivergence[] = [
    ...(compareSystem && record.system?.tools !== system.fingerprint.tools ? [{ ...place, where: 'tools' as const }] : []),
    ...(compareSystem && record.system?.hash !== system.fingerprint.hash ? [{ ...place, where: 'system text' as const }] : []),
    ...(block ? [{ ...place, where: 'block' as const, ...block.difference }] : []),
  ]
  if (prompt.length === 0) return { prompt }
  const systemDiffers = prompt[0]?.where !== 'block'
  const from = systemDiffers ? 0 : (block?.position ?? 0)
  const tokens = (systemDiffers ? system.tokens() : 0) + cachedTokens(present.slice.shown, from, record.points?.at(-1), renderers)
  return { prompt, lost: { tokens, model: record.model ?? '', askedAt: response.ts, ttlSeconds: record.cache_ttl_seconds ?? null } }
}

/** The timeline for which the prompt at this index was rendered, and the blocks of the prompt before it. */
function stateBefore({ start, entries, shown }: Recording, index: number): { readonly timeline: Timeline; readonly shown: RecordedPrompt } {
  const before = entries.slice(0, index).map(({ change }) => change)
  return {
    timeline: before.reduce(applyChange, start),
    shown: before.reduce(
      (prompt, change) =>
        change.type === 'response.received' && change.role === undefined ? withShownBlocks(prompt, change.prompt?.shown) : prompt,
      shown,
    ),
  }
}

/** The tokens of the blocks from `from` to the last cache mark. Without marks, the provider caches all blocks. */
function cachedTokens(
  shown: ReturnType<Renderers['renderer']['slice']>['shown'],
  from: number,
  lastPoint: number | undefined,
  { estimator }: Renderers,
): number {
  const end = lastPoint === undefined ? shown.length : lastPoint + 1
  return shown.slice(from, end).reduce((sum, { parts }) => sum + estimator.parts(parts), 0)
}

/**
 * The calls that wait for an approval and that the current tools refuse. If the parameters contain a reference, the tool does not check
 * them.
 */
async function unfitWaits(
  store: RehearsedStore,
  { conversationId, waits }: ConversationInfo,
  { define }: PresentAgent,
  recording: Recording,
): Promise<readonly UnfitWait[]> {
  if (!waits.some(({ kind }) => kind === 'approval')) return []
  const toolsOf = await recordedTools(store.blobs, recording)
  const toolbox = createToolbox(define(toolsOf(recording.start.frozen)).tools)
  const page = await waitingList(store)({ conversationId })
  const unfit: UnfitWait[] = []
  for (const wait of page.waits) {
    const { callId, toolId, params = {} } = wait
    if (wait.kind !== 'approval' || wait.conversationId !== conversationId || callId === undefined || toolId === undefined) continue
    const problem = await problemOf(toolbox, toolId, params)
    if (problem !== undefined) unfit.push({ callId, toolId, problem })
  }
  return unfit
}

async function problemOf({ find, signatures }: Toolbox, toolId: string, params: JsonObject): Promise<string | undefined> {
  const checked = checkCall({ toolId, params, paramKeys: Object.keys(params) }, signatures)
  if (!checked.ok) return checked.violation.message
  return hasReference(checked.params) ? undefined : find(toolId)?.problemWith?.(checked.params)
}
