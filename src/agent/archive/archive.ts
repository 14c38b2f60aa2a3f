import type { PromptView } from '../../core/api/report.ts'
import type { Block } from '../../core/block/index.ts'
import { createEffectsReader, type Effect } from '../../core/effects/effects.ts'
import { roughTokens } from '../../core/estimate/tokens.ts'
import type { EntryEvent } from '../../core/event.ts'
import { Failure } from '../../core/failure.ts'
import { canonicalPath } from '../../core/path/logical.ts'
import { parseConversationKey, type Scope } from '../../core/scope.ts'
import type { SourceRow } from '../../core/sources/source.ts'
import { type Bundle, forkBundle, parseBundle } from '../../core/timeline/bundle.ts'
import type { Change } from '../../core/timeline/change.ts'
import { checkImportedBundle, nameInBundle } from '../../core/timeline/import-rules.ts'
import { type TimelinePayload, toPayload } from '../../core/timeline/payload.ts'
import type { Timeline } from '../../core/timeline/timeline.ts'
import type { TurnLog } from '../../core/timeline/turn-log.ts'
import { titleProblem } from '../../core/title.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Hosting } from '../../ports/hosting.ts'
import type { SharedLimits } from '../../ports/store/limits.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from '../../ports/store/list.ts'
import type { RetentionPolicy, RetentionReport } from '../../ports/store/retention.ts'
import type { WorkList } from '../../ports/store/work-list.ts'
import type { ClaimOptions, ConversationStore, Entry, Owner } from '../../ports/store.ts'
import type { Workspaces } from '../../ports/workspace.ts'
import type { Bookkeeping } from '../conversation/spending.ts'
import type { Deletion } from '../deletion.ts'
import type { Replayed } from '../replay/replay.ts'
import type { ReplayParts } from '../replay/setup.ts'
import { createScheduling, type Scheduling } from '../schedules.ts'
import { isReadOnlyTool } from '../tools.ts'
import { type Administration, createAdministration } from './administration.ts'
import { withOwnFiles, withVersions } from './bundle-files.ts'
import { type DownloadableFile, findFile } from './downloadable-file.ts'
import { createConversationSearch, type Recalled, type RecallQuery, recallFrom } from './search-conversations.ts'
import { readStoredResult, type StoredResult } from './stored-result.ts'
import type { RoundReport, UsageReport } from './usage-report.ts'
import { type WaitingPage, type WaitingQuery, waitingList } from './waiting-list.ts'

export type { ConversationInfo, DownloadableFile }

/**
 * Operations on stored conversations. A `key` is the id of a conversation in the store. The key contains the tenant, project and user. The
 * caller must have checked that the user may access the conversation.
 */
