import type { PromptView } from '../core/api/report.ts'
import { roughTokens } from '../core/estimate/tokens.ts'
import type { EntryEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'
import { parseConversationKey, type Scope } from '../core/scope.ts'
import type { SourceRow } from '../core/sources/source.ts'
import { type Bundle, forkBundle, parseBundle } from '../core/timeline/bundle.ts'
import type { Change } from '../core/timeline/change.ts'
import { type TimelinePayload, toPayload } from '../core/timeline/payload.ts'
import { waitingFollowups } from '../core/timeline/timeline.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import type { Clock } from '../ports/clock.ts'
import type { HostedFile, Hosting } from '../ports/hosting.ts'

export type { ConversationInfo as ConversationHead } from '../ports/store.ts'

import type { ConversationInfo, ConversationPage, ConversationStore, ListQuery, Owner } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import { type Bookkeeping, readUsageReport, type UsageReport } from './conversation/spending.ts'
import type { ReplayParts } from './replay/setup.ts'

/** What can be done with conversations besides taking turns in them. Keys are those of the store: whose they are is decided before. */
export interface Archive {
  list(query: ListQuery): Promise<ConversationPage>
  head(key: string): Promise<ConversationInfo>
  create(key: string, title?: string): Promise<ConversationInfo>
  rename(key: string, title: string): Promise<ConversationInfo>
  /** The conversation, its files and its workspace. */
  delete(key: string): Promise<void>
  fork(key: string, as: string, atTurn?: string): Promise<ConversationInfo>
  exportBundle(key: string): Promise<Bundle>
  importBundle(value: unknown, as?: string): Promise<ConversationInfo>
  timeline(key: string): Promise<TimelinePayload>
  turnLog(key: string, turnId: string): Promise<TurnLog>
  sources(key: string): Promise<readonly SourceRow[]>
  /** What the model read in one round, with its cache marks. */
  prompt(key: string, turnId: string, iteration: number): Promise<PromptView>
  usage(key: string): Promise<UsageReport>
  /** A file that was handed over, if it is the viewer's. */
  file(handle: string, viewer: Scope): Promise<DownloadableFile | undefined>
}

export type DownloadableFile = HostedFile & { read(): Promise<Uint8Array> }

export interface ArchiveParts {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly owner: Owner
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  /** What the agent is made of: prompts are made again with it. */
  readonly agentParts: ReplayParts
  readonly bookkeeping: Bookkeeping
  /** Tells whoever follows the conversation. */
  publishEntry(key: string, event: EntryEvent): void
  /** Lets whoever follows the conversation go: it is gone. */
  announceDeleted(key: string): void
  /** Enters a change through the turn that is running here. False when none is. */
  commitToRunning(key: string, change: Change): Promise<boolean>
}

export function createArchive(parts: ArchiveParts): Archive {
  const {
    store,
    clock,
    owner,
    hosting,
    workspaces,
    agentParts: made,
    bookkeeping,
    publishEntry: announce,
    announceDeleted: dismiss,
    commitToRunning: enterRunning,
  } = parts
  async function visible(key: string) {
    const saved = await store.loadVisible(key)
    if (!saved) throw missing(key)
    return saved
  }

  async function head(key: string): Promise<ConversationInfo> {
    const { timeline, lastSeq } = await visible(key)
    return {
      conversationId: key,
      title: timeline.title ?? null,
      startedAt: timeline.startedAt ?? null,
      lastActivityAt: timeline.lastTs ?? null,
      lastSeq,
      openTurn: timeline.openTurn?.turn_id ?? null,
      waiting: waitingFollowups(timeline).map(({ event_id }) => event_id),
    }
  }

  /** By a claim of its own; when someone else holds it, `conversation.busy`. */
  async function enterAlone(key: string, changes: readonly Change[]): Promise<void> {
    const claim = await store.claim(key, owner)
    try {
      if (changes.length === 0) return
      for (const entry of await store.append(claim, changes)) announce(key, { type: 'entry', ...entry })
    } finally {
      await store.release(claim)
    }
  }

  const titled = (title: string): Change => ({ type: 'title.set', ts: clock.now(), title })

  return {
    list: (query) => store.list(query),
    head,
    async create(key, title) {
      if (await store.loadVisible(key)) throw new Failure('conversation.exists', `there is already a conversation ${nameOf(key)}`)
      await enterAlone(key, title === undefined ? [] : [titled(title)])
      return head(key)
    },
    async rename(key, title) {
      await visible(key)
      if (!(await enterRunning(key, titled(title)))) await enterAlone(key, [titled(title)])
      return head(key)
    },
    async delete(key) {
      const { scope, name } = parseConversationKey(key)
      const { timeline } = await visible(key)
      if (timeline.openTurn) await enterAlone(key, []) // busy while somebody is at work on it
      if (!(await store.delete(key))) throw missing(key)
      dismiss(key)
      await hosting?.remove(scope, name)
      await workspaces?.remove(scope, name)
    },
    async fork(key, as, atTurn) {
      await visible(key)
      await store.importBundle(forkBundle({ ...(await store.exportBundle(key)), conversation_id: nameOf(key) }, atTurn), { as })
      return head(as)
    },
    async exportBundle(key) {
      await visible(key)
      return { ...(await store.exportBundle(key)), conversation_id: nameOf(key) }
    },
    async importBundle(value, as) {
      const { conversationId } = await store.importBundle(parseBundle(value), as === undefined ? {} : { as })
      return head(conversationId)
    },
    timeline: async (key) => toPayload((await visible(key)).timeline),
    async turnLog(key, turnId) {
      await visible(key)
      const log = await store.readTurnLog(key, turnId)
      if (!log) throw new Failure('turn.missing', `there is no turn ${turnId} in ${nameOf(key)}`)
      return log
    },
    sources: async (key) => (await visible(key)).timeline.sources.rows,
    async prompt(key, turnId, iteration) {
      await visible(key)
      const { promptView } = await import('./replay/prompt-view.ts') // for whoever looks, not for who only runs
      return promptView(store, key, { turnId, iteration }, made)
    },
    async usage(key) {
      await visible(key)
      return readUsageReport(store, key, bookkeeping, made.tokens ?? roughTokens)
    },
    async file(handle, viewer) {
      const file = await hosting?.resolve(handle, viewer)
      return file && hosting ? { ...file, read: () => hosting.read(file) } : undefined
    },
  }
}

const nameOf = (key: string) => parseConversationKey(key).name

const missing = (key: string) => new Failure('conversation.missing', `there is no conversation ${nameOf(key)}`)
