import type { BlobRef, Block } from '../core/block/index.ts'
import type { Bundle } from '../core/timeline/bundle.ts'
import type { Change } from '../core/timeline/change.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import type { BlobStore } from './blobs.ts'

/** Keeps journals. One writer per conversation is the rule, the epoch is the proof. Every implementation passes testing/conformance/store.ts. */
export interface ConversationStore {
  /** Where it keeps bytes. What is put there lives as long as a block refers to it. */
  readonly blobs: BlobStore

  /**
   * Takes the lease, makes the conversation if it is new, and bumps the epoch: the previous owner's next append fails.
   * While another owner's lease is alive, `conversation.busy`, unless told to take over. A lease lives until it expires, is
   * released, or its process is seen dead on this host. A name is any well-formed text and nobody's path: `../x` is one like any other,
   * and whoever makes a folder of it encodes it.
   */
  claim(conversationId: string, owner: Owner, options?: { readonly takeOver?: 'when-free' | 'always' }): Promise<Claim>
  /** The heartbeat. Throws `conversation.superseded` when the lease is lost. */
  renew(claim: Claim): Promise<void>
  /** Gives the lease back. Nothing happens when it is already lost. */
  release(claim: Claim): Promise<void>

  /**
   * All or nothing, durable before it resolves. A stale epoch throws `conversation.superseded` and changes nothing.
   * Blocks are numbered upwards, as `enter` does: a number that was given before, or lies below one that was, is `change.invalid`.
   * Returns what was logged, as a later load will give it: inline bytes have become references. Apply these, not what you passed.
   */
  append(claim: Claim, changes: readonly Change[]): Promise<readonly Entry[]>

  /** What a turn needs: from the latest summary on. Bounded by what is visible, not by history. Undefined when there is no such conversation. */
  loadVisible(conversationId: string): Promise<Saved | undefined>
  /** Over all history, oldest first, as the blocks were entered: whether they are hidden now is the timeline's business. */
  findByPath(conversationId: string, path: string): Promise<readonly Block[]>
  findByTurn(conversationId: string, turnId: string): Promise<readonly Block[]>
  findByCall(conversationId: string, callId: string): Promise<readonly Block[]>
  /** Exact whatever was compacted since. Undefined when the turn is unknown or its history was let go. */
  readTurnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined>
  /** In order of `seq`, strictly after `after`. What is appended while reading may or may not be included. What is read is the reader's own. */
  readJournal(conversationId: string, range: { readonly after: number; readonly limit?: number }): AsyncIterable<Entry>

  /** Most recently active first. */
  list(query: ListQuery): Promise<ConversationPage>
  exportBundle(conversationId: string): Promise<Bundle>
  /** Into a new conversation, all or nothing. `conversation.exists` when the name is taken. */
  importBundle(bundle: Bundle, options?: { readonly as?: string }): Promise<{ readonly conversationId: string }>
  /** Rows, index entries, and blobs that nobody else refers to. False when there was nothing to delete. */
  delete(conversationId: string): Promise<boolean>
  /** Bytes that were put for an entry that never came to be. Those that an entry refers to stay, whoever wrote it. */
  releaseBlobs(blobs: readonly BlobRef[]): Promise<void>
  retain(policy: RetentionPolicy): Promise<RetentionReport>
  close(): Promise<void>
}

/** A running process that may write. `id` is its own; host and pid let others see that it is dead. */
export interface Owner {
  readonly id: string
  readonly host: string
  readonly pid: number
}

export interface Claim {
  readonly conversationId: string
  readonly ownerId: string
  readonly epoch: number
  /** The lease ends here unless renewed. */
  readonly expiresAt: string
}

/** A change and its place: `seq` counts from 1 without gaps in each conversation and is also the id of its event. */
export interface Entry {
  readonly seq: number
  readonly change: Change
}

export interface Saved {
  readonly timeline: Timeline
  readonly lastSeq: number
}

export interface ListQuery {
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
  /** Part of the title, in any case. */
  readonly search?: string
  /** Only conversations whose id begins so. */
  readonly prefix?: string
  /** Only conversations whose id has no slash. */
  readonly plain?: true
  /** Only conversations that someone has to go on with: a turn was never closed, or a followup waits to become one. */
  readonly open?: true
}

export interface ConversationInfo {
  readonly conversationId: string
  readonly title: string | null
  readonly startedAt: string | null
  readonly lastActivityAt: string | null
  readonly lastSeq: number
  readonly openTurn: string | null
  /**
   * Followups that were accepted and not folded since, by event id, oldest first. It tells where to look; what is to be done is said
   * by the timeline, which also knows an id that was folded long ago when it is accepted again.
   */
  readonly waiting: readonly string[]
}

export interface ConversationPage {
  readonly conversations: readonly ConversationInfo[]
  readonly next?: string
}

/** What may be let go. Visible blocks and the sources pool of a conversation that stays are never touched. */
export interface RetentionPolicy {
  /** Conversations without activity since then are deleted, unless a turn is open, a followup waits or a lease is alive. */
  readonly conversationsIdleSince?: string
  /** Entries older than this that only tell of compacted blocks are removed. */
  readonly historyBefore?: string
}

export interface RetentionReport {
  readonly conversations: number
  readonly entries: number
  readonly blobs: number
}

/** Renewed every ten seconds, lost after thirty. */
export const HEARTBEAT_MS = 10_000
export const LEASE_MS = 30_000
