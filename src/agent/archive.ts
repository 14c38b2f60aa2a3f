import type { PromptView } from '../core/api/prompt.ts'
import type { EntryEvent } from '../core/event.ts'
import { Failure } from '../core/failure.ts'
import { readConversationKey, type Scope } from '../core/scope.ts'
import type { SourceRow } from '../core/sources/source.ts'
import { type Bundle, parseBundle } from '../core/timeline/bundle.ts'
import type { Change } from '../core/timeline/change.ts'
import { forkBundle } from '../core/timeline/fork.ts'
import { type TimelinePayload, toPayload } from '../core/timeline/payload.ts'
import { waitingFollowups } from '../core/timeline/timeline.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import { roughTokens } from '../core/tokens.ts'
import type { Clock } from '../ports/clock.ts'
import type { HostedFile, Hosting } from '../ports/hosting.ts'

export type { ConversationHead } from '../ports/store.ts'

import type { ConversationHead, ConversationPage, ConversationStore, ListQuery, Owner } from '../ports/store.ts'
import type { Workspaces } from '../ports/workspace.ts'
import { type Bookkeeping, type Books, booksOf } from './bookkeeping.ts'
import type { ReplayParts } from './replay/stage.ts'

/** What can be done with conversations besides taking turns in them. Keys are those of the store: whose they are is decided before. */
export interface Archive {
  list(query: ListQuery): Promise<ConversationPage>
  head(key: string): Promise<ConversationHead>
  create(key: string, title?: string): Promise<ConversationHead>
  rename(key: string, title: string): Promise<ConversationHead>
  /** The conversation, its files and its workspace. */
  delete(key: string): Promise<void>
  fork(key: string, as: string, atTurn?: string): Promise<ConversationHead>
  exportBundle(key: string): Promise<Bundle>
  importBundle(value: unknown, as?: string): Promise<ConversationHead>
  timeline(key: string): Promise<TimelinePayload>
  turnLog(key: string, turnId: string): Promise<TurnLog>
  sources(key: string): Promise<readonly SourceRow[]>
  /** What the model read in one round, with its cache marks. */
  prompt(key: string, turnId: string, iteration: number): Promise<PromptView>
  books(key: string): Promise<Books>
  /** A file that was handed over, if it is the viewer's. */
  file(handle: string, viewer: Scope): Promise<HandedOver | undefined>
}

export type HandedOver = HostedFile & { read(): Promise<Uint8Array> }

export interface ArchiveParts {
  readonly store: ConversationStore
  readonly clock: Clock
  readonly owner: Owner
  readonly hosting: Hosting | undefined
  readonly workspaces: Workspaces | undefined
  /** What the agent is made of: prompts are made again with it. */
  readonly made: ReplayParts
  readonly bookkeeping: Bookkeeping
  /** Tells whoever follows the conversation. */
  announce(key: string, event: EntryEvent): void
  /** Lets whoever follows the conversation go: it is gone. */
  dismiss(key: string): void
  /** Enters a change through the turn that is running here. False when none is. */
  enterRunning(key: string, change: Change): Promise<boolean>
}

export function createArchive(parts: ArchiveParts): Archive {
  const { store, clock, owner, hosting, workspaces, made, bookkeeping, announce, dismiss, enterRunning } = parts
  async function visible(key: string) {
    const saved = await store.loadVisible(key)
    if (!saved) throw missing(key)
    return saved
  }

  async function head(key: string): Promise<ConversationHead> {
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
      const { scope, name } = readConversationKey(key)
      const { timeline } = await visible(key)
      if (timeline.openTurn) await enterAlone(key, []) // busy while somebody is at work on it
      if (!(await store.delete(key))) throw missing(key)
      dismiss(key)
      await hosting?.forget(scope, name)
      await workspaces?.forget(scope, name)
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
    async books(key) {
      await visible(key)
      return booksOf(store, key, bookkeeping, made.tokens ?? roughTokens)
    },
    async file(handle, viewer) {
      const file = await hosting?.resolve(handle, viewer)
      return file && hosting ? { ...file, read: () => hosting.read(file) } : undefined
    },
  }
}

const nameOf = (key: string) => readConversationKey(key).name

const missing = (key: string) => new Failure('conversation.missing', `there is no conversation ${nameOf(key)}`)
