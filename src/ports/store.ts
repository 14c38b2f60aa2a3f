import type { BlobRef, Block } from '../core/block/index.ts'
import type { Bundle } from '../core/timeline/bundle.ts'
import type { Change } from '../core/timeline/change.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import type { BlobStore } from './blobs.ts'

/**
 * Stores the journals of conversations. Each conversation has one writer at a time: every new claim increments its epoch, and only the
 * claim with the latest epoch can append. Every implementation passes testing/conformance/store.ts.
 */
export interface ConversationStore {
  /** The bytes that entries refer to. A blob lives at least as long as an entry refers to it. */
  readonly blobs: BlobStore

  /**
   * Takes the lease of a conversation, which is created if it is new. The epoch is incremented, so that the next append of the previous
   * owner fails. While another owner holds the lease, `claim` throws `conversation.busy` with `owner` and `expiresAt` in its details,
   * unless `takeOver` is 'always'. A lease ends when it expires, when it is released, or when its owner is proven dead. `owner` must
   * describe the calling process. An id may be any well-formed text, such as `../x`: an adapter that uses it in a path has to encode it.
   */
  claim(conversationId: string, owner: Owner, options?: { readonly takeOver?: 'when-free' | 'always' }): Promise<Claim>
  /** Extends the lease. Throws `conversation.superseded` when it is lost. */
  renew(claim: Claim): Promise<void>
  /** Ends the lease. Does nothing when it is already lost. */
  release(claim: Claim): Promise<void>

  /**
   * Appends changes, all or none. They are durable when the promise resolves. A stale epoch throws `conversation.superseded` and changes
   * nothing. A block id that is not higher than all earlier ones throws `change.invalid`; `assignIds` gives ids that ascend.
   * Returns the stored entries, in which inline bytes are replaced by references. Apply these to the timeline, not the changes you passed.
   */
  append(claim: Claim, changes: readonly Change[]): Promise<readonly Entry[]>

  /**
   * The timeline from the latest summary on; undefined when there is no such conversation. The time that this takes depends on the length
   * of this visible part, not of the history.
   */
  loadVisible(conversationId: string): Promise<Saved | undefined>
  /** All blocks with this path, also compacted ones, oldest first. They are as they were appended, without later changes such as hiding. */
  findByPath(conversationId: string, path: string): Promise<readonly Block[]>
  /** All blocks of a turn, in the same way as `findByPath`. */
  findByTurn(conversationId: string, turnId: string): Promise<readonly Block[]>
  /** All blocks of a tool call, in the same way as `findByPath`. */
  findByCall(conversationId: string, callId: string): Promise<readonly Block[]>
  /** All blocks that a turn appended, also when they were compacted since. Undefined when the turn is unknown or `retain` removed it. */
  readTurnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined>
  /**
   * The entries with a `seq` above `after`, in order. Entries that are appended meanwhile may be included or not. The caller may modify
   * the entries.
   */
  readJournal(conversationId: string, range: { readonly after: number; readonly limit?: number }): AsyncIterable<Entry>

  /**
   * What `list` shows of one conversation; undefined when there is no such conversation. The journal is not read, so that a long
   * conversation takes no more time than a short one.
   */
  head(conversationId: string): Promise<ConversationInfo | undefined>
  /** A page of the conversations, the most recently active first. */
  list(query: ListQuery): Promise<ConversationPage>
  exportBundle(conversationId: string): Promise<Bundle>
  /** Creates a conversation from a bundle, completely or not at all. Throws `conversation.exists` when the id is taken. */
  importBundle(bundle: Bundle, options?: { readonly as?: string }): Promise<{ readonly conversationId: string }>
  /** Deletes the journal, its index, and blobs that no other conversation refers to. False when there is no such conversation. */
  delete(conversationId: string): Promise<boolean>
  /** Removes blobs that were stored for an entry that was then not appended. Blobs that any entry refers to stay. */
  releaseBlobs(blobs: readonly BlobRef[]): Promise<void>
  /** Removes the data that the policy selects. */
  retain(policy: RetentionPolicy): Promise<RetentionReport>
  close(): Promise<void>
}

/**
 * An agent in a process that writes. `id` is different for every agent, also for two agents in one process. The other fields identify the
 * process: by them a later process can prove that this one is dead, and need not wait until its leases expire. Fields that can not be found
 * out are left out; then the expiry decides.
 */
export interface Owner {
  readonly id: string
  readonly host: string
  readonly pid: number
  /** When the process started. On Linux in clock ticks since boot, as in `/proc/<pid>/stat`; elsewhere as ISO 8601. Texts are compared. */
  readonly startedAt?: string
  /** Identifies the boot of the machine. Only on Linux. */
  readonly bootId?: string
  /** The namespaces in which `pid` and `startedAt` are counted, such as `pid:[4026531836] time:[4026531834]`. Only on Linux. */
  readonly pidNs?: string
}

/** The right to append to a conversation, until another owner claims it. */
export interface Claim {
  readonly conversationId: string
  readonly ownerId: string
  readonly epoch: number
  /** The end of the lease, unless renewed. */
  readonly expiresAt: string
}

/** A stored change and its number. In each conversation `seq` counts from 1; it is also the id of the entry's event. */
export interface Entry {
  readonly seq: number
  readonly change: Change
}

/** A loaded conversation. */
export interface Saved {
  readonly timeline: Timeline
  readonly lastSeq: number
}

/** Which conversations `list` returns. */
export interface ListQuery {
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly cursor?: string
  /** Only conversations whose title contains this; upper and lower case are the same. */
  readonly search?: string
  /** Only conversations whose id begins with this. */
  readonly prefix?: string
  /** Only conversations whose id has no slash. */
  readonly plain?: true
  /** Only conversations with unfinished work: a turn is open, or a followup waits to start one. */
  readonly open?: true
}

/** What a list shows of a conversation. */
export interface ConversationInfo {
  readonly conversationId: string
  readonly title: string | null
  readonly startedAt: string | null
  readonly lastActivityAt: string | null
  readonly lastSeq: number
  readonly openTurn: string | null
  /**
   * The event ids of followups that were accepted but are not yet part of a turn, oldest first. The list is only a hint: it may contain
   * an event that was delivered again after a turn took it. The timeline recognises such an event.
   */
  readonly waiting: readonly string[]
}

/** One page of a list. */
export interface ConversationPage {
  readonly conversations: readonly ConversationInfo[]
  readonly next?: string
}

/** Which data `retain` removes. Visible blocks and source pools of remaining conversations always stay. */
export interface RetentionPolicy {
  /** Deletes conversations without activity since this time, unless a turn is open, a followup waits or a lease is alive. */
  readonly conversationsIdleSince?: string
  /** Removes entries before this time that contain only compacted blocks. */
  readonly historyBefore?: string
}

/** How much `retain` has removed. */
export interface RetentionReport {
  readonly conversations: number
  readonly entries: number
  readonly blobs: number
}

/** How often the owner of a lease renews it. */
export const HEARTBEAT_MS = 10_000
/** How long a lease lives without being renewed. */
export const LEASE_MS = 30_000
