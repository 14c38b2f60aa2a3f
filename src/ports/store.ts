import type { BlobRef, Block } from '../core/block/index.ts'
import type { Bundle } from '../core/timeline/bundle.ts'
import type { Change } from '../core/timeline/change.ts'
import type { InboxEvent } from '../core/timeline/inbox-event.ts'
import type { Timeline } from '../core/timeline/timeline.ts'
import type { TurnLog } from '../core/timeline/turn-log.ts'
import type { BlobStore } from './blobs.ts'
import type { BudgetEntry, Budgets } from './store/budgets.ts'
import type { SharedLimits } from './store/limits.ts'
import type { ConversationInfo, ConversationPage, ListQuery } from './store/list.ts'
import type { MemoryIndex } from './store/memory-index.ts'
import type { Receipts } from './store/receipts.ts'
import type { Relay } from './store/relay.ts'
import type { DeleteOptions, RetentionPolicy, RetentionReport } from './store/retention.ts'
import type { Schedules } from './store/schedules.ts'
import type { WorkList } from './store/work-list.ts'

/**
 * Stores the journals of conversations. Each conversation has one writer at a time. Every new claim increments the epoch of the
 * conversation, and only the claim with the latest epoch can append. Every implementation passes testing/conformance/store.ts.
 */
export interface ConversationStore {
  /** The blobs that entries refer to. A blob is kept at least as long as an entry refers to it. */
  readonly blobs: BlobStore
  /** The index of what users and agents have said. The tool `react.memsearch` does not work with a store that has no such index. */
  readonly memory?: MemoryIndex
  /**
   * Carries live events to other processes that use the store. Without a relay, a process that follows a conversation of another process
   * gets only the entries and no live text.
   */
  readonly relay?: Relay
  /** Events that are offered at a later time. If a store does not have it, an agent can not schedule messages. */
  readonly schedules?: Schedules
  /** Counts what deletions remove. If a store does not have it, an agent can not delete a user or a tenant as a whole. */
  readonly receipts?: Receipts
  /** The budgets that conversations share. If a store does not have it, only the limits of single turns apply. */
  readonly budgets?: Budgets
  /**
   * Counts the actions of users, for limits that apply to all servers together. If a store does not have it, each server counts separately.
   */
  readonly limits?: SharedLimits
  /** The conversations in which a process can do something now. */
  readonly work: WorkList

  /**
   * Takes the lease of a conversation for `owner`, which must describe the calling process. If the conversation does not exist, it is
   * created. With `create: false`, it is not created, and the claim throws `conversation.missing`. The epoch is incremented, so the next
   * append of the previous owner fails. If another owner has the lease, the claim throws `conversation.busy` with `owner` and `expiresAt`
   * in its details. With `takeOver: 'always'`, it takes the lease from the other owner instead. A lease ends when it expires, when it is
   * released, or when its owner is proven dead. The id of a conversation may be any well-formed text, such as `../x`. An adapter that uses
   * the id in a file path has to encode it. With `forgetFailures`, the count of failed attempts is set to 0, and a parked conversation is
   * not parked any more.
   */
  claim(conversationId: string, owner: Owner, options?: ClaimOptions): Promise<Claim>
  /**
   * The owner that has the lease of a conversation now. Undefined when `asker` could take the lease. `asker` must describe the calling
   * process. The function changes nothing.
   */
  findOwner(conversationId: string, asker: Owner): Promise<Owner | undefined>
  /** Extends the lease. Throws `conversation.superseded` when the lease is lost. */
  renew(claim: Claim): Promise<void>
  /**
   * Ends the lease. Does nothing when the lease is already lost. `result` says how the turns ended. After `done`, the count of failed
   * attempts is set to 0. After a failure, `work.claimNext` does not return the conversation again until a pause is over.
   */
  release(claim: Claim, result?: 'done' | { readonly failed: string }): Promise<void>

  /**
   * Appends all of the changes or none. They are durable when the promise resolves. A claim with an old epoch throws
   * `conversation.superseded`, and nothing is appended. The ids of new blocks must be higher than those of all earlier blocks, as
   * `assignIds` makes them. Otherwise the append throws `change.invalid`. `append` returns the stored entries, in which inline bytes are
   * replaced by references to blobs. The caller applies these entries to its timeline, not the changes that it passed. The offers in
   * `takes` are marked as taken in the same commit. An offer in `takes` that is unknown or was taken before is ignored. `budget` changes
   * budgets in the same commit. A store without `budgets` ignores it.
   */
  append(claim: Claim, changes: readonly Change[], options?: AppendOptions): Promise<readonly Entry[]>

