import type { BlobRef, Block } from '../core/block/index.ts'
import type { Bundle } from '../core/timeline/bundle.ts'
import type { Change } from '../core/timeline/change.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import type { BlobStore } from './blobs.ts'

/**
 * Stores the journals of conversations. Each has one writer at a time, which the epoch of its claim enforces. Every implementation
 * passes testing/conformance/store.ts.
 */
export interface ConversationStore {
  /** Bytes that live as long as an entry refers to them. */
  readonly blobs: BlobStore

  /**
   * Takes the lease, creates the conversation if it is new, and increments the epoch: the previous owner's next append fails.
   * While another owner's lease is alive it throws `conversation.busy`, unless `takeOver` says otherwise. A lease lives until it expires, is
   * released, or its process on this host is found dead. An id is any well-formed text, also `../x`: an adapter that uses it in a path
   * has to encode it.
   */
  claim(conversationId: string, owner: Owner, options?: { readonly takeOver?: 'when-free' | 'always' }): Promise<Claim>
  /** Extends the lease. Throws `conversation.superseded` when it is lost. */
  renew(claim: Claim): Promise<void>
  /** Ends the lease. Does nothing when it is already lost. */
  release(claim: Claim): Promise<void>

  /**
   * Appends changes, all or none, durably before the promise resolves. A stale epoch throws `conversation.superseded` and changes nothing.
   * Block ids ascend, as `assignIds` gives them: an id that is not higher than all earlier ones throws `change.invalid`.
   * Returns the stored entries, in which inline bytes are replaced by references. Apply these, not the changes you passed.
   */
  append(claim: Claim, changes: readonly Change[]): Promise<readonly Entry[]>

  /**
   * The visible state, from the latest summary on. Takes time in proportion to the visible part, not to the history. Undefined when
   * there is no such conversation.
   */
  loadVisible(conversationId: string): Promise<Saved | undefined>
  /** All blocks of the history with this path, oldest first, as they were appended: without later changes such as hiding. */
  findByPath(conversationId: string, path: string): Promise<readonly Block[]>
  /** All blocks of a turn, in the same way as `findByPath`. */
  findByTurn(conversationId: string, turnId: string): Promise<readonly Block[]>
  /** All blocks of a tool call, in the same way as `findByPath`. */
  findByCall(conversationId: string, callId: string): Promise<readonly Block[]>
  /** All blocks that a turn appended, also when they were compacted since. Undefined when the turn is unknown or `retain` removed it. */
  readTurnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined>
  /**
   * The entries with a `seq` above `after`, in order. Entries appended while reading may be included or not. The caller may modify
   * the result.
   */
  readJournal(conversationId: string, range: { readonly after: number; readonly limit?: number }): AsyncIterable<Entry>

  /**
   * What `list` shows of one conversation, found without reading its journal: it takes the same time however long the conversation
   * is. Undefined when there is no such conversation.
   */
  head(conversationId: string): Promise<ConversationInfo | undefined>
  /** Most recently active first. */
  list(query: ListQuery): Promise<ConversationPage>
  exportBundle(conversationId: string): Promise<Bundle>
  /** Creates a new conversation, all or nothing. Throws `conversation.exists` when the id is taken. */
  importBundle(bundle: Bundle, options?: { readonly as?: string }): Promise<{ readonly conversationId: string }>
  /** Deletes the journal, its index, and blobs that no other conversation refers to. False when there is no such conversation. */
  delete(conversationId: string): Promise<boolean>
  /** Removes blobs that were stored for an entry that was then not appended. Blobs that any entry refers to stay. */
  releaseBlobs(blobs: readonly BlobRef[]): Promise<void>
  /** Removes the data that the policy selects. */
  retain(policy: RetentionPolicy): Promise<RetentionReport>
  close(): Promise<void>
}

/** A process that writes. By host and pid other processes can find out that it is dead. */
export interface Owner {
  readonly id: string
  readonly host: string
  readonly pid: number
}

/** The right to append to a conversation, until another owner claims it. */
export interface Claim {
  readonly conversationId: string
  readonly ownerId: string
  readonly epoch: number
  /** The end of the lease, unless renewed. */
  readonly expiresAt: string
}

/** A change and its number: `seq` counts from 1 without gaps in each conversation and is also the id of the entry's event. */
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
  /** `next` of the previous page. */
  readonly cursor?: string
  /** A part of the title; upper and lower case are the same. */
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
   * Event ids of followups that were accepted and not folded, oldest first. A hint only: the timeline decides, because it also
   * recognises an event that was folded long ago and delivered again.
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

/** A lease is renewed every 10 seconds and expires after 30. */
export const HEARTBEAT_MS = 10_000
/** How long a lease lives without being renewed. */
export const LEASE_MS = 30_000
