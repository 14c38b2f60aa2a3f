import type { Owner } from '../store.ts'
import type { Counts } from './receipts.ts'

/**
 * Which conversations and entries `retain` removes. The visible blocks and the source pool of a conversation that is not deleted always
 * stay.
 */
export interface RetentionPolicy {
  /**
   * Deletes conversations without activity since this time. A conversation is not deleted if it has an open turn, a waiting followup, an
   * offer that was not taken, or a lease that has not ended.
   */
  readonly conversationsIdleSince?: string
  /**
   * Removes entries before this time if all their blocks were compacted, and offers that were taken before this time. Entries of turns that
   * stored a version of their files are not removed, because later versions refer to them.
   */
  readonly historyBefore?: string
}

/** Options of the functions that delete conversations. */
export interface DeleteOptions {
  /**
   * Who deletes. While another owner holds the lease of the conversation, `delete` throws `conversation.busy`. Without an owner, the lease
   * is not checked.
   */
  readonly owner?: Owner
  /**
   * Removes the data of the conversation that is not in the store, such as its workspace. It may be called several times for one
   * conversation. If it throws, the deletion stays unfinished.
   */
  removeFiles?(conversationId: string): Promise<void>
  /**
   * The id of a receipt. The receipt counts the removed rows and files of the conversation. Each row and file is counted once, whichever
   * process finishes the deletion. A conversation that is counted for one receipt is not counted for another.
   */
  readonly receipt?: string
  /** Counts what `removeFiles` is going to remove. It is called only for a conversation with a receipt, before `removeFiles`. */
  countFiles?(conversationId: string): Promise<Counts>
}

/** How much `retain` has removed. */
export interface RetentionReport {
  readonly conversations: number
  readonly entries: number
  readonly blobs: number
}