  /**
   * Offers an event to the owner of a conversation. Any process may offer, with or without a claim. The offer is durable when the promise
   * resolves. The owner takes it with an append, even if the process that offered it has ended. Returns `known`, and changes nothing, if an
   * event with this id was offered before. Throws `conversation.missing` when there is no such conversation, `change.invalid` for an
   * invalid event, and `blob.missing` when `keeps` names a blob that does not exist. The store keeps the blobs in `keeps` as if an entry
   * referred to them. With `create`, a conversation that does not exist is created in the same commit. After a new offer, the conversation
   * can be claimed without a pause, even if earlier attempts failed or it was parked.
   */
  offer(conversationId: string, event: OfferedEvent, options?: { readonly create?: true }): Promise<'offered' | 'known'>
  /** The oldest offers that were not taken, in the order in which they were offered. The list has at most `OFFERS_PER_READ` offers. */
  readOffers(conversationId: string): Promise<readonly OfferedEvent[]>
  /**
   * The state of an offer: `open`, or what the owner did with it. Undefined when no such event was offered, or when `retain` removed the
   * offer. A taken offer is kept until `retain` removes it, or until the conversation is deleted.
   */
  findOffer(conversationId: string, eventId: string): Promise<'open' | OfferOutcome | undefined>
  /**
   * Tells the listener when a conversation has offers that were not taken. The offers may come from any process. The listener is called
   * soon after the offer, possibly several times for one offer, and also for conversations of other owners. A caller that first watches,
   * then claims and then reads the offers misses none. Returns a function that ends the watching. Watching alone does not keep the process
   * running.
   */
  watchOffers(listener: OfferListener): () => void

  /**
   * The timeline from the latest summary on. Undefined when there is no such conversation. The duration depends on the number of visible
   * blocks, not on the length of the journal.
   */
  loadVisible(conversationId: string): Promise<Saved | undefined>
  /**
   * All blocks with this path, oldest first, including compacted blocks. A block is returned as it was appended, even if it was hidden
   * since.
   */
  findByPath(conversationId: string, path: string): Promise<readonly Block[]>
  /**
   * All blocks of a turn, oldest first, including compacted blocks. A block is returned as it was appended, even if it was hidden since.
   */
  findByTurn(conversationId: string, turnId: string): Promise<readonly Block[]>
  /**
   * All blocks of a tool call, oldest first, including compacted blocks. A block is returned as it was appended, even if it was hidden
   * since.
   */
  findByCall(conversationId: string, callId: string): Promise<readonly Block[]>
  /**
   * All blocks that a turn appended, including blocks that were compacted later. Undefined when the turn is unknown or `retain` removed its
   * entries.
   */
  readTurnLog(conversationId: string, turnId: string): Promise<TurnLog | undefined>
  /**
   * The entries with a `seq` above `after`, in order. Throws `conversation.newer` at an entry that a newer version of Daybook has written,
   * unless `passNewer` is true. An entry that is appended during the iteration may be included or left out. The
   * caller may modify the returned entries.
   */
  readJournal(conversationId: string, range: JournalRange): AsyncIterable<Entry>

  /**
   * Tells the listener when the conversation has new entries, and when it was deleted. The entries may come from any process. The listener
   * is called soon after an append, and possibly only once for several appends. At this time the journal has the entries. A caller that
   * first watches and then reads the journal misses no entry. Returns a function that ends the watching. Watching alone does not keep the
   * process running.
   */
  watch(conversationId: string, listener: WatchListener): () => void

  /**
   * The data that `list` returns for this conversation. Undefined when there is no such conversation. The data is read from an index, so
   * the duration does not depend on the length of the journal.
   */
  head(conversationId: string): Promise<ConversationInfo | undefined>
  /** A page of the conversations, the most recently active first. */
  list(query: ListQuery): Promise<ConversationPage>
  exportBundle(conversationId: string): Promise<Bundle>
  /**
   * Creates a conversation from a bundle, completely or not at all. Throws `conversation.exists` when there is already a conversation with
   * this id.
   */
  importBundle(bundle: Bundle, options?: { readonly as?: string }): Promise<{ readonly conversationId: string }>
  /**
   * Deletes a conversation in these steps: it is marked as deleted, `removeFiles` runs, then the blobs that no other conversation refers to
   * are removed, then the journal and its index. Returns false when there is no such conversation.
   * From the first step on, the conversation does not exist for any reader, and no earlier claim can append to it. If a step fails or the
   * process dies, the deletion stays unfinished. Until it is finished, by `finishDeletions`, `retain` or another `delete`, no conversation
   * with this id can be created: `claim` and `importBundle` throw `conversation.busy`.
   */
  delete(conversationId: string, options?: DeleteOptions): Promise<boolean>
  /**
   * Finishes deletions that a dead process or a failure left unfinished, and returns the ids of the conversations. A deletion on which a
   * living process works is skipped. With `conversationId`, only the deletion of this conversation is finished. If a deletion fails, the
   * other deletions are still finished. After that, an `AggregateError` with all failures is thrown.
   */
  finishDeletions(options?: DeleteOptions & { readonly conversationId?: string }): Promise<readonly string[]>
  /** Removes blobs that were stored for an entry, if this entry was not appended. A blob to which any entry or offer refers is kept. */
  releaseBlobs(blobs: readonly BlobRef[]): Promise<void>
  /** Removes the conversations and entries that the policy selects. It also finishes unfinished deletions. */
  retain(policy: RetentionPolicy, options?: DeleteOptions): Promise<RetentionReport>
  /**
   * Checks whether new entries and blobs can be stored. If not, for example because the disk is full or a file was removed, it throws
   * `store.failed`. The check writes a little and syncs it to the disk.
   */
  check(): Promise<void>
  close(): Promise<void>
}