export interface Archive extends Scheduling, Administration {
  /**
   * Lists conversations, most recently active first. `search` finds conversations whose title, messages or answers contain the text. A page
   * of a search may have fewer conversations than the limit although `next` is set. The conversations of sub-agents are left out.
   */
  list(query: ListQuery): Promise<ConversationPage>
  /**
   * The data that `list` returns for this conversation. Throws `conversation.missing` when the conversation does not exist. The journal is
   * not read.
   */
  head(key: string): Promise<ConversationInfo>
  /** The work that waits in the store, and the conversations that are parked. */
  readonly work: Pick<WorkList, 'retry' | 'backlog' | 'summary'>
  /** Counts the actions of users, for limits that apply to all servers together. Undefined if only one machine can use the store. */
  readonly limits: SharedLimits | undefined
  create(key: string, title?: string): Promise<ConversationInfo>
  rename(key: string, title: string): Promise<ConversationInfo>
  /**
   * Deletes the conversation, its workspace and its hosted files. A turn that runs in this process is stopped first. Throws
   * `conversation.busy` while another process has the claim of the conversation. Even if a later step of the deletion fails, no reader
   * finds the conversation any more. In this case the next `delete`, `retain` or `recover` removes the remaining data.
   */
  delete(key: string): Promise<void>
  /**
   * Removes the conversations and entries that the policy selects, with their workspaces and hosted files. Also finishes deletions that
   * failed.
   */
  retain(policy: RetentionPolicy): Promise<RetentionReport>
  /** Checks whether the store can store new entries. If not, for example because the disk is full, throws `store.failed`. */
  check(): Promise<void>
  /**
   * Copies a conversation into a new one. If `at` is the id of a turn, this turn is the last one that is copied. By default it is the last
   * finished turn. If `at` is a number, it is the `seq` of an entry, and the copy is the conversation as it was after this entry. If a tool
   * call had no result yet at this entry, the copy ends earlier: at the last entry at which every call had a result. If a turn is open at
   * the end of the copy, it is closed with the exit reason `forked`.
   */
  fork(key: string, as: string, at?: string | number): Promise<ConversationInfo>
  exportBundle(key: string): Promise<Bundle>
  importBundle(value: unknown, as?: string): Promise<ConversationInfo>
  timeline(key: string): Promise<TimelinePayload>
  turnLog(key: string, turnId: string): Promise<TurnLog>
  /** The result of a turn, in the same form as `run` returns it. Throws `turn.missing` when the conversation has no such turn. */
  turnResult(key: string, turnId: string): Promise<StoredResult>
  sources(key: string): Promise<readonly SourceRow[]>
  /**
   * The blocks at a logical path, oldest first, including blocks that are not visible any more. Empty when the conversation has no such
   * blocks, or when the text is not a path.
   */
  read(key: string, path: string): Promise<readonly Block[]>
  /**
   * Searches the texts that the user of this scope and the agent have written. The best matches come first. With `key`, only this
   * conversation is searched. The result is empty when the store has no memory index.
   */
  recall(query: RecallQuery): Promise<readonly Recalled[]>
  /** What the turns of all conversations wait for, page by page. The conversations with the latest activity come first. */
  waiting(query: WaitingQuery): Promise<WaitingPage>
  /** At most `limit` entries of the journal with a `seq` above `after`, in order. */
  entries(key: string, range: { readonly after: number; readonly limit: number }): Promise<readonly Entry[]>
  /** The prompt that the model got in one round, with its blocks and its cache marks. */
  prompt(key: string, turnId: string, iteration: number): Promise<PromptView>
  /**
   * The cost of one round, divided among its blocks, and its use of the provider's cache. Throws `turn.missing` if no call of the round was
   * billed.
   */
  round(key: string, turnId: string, iteration: number): Promise<RoundReport>
  /** Runs recorded turns again with the current code, as the function `replay` does. With `turnId`, replays only this turn. */
  replay(key: string, turnId?: string): Promise<readonly Replayed[]>
  /** A report about the costs of the conversation, and about its use of the provider's cache. */
  usage(key: string): Promise<UsageReport>
  /** The calls of tools that are not read-only, in order. Each has a status: it succeeded, failed, waits, or its outcome is unknown. */
  effects(key: string): Promise<readonly Effect[]>
  /** Finds a hosted file. Undefined when there is no such file, or when the file does not belong to the viewer. */
  file(handle: string, viewer: Scope): Promise<DownloadableFile | undefined>
}

interface ArchiveParts {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly owner: Owner
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  /** The agent's tools and texts. `prompt` uses them to render a recorded prompt again. */
  agentParts(): ReplayParts
  readonly bookkeeping: Bookkeeping
  publishEntry(key: string, event: EntryEvent): void
  readonly deletion: Deletion
  /**
   * Commits a change to a conversation that is running in this process. Returns false when the conversation is not running in this process.
   */
  commitToRunning(key: string, change: Change): Promise<boolean>
}

