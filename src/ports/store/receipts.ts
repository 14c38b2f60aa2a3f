/**
 * Counts what deletions remove. The deletion of a user or a tenant takes many transactions. The counts are stored in the transactions that
 * remove the data, so that they are complete even if processes die meanwhile and others go on.
 */
export interface Receipts {
  /**
   * Begins a receipt. If this subject has an unfinished receipt, returns that one. `subject` is a hash and not a name, because the receipt
   * stays stored after the data of the user is removed. `newId` is the id of a new receipt.
   */
  open(subject: string, newId: string): Promise<StoredReceipt>
  /** The latest receipt of a subject. Undefined when there is none. */
  find(subject: string): Promise<StoredReceipt | undefined>
  /**
   * Ends a receipt. Removes and counts what the store has of the subject besides conversations. A receipt that is finished stays as it is.
   */
  finish(receiptId: string, names: SubjectNames): Promise<StoredReceipt>
}

/** The names under which a store may have something of a user or tenant besides conversations. */
export interface SubjectNames {
  /** The tenants, as `tenantOfKey` returns them. A tenant that still has conversations of other users is not removed. */
  readonly tenants: readonly string[]
  /** The names of budgets, and the beginnings of such names. */
  readonly budgets: readonly string[]
  readonly budgetPrefixes: readonly string[]
}

/** How much was removed, by the name of a table or a kind of file. */
export type Counts = Readonly<Record<string, number>>

/** A receipt as the store has it. */
export interface StoredReceipt {
  readonly receiptId: string
  readonly startedAt: string
  /** Missing while something is left to delete. */
  readonly finishedAt?: string
  /** The rows that were removed, by table, and the files, by kind. A name with `files.` before it is a kind of file. */
  readonly counts: Counts
  /** How many conversations are marked as deleted for this receipt, but not removed. */
  readonly unfinished: number
}

/** The count of blobs that a deletion has removed. */
export const REMOVED_BLOBS = 'files.blobs'
/** The count of blobs that stay, because conversations of others refer to them. Known when the receipt is finished. */
export const SHARED_BLOBS = 'kept.blobs'