/**
 * An agent that claims conversations. Each agent has its own `id`, so two agents in one process are two owners. The other fields identify
 * the process of the agent. From these fields, another process can prove that this process is dead, and then takes over its leases without
 * waiting. A field whose value can not be determined is left out. If there is no proof, the other process waits until the lease expires.
 */
export interface Owner {
  readonly id: string
  readonly host: string
  readonly pid: number
  /**
   * When the process started. On Linux: clock ticks since boot, as in `/proc/<pid>/stat`. On other systems: ISO 8601. Two values are
   * compared as texts.
   */
  readonly startedAt?: string
  /** Identifies the boot of the machine. Only set on Linux. */
  readonly bootId?: string
  /** The Linux namespaces in which `pid` and `startedAt` are counted, such as `pid:[4026531836] time:[4026531834]`. Only set on Linux. */
  readonly pidNs?: string
}

/** Options of `claim`. */
export interface ClaimOptions {
  readonly takeOver?: 'when-free' | 'always'
  readonly forgetFailures?: true
  readonly create?: false
}

/** The right to append to a conversation, until another owner claims it. */
export interface Claim {
  readonly conversationId: string
  readonly ownerId: string
  readonly epoch: number
  /** When the lease ends if it is not renewed. */
  readonly expiresAt: string
  /** The conversation as the claim found it. From it, the caller knows whether a timeline that it loaded earlier is still up to date. */
  readonly found: FoundConversation
}

/** A conversation at the moment of a claim. */
export interface FoundConversation {
  /**
   * The epoch before the claim, or 0 for a new conversation. If it is the epoch of an earlier claim, no other process has claimed the
   * conversation since, and it was not deleted and created again. Only the owner of a claim can append, so the owner of the earlier claim
   * has appended all later entries.
   */
  readonly epoch: number
  readonly lastSeq: number
  /** How many offers were not taken. */
  readonly offers: number
}

/**
 * A stored change and its number. In each conversation `seq` counts from 1. The event that informs listeners about the entry has `seq` as
 * its id.
 */
export interface Entry {
  readonly seq: number
  readonly change: Change
}

/** The callbacks of `watch`. They must not throw. */
export interface WatchListener {
  /** `lastSeq` is the `seq` of the last entry. Undefined when the conversation was deleted. */
  onWritten(lastSeq: number | undefined): void
  /** Called when the store can not find out whether there are new entries. The store tries again until it succeeds. */
  onError(error: unknown): void
}

/** An event that any process may offer. It gets its sequence number when the owner of the conversation accepts it. */
export type OfferedEvent = Omit<InboxEvent, 'sequence'>

/**
 * What the owner did with an offer. `accepted`: the append that took the offer contains its `event.accepted`. `known`: an event with this
 * id was accepted before. `refused`: the event came too late, or is for a turn that is not running.
 */
export type OfferOutcome = 'accepted' | 'known' | 'refused'

/** Options of `append`. */
export interface AppendOptions {
  readonly takes?: readonly TakenOffer[]
  readonly budget?: BudgetEntry
}

/** An offer that an append takes. */
export interface TakenOffer {
  readonly eventId: string
  readonly outcome: OfferOutcome
}

/** The callbacks of `watchOffers`. They must not throw. */
export interface OfferListener {
  onOffered(conversationId: string): void
  /** Called when the store can not find out whether there are offers. The store tries again until it succeeds. */
  onError(error: unknown): void
}

/** A conversation as `loadVisible` returns it. */
export interface Saved {
  readonly timeline: Timeline
  readonly lastSeq: number
}

/** How often the owner of a lease renews it. */
export const HEARTBEAT_MS = 10_000

/** How long a lease lives after it was taken or renewed. */
export const LEASE_MS = 30_000

/** How many offers one `readOffers` returns. */
export const OFFERS_PER_READ = 100

/** Which entries `readJournal` returns. */
export interface JournalRange {
  readonly after: number
  readonly limit?: number
  /**
   * Whether changes that only a newer version of Daybook knows are returned as they are stored. The type `Change` does not describe them.
   */
  readonly passNewer?: boolean
}