export function createArchive(parts: ArchiveParts): Archive {
  const { store, clock, owner, hosting, workspaces, agentParts, bookkeeping, publishEntry, deletion, commitToRunning } = parts

  const search = createConversationSearch(store)

  async function loadTimeline(key: string): Promise<Timeline> {
    const saved = await store.loadVisible(key)
    if (!saved) throw missing(key)
    return saved.timeline
  }

  async function head(key: string): Promise<ConversationInfo> {
    const found = await store.head(key)
    if (!found) throw missing(key)
    return found
  }

  /** Claims the conversation for one commit. Throws `conversation.busy` when another owner has the claim. */
  async function commitWithClaim(key: string, changes: readonly Change[], options: ClaimOptions = {}): Promise<void> {
    const claim = await store.claim(key, owner, options)
    try {
      if (changes.length === 0) return
      for (const entry of await store.append(claim, changes)) publishEntry(key, { type: 'entry', ...entry })
    } finally {
      await store.release(claim)
    }
  }

  async function exportBundle(key: string): Promise<Bundle> {
    await head(key)
    const bundle = { ...(await store.exportBundle(key)), conversation_id: nameOf(key) }
    return workspaces ? withVersions(bundle, key, store, workspaces) : bundle
  }

  /** Imports a bundle as a new conversation with its own hosted files. If the import fails, these hosted files are removed. */
  async function importAs(bundle: Bundle, key: string): Promise<ConversationInfo> {
    await deletion.finish(key)
    if (await store.head(key)) throw conversationExists(key)
    try {
      await store.importBundle(await withOwnFiles(bundle, key, hosting), { as: key })
    } catch (error) {
      const { scope, name } = parseConversationKey(key)
      // If another process has imported the conversation in the meantime, the hosted files belong to that conversation and are kept.
      if (!(await store.head(key))) await hosting?.remove(scope, name)
      throw error
    }
    return head(key)
  }

  async function usage(key: string): Promise<UsageReport> {
    await head(key)
    const { readUsageReport } = await import('./usage-report.ts') // imported on demand, because turns do not need this module
    return readUsageReport(store, key, bookkeeping, agentParts().tokens ?? roughTokens)
  }

  function setTitle(title: string): Change {
    const problem = titleProblem(title)
    if (problem !== undefined) throw new Failure('change.invalid', `the title ${problem}`)
    return { type: 'title.set', ts: clock.now(), title }
  }

  return {
    list: (query) => {
      const listed = { ...query, top: true as const }
      return query.search ? search(listed) : store.list(listed)
    },
    head,
    work: store.work,
    limits: store.limits,
    async create(key, title) {
      await deletion.finish(key)
      if (await store.head(key)) throw conversationExists(key)
      await commitWithClaim(key, title === undefined ? [] : [setTitle(title)])
      return head(key)
    },
    async rename(key, title) {
      await head(key)
      if (!(await commitToRunning(key, setTitle(title)))) await commitWithClaim(key, [setTitle(title)], { create: false })
      return head(key)
    },
    async delete(key) {
      if (!(await deletion.delete(key))) throw missing(key)
    },
    retain: deletion.retain,
    check: () => store.check(),
    async fork(key, as, at) {
      if (typeof at !== 'number') return importAs(forkBundle(await exportBundle(key), at), as)
      await head(key)
      const { bundleAt } = await import('./fork-bundle.ts') // imported on demand, because turns do not need this module
      return importAs(await bundleAt({ store, workspaces }, key, at), as)
    },
    exportBundle,
    async importBundle(value, as) {
      const bundle = parseBundle(value)
      checkImportedBundle(bundle)
      return importAs(bundle, as ?? nameInBundle(bundle))
    },
    timeline: async (key) => toPayload(await loadTimeline(key)),
    async turnLog(key, turnId) {
      await head(key)
      const log = await store.readTurnLog(key, turnId)
      if (!log) throw missingTurn(key, turnId)
      return log
    },
    async turnResult(key, turnId) {
      const result = await readStoredResult(store, key, turnId, await loadTimeline(key), agentParts().settings?.priceOf)
      if (!result) throw missingTurn(key, turnId)
      return result
    },
    async read(key, path) {
      await head(key)
      const canonical = canonicalPath(path)
      return canonical === undefined ? [] : store.findByPath(key, canonical)
    },
    recall: (query) => recallFrom(store, clock, query, agentParts().builtIn?.memory),
    waiting: waitingList(store),
    sources: async (key) => (await loadTimeline(key)).sources.rows,
    async entries(key, { after, limit }) {
      await head(key)
      return readAll(store.readJournal(key, { after, limit }))
    },
    async prompt(key, turnId, iteration) {
      await head(key)
      const { promptView } = await import('../replay/prompt-view.ts') // imported on demand, because turns do not need this module
      return promptView(store, key, { turnId, iteration }, { ...agentParts(), ...(workspaces && { workspaces }) })
    },
    async replay(key, turnId) {
      await head(key)
      const { replayTurns } = await import('../replay/replay.ts')
      return replayTurns(store, key, { ...agentParts(), ...(workspaces && { workspaces }) }, turnId)
    },
    usage,
    async round(key, turnId, iteration) {
      const { roundReport } = await import('./usage-report.ts')
      const report = roundReport(await usage(key), turnId, iteration)
      if (!report) throw new Failure('turn.missing', `there is no round ${iteration} of turn ${turnId} in ${nameOf(key)}`)
      return report
    },
    async effects(key) {
      await head(key)
      const { tools = [] } = agentParts()
      const reader = createEffectsReader((toolId) => isReadOnlyTool(toolId, tools))
      for await (const { change } of store.readJournal(key, { after: 0 })) reader.add(change)
      return reader.effects()
    },
    file: async (handle, viewer) => hosting && findFile(hosting, store, handle, viewer),
    ...createScheduling({ store, clock, owner }),
    ...createAdministration({ store, clock, owner, hosting, workspaces, deletion }),
  }
}

async function readAll(journal: AsyncIterable<Entry>): Promise<readonly Entry[]> {
  const entries: Entry[] = []
  for await (const entry of journal) entries.push(entry)
  return entries
}

const nameOf = (key: string) => parseConversationKey(key).name

const conversationExists = (key: string) => new Failure('conversation.exists', `there is already a conversation ${nameOf(key)}`)

const missingTurn = (key: string, turnId: string) => new Failure('turn.missing', `there is no turn ${turnId} in ${nameOf(key)}`)

const missing = (key: string) => new Failure('conversation.missing', `there is no conversation ${nameOf(key)}`)
